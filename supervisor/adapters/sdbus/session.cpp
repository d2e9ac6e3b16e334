#include "supervisor/adapters/sdbus/session.h"

#include <algorithm>
#include <exception>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "supervisor/adapters/sdbus/names.h"

namespace fireboss::sdbus {

namespace asio = boost::asio;
using ports::BusBack;
using ports::BusLost;
using ports::JobOutcome;
using ports::JobResult;
using ports::JobSeen;
using ports::UnitSnapshot;

namespace {

constexpr Millis kCallDeadline{10'000};
// A start or restart may first have to bring up polkit.
constexpr Millis kJobReplyDeadline{25'000};
constexpr std::size_t kRemovedKept = 256;

constexpr auto kWait = asio::as_tuple(asio::use_awaitable);

}  // namespace

Session::Session(asio::any_io_executor executor, Options options)
    : executor_(executor), options_(std::move(options)), until_lost_(executor), pause_(executor) {}

void Session::start() {
  spawn(run());
}

void Session::stop() {
  stopped_ = true;
  tear_down();
  watches_.clear();
  for (const auto& wait : waits_)
    wait->timer.cancel();
  until_lost_.cancel();
  pause_.cancel();
}

void Session::spawn(asio::awaitable<void> work) {
  asio::co_spawn(executor_, std::move(work), [self = shared_from_this()](const std::exception_ptr& error) {
    if (error)
      std::rethrow_exception(error);  // out of memory or a bug: not ours to swallow
  });
}

asio::awaitable<void> Session::run() {
  auto pause = options_.backoff_min;
  while (!stopped_) {
    const auto up = co_await bring_up();
    if (stopped_)
      break;
    if (up && !lost_) {
      pause = options_.backoff_min;
      announce_up();
      until_lost_.expires_at(asio::steady_timer::time_point::max());
      co_await until_lost_.async_wait(kWait);
      if (stopped_)
        break;
    }
    tear_down();
    announce_lost(lost_ ? lost_->message : up ? "unknown" : up.error().message);
    pause_.expires_after(pause);
    co_await pause_.async_wait(kWait);
    pause = std::min(pause * 2, options_.backoff_max);
  }
}

Result<void> Session::connect() {
  lost_.reset();
  const auto weak = weak_from_this();
  auto connection = Connection::open(executor_, options_.address, [weak](const Error& error) {
    if (const auto self = weak.lock())
      self->lose(error);
  });
  if (!connection)
    return fail(connection.error());
  connection_ = *connection;

  const auto subscribe = [&](const char* rule, void (Session::*handler)(sd_bus_message*)) -> Result<void> {
    auto subscription = connection_->subscribe(rule, [weak, handler](sd_bus_message* message) {
      if (const auto self = weak.lock())
        (self.get()->*handler)(message);
    });
    if (!subscription)
      return fail(subscription.error());
    subscriptions_.push_back(std::move(*subscription));
    return {};
  };
  if (auto done = subscribe(kOwnerRule, &Session::on_name_owner); !done)
    return done;
  if (auto done = subscribe(kManagerRule, &Session::on_manager_signal); !done)
    return done;
  for (auto& [unit, watch] : watches_)
    if (auto done = subscribe_unit(unit, watch); !done)
      return done;
  return {};
}

asio::awaitable<Result<std::string>> Session::owner_of_systemd() {
  auto message = connection_->new_call(kBusName, kBusPath, kBusName, "GetNameOwner");
  if (!message)
    co_return fail(message.error());
  if (const int r = sd_bus_message_append(message->get(), "s", kSystemd); r < 0)
    co_return fail(errno_error(r, "GetNameOwner"));
  const auto reply =
      co_await connection_->call(std::move(*message), kCallDeadline, {"GetNameOwner", kSystemd});
  if (!reply)
    co_return fail(reply.error());
  const char* name = nullptr;
  if (const int r = sd_bus_message_read(reply->get(), "s", &name); r < 0)
    co_return fail(errno_error(r, "GetNameOwner"));
  co_return std::string(name);
}

// Every match is asked for before the first call: the bus takes our messages in order.
asio::awaitable<Result<void>> Session::bring_up() {
  if (const auto done = connect(); !done)
    co_return done;
  auto owner = co_await owner_of_systemd();
  if (!owner)
    co_return fail(owner.error());
  owner_ = std::move(*owner);
  if (!connection_)
    co_return fail(ErrorCode::kUnavailable, "stopped");
  auto message = connection_->new_call(kSystemd, kManagerPath, kManager, "Subscribe");
  if (!message)
    co_return fail(message.error());
  const auto reply = co_await connection_->call(std::move(*message), kCallDeadline, {"Subscribe", ""});
  if (!reply)
    co_return fail(reply.error());
  co_return Result<void>{};
}

void Session::tear_down() {
  up_ = false;
  owner_.clear();
  subscriptions_.clear();
  for (auto& [unit, watch] : watches_)
    watch.subscription.reset();
  for (auto& [unit, watch] : watches_)
    watch.retry->cancel();
  jobs_.clear();
  removed_.clear();
  if (connection_)
    std::exchange(connection_, nullptr)->close();
}

void Session::announce_up() {
  up_ = true;
  const bool back = std::exchange(told_lost_, false);
  for (const auto& [unit, watch] : std::map(watches_)) {
    if (back)
      tell(unit, BusBack{});
    refresh(unit);
  }
  for (const auto& wait : waits_)
    spawn(recheck(wait));
}

void Session::announce_lost(const std::string& why) {
  if (std::exchange(told_lost_, true))
    return;
  for (const auto& [unit, watch] : std::map(watches_))
    tell(unit, BusLost{why});
}

void Session::lose(const Error& why) {
  if (!lost_)
    lost_ = why;
  until_lost_.cancel();
}

void Session::tell(const std::string& unit, const ports::UnitNews& news) {
  const auto found = watches_.find(unit);
  if (found == watches_.end())
    return;
  const auto on_news = found->second.on_news;  // it may replace itself
  on_news(news);
}

void Session::watch(const std::string& unit, std::function<void(const ports::UnitNews&)> on_news) {
  auto& watch = watches_[unit];
  watch.on_news = std::move(on_news);
  if (!watch.retry)
    watch.retry = std::make_shared<asio::steady_timer>(executor_);
  const auto weak = weak_from_this();
  asio::post(executor_, [weak, unit] {
    const auto self = weak.lock();
    if (!self || !self->watches_.contains(unit))
      return;
    if (self->told_lost_)
      self->tell(unit, BusLost{"not connected yet"});
    if (self->up_)
      self->refresh(unit);
  });
  if (connection_ && !watch.subscription)
    if (const auto done = subscribe_unit(unit, watch); !done)
      lose(done.error());
}

void Session::unwatch(const std::string& unit) {
  watches_.erase(unit);
  std::erase_if(jobs_, [&](const auto& entry) { return entry.second.unit == unit; });
}

Result<void> Session::subscribe_unit(const std::string& unit, Watch& watch) {
  const auto path = unit_path(unit);
  if (!path)
    return fail(path.error());
  auto subscription =
      connection_->subscribe(changed_rule(*path), [weak = weak_from_this(), unit](sd_bus_message* message) {
        if (const auto self = weak.lock(); self && self->from_systemd(message))
          self->refresh(unit);
      });
  if (!subscription)
    return fail(subscription.error());
  watch.subscription = std::move(*subscription);
  return {};
}

// The bus filters by sender for broadcasts only: anybody may send us a signal of that shape directly.
bool Session::from_systemd(sd_bus_message* message) const {
  const char* sender = sd_bus_message_get_sender(message);
  return sender != nullptr && !owner_.empty() && owner_ == sender;
}

void Session::on_name_owner(sd_bus_message* message) {
  const char* sender = sd_bus_message_get_sender(message);
  if (sender == nullptr || std::string_view(sender) != kBusName || owner_.empty())
    return;
  // a new owner is a systemd that was executed anew: what it announced in between was not heard here
  lose({ErrorCode::kUnavailable, "systemd left the bus (daemon-reexec)"});
}

void Session::on_manager_signal(sd_bus_message* message) {
  if (!from_systemd(message))
    return;
  if (sd_bus_message_is_signal(message, kManager, "JobNew") > 0)
    return on_job_new(message);
  if (sd_bus_message_is_signal(message, kManager, "JobRemoved") > 0)
    return on_job_removed(message);
  int begins = 0;
  if (sd_bus_message_is_signal(message, kManager, "Reloading") > 0 &&
      sd_bus_message_read(message, "b", &begins) >= 0 && begins == 0)
    for (const auto& [unit, watch] : watches_)
      refresh(unit);
}

void Session::on_job_new(sd_bus_message* message) {
  std::uint32_t id = 0;
  const char *path = nullptr, *unit = nullptr;
  if (sd_bus_message_read(message, "uos", &id, &path, &unit) >= 0 && watches_.contains(unit))
    look_at_job(path, {.unit = unit, .id = id, .type = ""});
}

void Session::on_job_removed(sd_bus_message* message) {
  std::uint32_t id = 0;
  const char *path = nullptr, *unit = nullptr, *result = nullptr;
  if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) < 0)
    return;
  removed_.emplace_back(path, result);
  if (removed_.size() > kRemovedKept)
    removed_.pop_front();
  for (const auto& wait : waits_) {
    if (wait->path == path) {
      wait->outcome = to_outcome(result);
      wait->timer.cancel();
    }
  }
  std::string type;
  if (const auto job = jobs_.extract(path); !job.empty())
    type = job.mapped().type;
  const auto own = ours_.extract(path);
  const bool ours = !own.empty();
  if (ours)
    type = own.mapped();
  tell(unit, JobSeen{.unit = unit, .id = id, .type = type, .ended = true, .result = result, .ours = ours});
}

void Session::look_at_job(const std::string& path, Job job) {
  if (jobs_.emplace(path, std::move(job)).second)
    spawn(ask_job_type(path));
}

asio::awaitable<void> Session::ask_job_type(std::string path) {
  const auto type = co_await job_type(path);
  const auto found = jobs_.find(path);
  if (found == jobs_.end() || !type)
    co_return;  // gone: JobRemoved has told
  const auto own = ours_.find(path);
  found->second.type = own == ours_.end() ? *type : own->second;
  const auto job = found->second;
  tell(job.unit, JobSeen{.unit = job.unit,
                         .id = job.id,
                         .type = job.type,
                         .ended = false,
                         .result = "",
                         .ours = own != ours_.end()});
}

void Session::refresh(const std::string& unit) {
  const auto found = watches_.find(unit);
  if (found == watches_.end() || !up_)
    return;
  found->second.dirty = true;
  found->second.retry->cancel();
  if (!std::exchange(found->second.fetching, true))
    spawn(refresh_until_clean(unit));
}

// Changes that come while a snapshot is under way make one more, however many they are. Nothing but the
// change itself announces it: a look that fails is repeated until it succeeds.
asio::awaitable<void> Session::refresh_until_clean(std::string unit) {
  auto pause = options_.backoff_min;
  for (;;) {
    auto found = watches_.find(unit);
    if (found == watches_.end())
      co_return;
    if (!std::exchange(found->second.dirty, false) || !up_) {
      found->second.fetching = false;
      co_return;
    }
    const auto snapshot = co_await fetch(unit);
    found = watches_.find(unit);
    if (found == watches_.end())
      co_return;
    if (!snapshot) {
      if (!up_ || lost_)
        continue;  // a lost bus is told elsewhere, and what comes after it begins with a snapshot
      found->second.dirty = true;
      const auto retry = found->second.retry;
      retry->expires_after(std::exchange(pause, std::min(pause * 2, options_.backoff_max)));
      if (!std::exchange(found->second.told_unread, true))
        tell(unit, ports::UnitUnread{snapshot.error().message});
      co_await retry->async_wait(kWait);
      continue;
    }
    pause = options_.backoff_min;
    found->second.told_unread = false;
    if (snapshot->job_id != 0)
      look_at_job(job_path(snapshot->job_id), {.unit = unit, .id = snapshot->job_id, .type = ""});
    tell(unit, *snapshot);
  }
}

asio::awaitable<Result<UnitSnapshot>> Session::fetch(std::string unit) {
  auto properties = co_await get_all(unit);
  if (!properties)
    co_return fail(properties.error());
  auto snapshot = std::move(properties->snapshot);
  if (!snapshot.invocation_id.empty())
    lives_[unit] = snapshot.invocation_id;
  if (!properties->reached.empty()) {
    auto names = co_await dependents(unit, std::move(properties->reached));
    if (!names)
      co_return fail(names.error());
    snapshot.dependents = std::move(*names);
  }
  co_return snapshot;
}

asio::awaitable<Result<Message>> Session::call_manager(std::string method, std::string unit) {
  if (!up_)
    co_return fail(ErrorCode::kUnavailable, method + " " + unit + ": no connection to systemd");
  auto message = connection_->new_call(kSystemd, kManagerPath, kManager, method);
  if (!message)
    co_return fail(message.error());
  if (const int r = sd_bus_message_append(message->get(), "s", unit.c_str()); r < 0)
    co_return fail(errno_error(r, method));
  co_return co_await connection_->call(std::move(*message), kCallDeadline, {method, unit});
}

asio::awaitable<Result<JobOutcome>> Session::act(std::string method, std::string unit, Millis deadline,
                                                 std::function<void()> on_sent) {
  const auto self = shared_from_this();
  if (!up_)
    co_return fail(ErrorCode::kUnavailable, method + " " + unit + ": no connection to systemd");
  auto message = connection_->new_call(kSystemd, kManagerPath, kManager, method);
  if (!message)
    co_return fail(message.error());
  // mode fail: a queued contrary job refuses ours instead of being replaced by it
  if (const int r = sd_bus_message_append(message->get(), "ss", unit.c_str(), "fail"); r < 0)
    co_return fail(errno_error(r, method));
  const auto wait = std::make_shared<JobWait>(executor_);
  wait->unit = unit;
  wait->restart = method == "RestartUnit";
  if (const auto known = lives_.find(unit); known != lives_.end())
    wait->life_before = known->second;
  wait->timer.expires_after(deadline);
  Connection::Hooks hooks;
  hooks.on_sent = std::move(on_sent);
  // JobRemoved may be the very next message in the buffer, before this coroutine runs again
  hooks.on_reply = [this, wait](sd_bus_message* reply) {
    const char* path = nullptr;
    if (sd_bus_message_read(reply, "o", &path) < 0)
      return;
    wait->path = path;
    ours_.emplace(path, wait->restart ? "restart" : "start");
    waits_.push_back(wait);
  };
  const auto reply = co_await connection_->call(std::move(*message), std::min(deadline, kJobReplyDeadline),
                                                {method, unit}, std::move(hooks));
  if (!reply)
    co_return fail(reply.error());
  if (wait->path.empty())
    co_return fail(ErrorCode::kInternal, method + " " + unit + ": systemd's reply names no job");
  for (const auto& [path, result] : removed_)
    if (path == wait->path)
      wait->outcome = to_outcome(result);
  if (!wait->outcome && !stopped_)
    co_await wait->timer.async_wait(kWait);
  std::erase(waits_, wait);
  if (wait->outcome)
    co_return *wait->outcome;
  if (stopped_)
    co_return fail(ErrorCode::kUnavailable, method + " " + unit + ": stopped waiting; the job goes on");
  co_return fail(ErrorCode::kTimeout, method + " " + unit + ": the job has not ended within " +
                                          format_duration(deadline) + "; it goes on");
}

asio::awaitable<void> Session::recheck(std::shared_ptr<JobWait> wait) {
  const auto type = co_await job_type(wait->path);
  if (type || type.error().code == ErrorCode::kUnavailable || type.error().code == ErrorCode::kTimeout)
    co_return;  // still there, or lost again: the next connection asks again
  const auto now = co_await fetch(wait->unit);
  if (!now || wait->outcome)
    co_return;
  const bool new_life =
      !wait->restart || (!wait->life_before.empty() && now->invocation_id != wait->life_before);
  if (now->active == ports::ActiveState::kActive && new_life)
    wait->outcome = JobOutcome{JobResult::kDone, "inferred: active"};
  else if (now->active == ports::ActiveState::kFailed)
    wait->outcome = JobOutcome{JobResult::kFailed, "inferred: failed"};
  else
    wait->outcome = JobOutcome{JobResult::kUnknown, "inferred: " + now->sub_state};
  ours_.erase(wait->path);
  wait->timer.cancel();
}

}  // namespace fireboss::sdbus
