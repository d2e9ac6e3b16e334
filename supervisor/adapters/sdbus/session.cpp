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
    : x_executor(executor), x_options(std::move(options)), x_until_lost(executor), x_pause(executor) {}

void Session::start() {
  spawn(run());
}

void Session::stop() {
  x_stopped = true;
  x_watches.clear();
  tear_down();
  for (const auto& wait : x_waits)
    wait->timer.cancel();
  x_until_lost.cancel();
  x_pause.cancel();
}

void Session::spawn(asio::awaitable<void> work) {
  asio::co_spawn(x_executor, std::move(work), [self = shared_from_this()](const std::exception_ptr& error) {
    if (error)
      std::rethrow_exception(error);  // out of memory or a bug: not ours to swallow
  });
}

asio::awaitable<void> Session::run() {
  auto pause = x_options.backoff_min;
  while (!x_stopped) {
    const auto up = co_await bring_up();
    if (x_stopped)
      break;
    if (up && !x_lost) {
      pause = x_options.backoff_min;
      announce_up();
      x_until_lost.expires_at(asio::steady_timer::time_point::max());
      co_await x_until_lost.async_wait(kWait);
      if (x_stopped)
        break;
    }
    tear_down();
    announce_lost(x_lost ? x_lost->message : up ? "unknown" : up.error().message);
    x_pause.expires_after(pause);
    co_await x_pause.async_wait(kWait);
    pause = std::min(pause * 2, x_options.backoff_max);
  }
}

Result<void> Session::connect() {
  x_lost.reset();
  const auto weak = weak_from_this();
  auto connection = Connection::open(x_executor, x_options.address, [weak](const Error& error) {
    if (const auto self = weak.lock())
      self->lose(error);
  });
  if (!connection)
    return fail(connection.error());
  x_connection = *connection;

  const auto subscribe = [&](const char* rule, void (Session::*handler)(sd_bus_message*)) -> Result<void> {
    auto subscription = x_connection->subscribe(rule, [weak, handler](sd_bus_message* message) {
      if (const auto self = weak.lock())
        (self.get()->*handler)(message);
    });
    if (!subscription)
      return fail(subscription.error());
    x_subscriptions.push_back(std::move(*subscription));
    return {};
  };
  if (auto done = subscribe(kOwnerRule, &Session::on_name_owner); !done)
    return done;
  if (auto done = subscribe(kManagerRule, &Session::on_manager_signal); !done)
    return done;
  for (auto& [unit, watch] : x_watches)
    if (auto done = subscribe_unit(unit, watch); !done)
      return done;
  return {};
}

asio::awaitable<Result<std::string>> Session::owner_of_systemd() {
  auto message = x_connection->new_call(kBusName, kBusPath, kBusName, "GetNameOwner");
  if (!message)
    co_return fail(message.error());
  if (const int r = sd_bus_message_append(message->get(), "s", kSystemd); r < 0)
    co_return fail(errno_error(r, "GetNameOwner"));
  const auto reply =
      co_await x_connection->call(std::move(*message), kCallDeadline, {"GetNameOwner", kSystemd});
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
  x_owner = std::move(*owner);
  if (!x_connection)
    co_return fail(ErrorCode::kUnavailable, "stopped");
  auto message = x_connection->new_call(kSystemd, kManagerPath, kManager, "Subscribe");
  if (!message)
    co_return fail(message.error());
  const auto reply = co_await x_connection->call(std::move(*message), kCallDeadline, {"Subscribe", ""});
  if (!reply)
    co_return fail(reply.error());
  co_return Result<void>{};
}

void Session::tear_down() {
  x_up = false;
  x_owner.clear();
  x_subscriptions.clear();
  for (auto& [unit, watch] : x_watches)
    watch.subscription.reset();
  x_jobs.clear();
  x_removed.clear();
  if (x_connection)
    std::exchange(x_connection, nullptr)->close();
}

void Session::announce_up() {
  x_up = true;
  const bool back = std::exchange(x_told_lost, false);
  for (const auto& [unit, watch] : std::map(x_watches)) {
    if (back)
      tell(unit, BusBack{});
    refresh(unit);
  }
  for (const auto& wait : x_waits)
    spawn(recheck(wait));
}

void Session::announce_lost(const std::string& why) {
  if (std::exchange(x_told_lost, true))
    return;
  for (const auto& [unit, watch] : std::map(x_watches))
    tell(unit, BusLost{why});
}

void Session::lose(const Error& why) {
  if (!x_lost)
    x_lost = why;
  x_until_lost.cancel();
}

void Session::tell(const std::string& unit, const ports::UnitNews& news) {
  const auto found = x_watches.find(unit);
  if (found == x_watches.end())
    return;
  const auto on_news = found->second.on_news;  // it may replace itself
  on_news(news);
}

void Session::watch(const std::string& unit, std::function<void(const ports::UnitNews&)> on_news) {
  auto& watch = x_watches[unit];
  watch.on_news = std::move(on_news);
  const auto weak = weak_from_this();
  asio::post(x_executor, [weak, unit] {
    const auto self = weak.lock();
    if (!self || !self->x_watches.contains(unit))
      return;
    if (self->x_told_lost)
      self->tell(unit, BusLost{"not connected yet"});
    if (self->x_up)
      self->refresh(unit);
  });
  if (x_connection && !watch.subscription)
    if (const auto done = subscribe_unit(unit, watch); !done)
      lose(done.error());
}

void Session::unwatch(const std::string& unit) {
  x_watches.erase(unit);
  std::erase_if(x_jobs, [&](const auto& entry) { return entry.second.unit == unit; });
}

Result<void> Session::subscribe_unit(const std::string& unit, Watch& watch) {
  const auto path = unit_path(unit);
  if (!path)
    return fail(path.error());
  auto subscription =
      x_connection->subscribe(changed_rule(*path), [weak = weak_from_this(), unit](sd_bus_message* message) {
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
  return sender != nullptr && !x_owner.empty() && x_owner == sender;
}

void Session::on_name_owner(sd_bus_message* message) {
  const char* sender = sd_bus_message_get_sender(message);
  if (sender == nullptr || std::string_view(sender) != kBusName || x_owner.empty())
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
    for (const auto& [unit, watch] : x_watches)
      refresh(unit);
}

void Session::on_job_new(sd_bus_message* message) {
  std::uint32_t id = 0;
  const char *path = nullptr, *unit = nullptr;
  if (sd_bus_message_read(message, "uos", &id, &path, &unit) >= 0 && x_watches.contains(unit))
    look_at_job(path, {.unit = unit, .id = id, .type = ""});
}

void Session::on_job_removed(sd_bus_message* message) {
  std::uint32_t id = 0;
  const char *path = nullptr, *unit = nullptr, *result = nullptr;
  if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) < 0)
    return;
  x_removed.emplace_back(path, result);
  if (x_removed.size() > kRemovedKept)
    x_removed.pop_front();
  for (const auto& wait : x_waits) {
    if (wait->path == path) {
      wait->outcome = to_outcome(result);
      wait->timer.cancel();
    }
  }
  std::string type;
  if (const auto job = x_jobs.extract(path); !job.empty())
    type = job.mapped().type;
  const auto own = x_ours.extract(path);
  const bool ours = !own.empty();
  if (ours)
    type = own.mapped();
  tell(unit, JobSeen{.unit = unit, .id = id, .type = type, .ended = true, .result = result, .ours = ours});
}

void Session::look_at_job(const std::string& path, Job job) {
  if (x_jobs.emplace(path, std::move(job)).second)
    spawn(ask_job_type(path));
}

asio::awaitable<void> Session::ask_job_type(std::string path) {
  const auto type = co_await job_type(path);
  const auto found = x_jobs.find(path);
  if (found == x_jobs.end() || !type)
    co_return;  // gone: JobRemoved has told
  const auto own = x_ours.find(path);
  found->second.type = own == x_ours.end() ? *type : own->second;
  const auto job = found->second;
  tell(job.unit, JobSeen{.unit = job.unit,
                         .id = job.id,
                         .type = job.type,
                         .ended = false,
                         .result = "",
                         .ours = own != x_ours.end()});
}

void Session::refresh(const std::string& unit) {
  const auto found = x_watches.find(unit);
  if (found == x_watches.end() || !x_up)
    return;
  found->second.dirty = true;
  if (!std::exchange(found->second.fetching, true))
    spawn(refresh_until_clean(unit));
}

// Changes that come while a snapshot is under way make one more, however many they are.
asio::awaitable<void> Session::refresh_until_clean(std::string unit) {
  for (;;) {
    auto found = x_watches.find(unit);
    if (found == x_watches.end())
      co_return;
    if (!std::exchange(found->second.dirty, false) || !x_up) {
      found->second.fetching = false;
      co_return;
    }
    const auto snapshot = co_await fetch(unit);
    if (!snapshot)
      continue;  // a lost bus is told elsewhere, and what comes after it begins with a snapshot
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
    x_lives[unit] = snapshot.invocation_id;
  if (!properties->reached.empty()) {
    auto names = co_await dependents(unit, std::move(properties->reached));
    if (!names)
      co_return fail(names.error());
    snapshot.dependents = std::move(*names);
  }
  co_return snapshot;
}

asio::awaitable<Result<Message>> Session::call_manager(std::string method, std::string unit) {
  if (!x_up)
    co_return fail(ErrorCode::kUnavailable, method + " " + unit + ": no connection to systemd");
  auto message = x_connection->new_call(kSystemd, kManagerPath, kManager, method);
  if (!message)
    co_return fail(message.error());
  if (const int r = sd_bus_message_append(message->get(), "s", unit.c_str()); r < 0)
    co_return fail(errno_error(r, method));
  co_return co_await x_connection->call(std::move(*message), kCallDeadline, {method, unit});
}

asio::awaitable<Result<JobOutcome>> Session::act(std::string method, std::string unit, Millis deadline,
                                                 std::function<void()> on_sent) {
  const auto self = shared_from_this();
  if (!x_up)
    co_return fail(ErrorCode::kUnavailable, method + " " + unit + ": no connection to systemd");
  auto message = x_connection->new_call(kSystemd, kManagerPath, kManager, method);
  if (!message)
    co_return fail(message.error());
  // mode fail: a queued contrary job refuses ours instead of being replaced by it
  if (const int r = sd_bus_message_append(message->get(), "ss", unit.c_str(), "fail"); r < 0)
    co_return fail(errno_error(r, method));
  const auto wait = std::make_shared<JobWait>(x_executor);
  wait->unit = unit;
  wait->restart = method == "RestartUnit";
  if (const auto known = x_lives.find(unit); known != x_lives.end())
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
    x_ours.emplace(path, wait->restart ? "restart" : "start");
    x_waits.push_back(wait);
  };
  const auto reply = co_await x_connection->call(std::move(*message), std::min(deadline, kJobReplyDeadline),
                                                 {method, unit}, std::move(hooks));
  if (!reply)
    co_return fail(reply.error());
  if (wait->path.empty())
    co_return fail(ErrorCode::kInternal, method + " " + unit + ": systemd's reply names no job");
  for (const auto& [path, result] : x_removed)
    if (path == wait->path)
      wait->outcome = to_outcome(result);
  if (!wait->outcome && !x_stopped)
    co_await wait->timer.async_wait(kWait);
  std::erase(x_waits, wait);
  if (wait->outcome)
    co_return *wait->outcome;
  if (x_stopped)
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
  x_ours.erase(wait->path);
  wait->timer.cancel();
}

}  // namespace fireboss::sdbus
