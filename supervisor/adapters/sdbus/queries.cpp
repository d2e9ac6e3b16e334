// The questions a Session asks systemd. They change nothing.
#include <algorithm>

#include "supervisor/adapters/sdbus/names.h"
#include "supervisor/adapters/sdbus/session.h"

namespace fireboss::sdbus {

namespace asio = boost::asio;

namespace {

constexpr Millis kCallDeadline{10'000};
// What a restart can reach through Requires=, BindsTo= and PartOf= of others. More than this is a machine
// that nobody wants restarted unasked: the list then ends here and is refused all the same.
constexpr std::size_t kMaxDependents = 64;

}  // namespace

std::string changed_rule(const std::string& object_path) {
  return std::string("type='signal',sender='") + kSystemd + "',path='" + object_path + "',interface='" +
         kProperties + "',member='PropertiesChanged',arg0='org.freedesktop.systemd1.Unit'";
}

Result<std::string> unit_path(const std::string& unit) {
  char* path = nullptr;
  if (const int r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit.c_str(), &path); r < 0)
    return fail(errno_error(r, "unit name '" + unit + "'"));
  std::string out = path;
  free(path);
  return out;
}

std::string job_path(std::uint32_t id) {
  return "/org/freedesktop/systemd1/job/" + std::to_string(id);
}

asio::awaitable<Result<UnitProperties>> Session::get_all(std::string unit) {
  const auto path = unit_path(unit);
  if (!path)
    co_return fail(path.error());
  if (!connection_)
    co_return fail(ErrorCode::kUnavailable, unit + ": no connection to systemd");
  auto message = connection_->new_call(kSystemd, *path, kProperties, "GetAll");
  if (!message)
    co_return fail(message.error());
  if (const int r = sd_bus_message_append(message->get(), "s", ""); r < 0)
    co_return fail(errno_error(r, "GetAll"));
  const auto reply = co_await connection_->call(std::move(*message), kCallDeadline, {"GetAll", unit});
  if (!reply)
    co_return fail(reply.error());
  co_return read_properties(reply->get(), unit);
}

asio::awaitable<Result<std::vector<std::string>>> Session::active_among(std::vector<std::string> units) {
  if (!connection_)
    co_return fail(ErrorCode::kUnavailable, "no connection to systemd");
  auto message = connection_->new_call(kSystemd, kManagerPath, kManager, "ListUnitsByNames");
  if (!message)
    co_return fail(message.error());
  int r = sd_bus_message_open_container(message->get(), 'a', "s");
  for (const auto& unit : units)
    if (r >= 0)
      r = sd_bus_message_append(message->get(), "s", unit.c_str());
  if (r >= 0)
    r = sd_bus_message_close_container(message->get());
  if (r < 0)
    co_return fail(errno_error(r, "ListUnitsByNames"));
  const auto reply = co_await connection_->call(std::move(*message), kCallDeadline, {"ListUnitsByNames", ""});
  if (!reply)
    co_return fail(reply.error());
  std::vector<std::string> out;
  r = sd_bus_message_enter_container(reply->get(), 'a', "(ssssssouso)");
  while (r >= 0 && (r = sd_bus_message_enter_container(reply->get(), 'r', "ssssssouso")) > 0) {
    const char *name = nullptr, *active = nullptr;
    r = sd_bus_message_read(reply->get(), "ssss", &name, nullptr, nullptr, &active);
    if (r >= 0)
      r = sd_bus_message_skip(reply->get(), "ssouso");
    if (r >= 0)
      r = sd_bus_message_exit_container(reply->get());
    if (r < 0)
      break;
    const auto state = to_active_state(active);
    if (state != ports::ActiveState::kInactive && state != ports::ActiveState::kFailed)
      out.emplace_back(name);
  }
  if (r < 0)
    co_return fail(errno_error(r, "ListUnitsByNames"));
  co_return out;
}

asio::awaitable<Result<std::vector<std::string>>> Session::dependents(std::string unit,
                                                                      std::vector<std::string> reached) {
  std::vector<std::string> out, seen{unit};
  while (!reached.empty() && out.size() < kMaxDependents) {
    std::erase_if(reached, [&](const auto& name) { return std::ranges::find(seen, name) != seen.end(); });
    std::ranges::sort(reached);
    reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
    if (reached.empty())
      break;
    seen.insert(seen.end(), reached.begin(), reached.end());
    const auto active = co_await active_among(std::exchange(reached, {}));
    if (!active)
      co_return fail(active.error());
    for (const auto& name : *active) {
      out.push_back(name);
      const auto next = co_await get_all(name);  // a restart goes on from there
      if (!next)
        co_return fail(next.error());
      reached.insert(reached.end(), next->reached.begin(), next->reached.end());
    }
  }
  std::ranges::sort(out);
  co_return out;
}

asio::awaitable<Result<std::string>> Session::job_type(std::string path) {
  if (!connection_)
    co_return fail(ErrorCode::kUnavailable, path + ": no connection to systemd");
  auto message = connection_->new_call(kSystemd, path, kProperties, "Get");
  if (!message)
    co_return fail(message.error());
  if (const int r = sd_bus_message_append(message->get(), "ss", kJob, "JobType"); r < 0)
    co_return fail(errno_error(r, "Get JobType"));
  const auto reply = co_await connection_->call(std::move(*message), kCallDeadline, {"Get JobType", path});
  if (!reply)
    co_return fail(reply.error());
  const char* type = nullptr;
  if (const int r = sd_bus_message_read(reply->get(), "v", "s", &type); r < 0)
    co_return fail(errno_error(r, "JobType"));
  co_return std::string(type);
}

}  // namespace fireboss::sdbus
