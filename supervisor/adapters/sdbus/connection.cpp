#include "supervisor/adapters/sdbus/connection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace fireboss::sdbus {
namespace {

namespace asio = boost::asio;

// Messages looked at in one turn of the loop: a storm of signals may not keep it from its timers.
constexpr int kPerTurn = 64;

}  // namespace

struct Connection::Call {
  explicit Call(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  Message reply;
  bool closed = false;
  std::function<void(sd_bus_message*)> hook;
};

Connection::Connection(asio::any_io_executor executor)
    : executor_(executor), socket_(executor), timer_(executor) {}

Connection::~Connection() {
  close();
}

Result<std::shared_ptr<Connection>> Connection::open(asio::any_io_executor executor,
                                                     const std::string& address,
                                                     std::function<void(const Error&)> on_closed) {
  std::shared_ptr<Connection> self(new Connection(std::move(executor)));
  const std::string what = "bus " + (address.empty() ? std::string("(system)") : address);
  int r = 0;
  if (address.empty()) {
    r = sd_bus_open_system(&self->bus_);
  } else {
    r = sd_bus_new(&self->bus_);
    if (r >= 0)
      r = sd_bus_set_address(self->bus_, address.c_str());
    if (r >= 0)
      r = sd_bus_set_bus_client(self->bus_, 1);
    if (r >= 0)
      r = sd_bus_start(self->bus_);
  }
  if (r >= 0)
    r = sd_bus_set_exit_on_disconnect(self->bus_, 0);
  const int fd = r < 0 ? r : sd_bus_get_fd(self->bus_);
  if (fd < 0)
    return fail(errno_error(fd, what));
  const int copy = dup(fd);
  if (copy < 0)
    return fail(errno_error(-errno, what));
  boost::system::error_code error;
  self->socket_.assign(copy, error);
  if (error) {
    ::close(copy);
    return fail(ErrorCode::kInternal, what + ": " + error.message());
  }
  self->on_closed_ = std::move(on_closed);
  self->pump_soon();
  return self;
}

void Connection::close() {
  on_closed_ = nullptr;
  boost::system::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  for (const auto& weak : calls_) {
    if (const auto call = weak.lock()) {
      call->closed = true;
      call->timer.cancel();
    }
  }
  calls_.clear();
  unsent_.clear();
  if (bus_ != nullptr)
    sd_bus_close_unref(std::exchange(bus_, nullptr));
}

Result<std::shared_ptr<Connection::Subscription>> Connection::subscribe(
    const std::string& match_rule, std::function<void(sd_bus_message*)> on_signal) {
  if (bus_ == nullptr)
    return fail(ErrorCode::kUnavailable, "no connection to the bus");
  auto subscription = std::make_shared<Subscription>();
  subscription->connection = weak_from_this();
  subscription->on_signal = std::move(on_signal);
  const auto handle = [](sd_bus_message* message, void* userdata, sd_bus_error*) noexcept {
    static_cast<Subscription*>(userdata)->on_signal(message);
    return 0;  // other subscriptions may want it too
  };
  const auto installed = [](sd_bus_message* message, void* userdata, sd_bus_error*) noexcept {
    const auto* refused = sd_bus_message_get_error(message);
    const auto self = static_cast<Subscription*>(userdata)->connection.lock();
    if (refused == nullptr || !self)
      return 0;
    // not from here: it would free the bus under sd-bus's feet
    asio::post(self->executor_,
               [self, error = to_error(refused->name, refused->message ? refused->message : "",
                                       {"AddMatch", ""})] { self->lost(error); });
    return 0;
  };
  sd_bus_slot* slot = nullptr;
  const int r =
      sd_bus_add_match_async(bus_, &slot, match_rule.c_str(), handle, installed, subscription.get());
  if (r < 0)
    return fail(errno_error(r, "match " + match_rule));
  subscription->slot.reset(slot);
  arm();
  return subscription;
}

Result<Message> Connection::new_call(const std::string& destination, const std::string& path,
                                     const std::string& interface, const std::string& method) {
  if (bus_ == nullptr)
    return fail(ErrorCode::kUnavailable, method + ": no connection to the bus");
  sd_bus_message* message = nullptr;
  const int r = sd_bus_message_new_method_call(bus_, &message, destination.c_str(), path.c_str(),
                                               interface.c_str(), method.c_str());
  if (r < 0)
    return fail(errno_error(r, method));
  return Message(message);
}

int Connection::on_reply(sd_bus_message* message, void* userdata, sd_bus_error*) noexcept {
  auto* call = static_cast<Call*>(userdata);
  call->reply.reset(sd_bus_message_ref(message));
  if (call->hook && sd_bus_message_is_method_error(message, nullptr) == 0)
    call->hook(message);
  call->timer.cancel();
  return 1;
}

asio::awaitable<Result<Message>> Connection::call(Message message, Millis deadline, Asked asked,
                                                  Hooks hooks) {
  const auto self = shared_from_this();
  // the views in `asked` may point into the caller's temporaries
  const std::string method(asked.method), unit(asked.unit);
  const auto call = std::make_shared<Call>(executor_);
  call->hook = std::move(hooks.on_reply);
  if (bus_ == nullptr)
    co_return fail(ErrorCode::kUnavailable, method + " " + unit + ": no connection to the bus");
  sd_bus_slot* raw_slot = nullptr;
  // no time-out of sd-bus's own: ours is the only one, so that NoReply always means a lost peer
  const int r =
      sd_bus_call_async(bus_, &raw_slot, message.get(), &Connection::on_reply, call.get(), UINT64_MAX);
  if (r < 0)
    co_return fail(errno_error(r, method + " " + unit));
  const Slot slot(raw_slot);  // freed before `call`: no reply reaches a dead object
  std::erase_if(calls_, [](const auto& weak) { return weak.expired(); });
  calls_.push_back(call);
  if (hooks.on_sent)
    unsent_.push_back(std::move(hooks.on_sent));
  run_sent_hooks();
  arm();
  call->timer.expires_after(deadline);
  co_await call->timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (call->reply) {
    if (const auto* error = sd_bus_message_get_error(call->reply.get()); error != nullptr)
      co_return fail(to_error(error->name, error->message != nullptr ? error->message : "", {method, unit}));
    co_return std::move(call->reply);
  }
  if (call->closed)
    co_return fail(ErrorCode::kUnavailable, method + " " + unit + ": the connection to the bus was lost");
  co_return fail(ErrorCode::kTimeout,
                 method + " " + unit + ": no answer from systemd within " + format_duration(deadline));
}

void Connection::run_sent_hooks() {
  std::uint64_t queued = 0;
  if (unsent_.empty() || sd_bus_get_n_queued_write(bus_, &queued) < 0 || queued > 0)
    return;
  for (const auto& hook : std::exchange(unsent_, {}))
    hook();
}

void Connection::pump_soon() {
  if (std::exchange(pump_posted_, true))
    return;
  asio::post(executor_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->pump_posted_ = false;
      self->pump();
    }
  });
}

void Connection::pump() {
  const auto self = shared_from_this();  // a callback may drop the last other reference
  for (int i = 0; i < kPerTurn; ++i) {
    if (bus_ == nullptr)
      return;
    const int r = sd_bus_process(bus_, nullptr);
    if (r < 0)
      return lost(errno_error(r, "bus"));
    if (bus_ == nullptr)
      return;
    run_sent_hooks();
    if (r == 0)
      return arm();
  }
  pump_soon();
}

void Connection::arm() {
  if (bus_ == nullptr)
    return;
  const int events = sd_bus_get_events(bus_);
  if (events < 0)
    return pump_soon();  // it says what is wrong
  const auto on_ready = [weak = weak_from_this()](bool Connection::*flag) {
    return [weak, flag](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!self)
        return;
      (*self).*flag = false;
      if (!error)
        self->pump();
    };
  };
  if ((events & POLLIN) != 0 && !std::exchange(reading_, true))
    socket_.async_wait(asio::posix::stream_descriptor::wait_read, on_ready(&Connection::reading_));
  if ((events & POLLOUT) != 0 && !std::exchange(writing_, true))
    socket_.async_wait(asio::posix::stream_descriptor::wait_write, on_ready(&Connection::writing_));
  std::uint64_t until = UINT64_MAX;  // CLOCK_MONOTONIC in microseconds, as steady_clock's
  if (sd_bus_get_timeout(bus_, &until) < 0 || until == UINT64_MAX)
    return;
  if (until == 0)
    return pump_soon();
  timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::microseconds(until)));
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    if (const auto self = weak.lock(); self && !error)
      self->pump();
  });
}

void Connection::lost(const Error& error) {
  const auto tell = std::exchange(on_closed_, nullptr);
  close();
  if (tell)
    tell(error);
}

}  // namespace fireboss::sdbus
