#include "supervisor/adapters/sdbus/systemd_units.h"

#include "supervisor/adapters/sdbus/session.h"

namespace fireboss::sdbus {

namespace asio = boost::asio;

SystemdUnits::SystemdUnits(asio::any_io_executor executor, Options options)
    : session_(std::make_shared<Session>(std::move(executor), std::move(options))) {
  session_->start();
}

SystemdUnits::~SystemdUnits() {
  session_->stop();
}

void SystemdUnits::watch(const std::string& unit, std::function<void(const ports::UnitNews&)> on_news) {
  session_->watch(unit, std::move(on_news));
}

void SystemdUnits::unwatch(const std::string& unit) {
  session_->unwatch(unit);
}

asio::awaitable<Result<ports::UnitSnapshot>> SystemdUnits::snapshot(std::string unit) {
  const auto session = session_;
  auto snapshot = co_await session->fetch(unit);
  // systemd answers for any name that could be a unit's
  if (snapshot && snapshot->load_state == "not-found")
    co_return fail(ErrorCode::kNotFound, unit + ": no such unit: check the name in the configuration");
  co_return snapshot;
}

asio::awaitable<Result<ports::JobOutcome>> SystemdUnits::restart(std::string unit, Millis deadline,
                                                                 std::function<void()> on_sent) {
  const auto session = session_;
  co_return co_await session->act("RestartUnit", std::move(unit), deadline, std::move(on_sent));
}

asio::awaitable<Result<ports::JobOutcome>> SystemdUnits::start(std::string unit, Millis deadline,
                                                               std::function<void()> on_sent) {
  const auto session = session_;
  co_return co_await session->act("StartUnit", std::move(unit), deadline, std::move(on_sent));
}

asio::awaitable<Result<void>> SystemdUnits::reset_failed(std::string unit) {
  const auto session = session_;
  const auto reply = co_await session->call_manager("ResetFailedUnit", std::move(unit));
  if (!reply)
    co_return fail(reply.error());
  co_return Result<void>{};
}

asio::awaitable<Result<std::vector<ports::UnitManager::Process>>> SystemdUnits::processes(std::string unit) {
  const auto session = session_;
  const auto reply = co_await session->call_manager("GetUnitProcesses", std::move(unit));
  if (!reply)
    co_return fail(reply.error());
  std::vector<Process> out;
  int r = sd_bus_message_enter_container(reply->get(), 'a', "(sus)");
  const char *group = nullptr, *command = nullptr;
  std::uint32_t pid = 0;
  while (r >= 0 && (r = sd_bus_message_read(reply->get(), "(sus)", &group, &pid, &command)) > 0)
    out.push_back({.control_group = group, .pid = pid, .command = command});
  if (r < 0)
    co_return fail(errno_error(r, "GetUnitProcesses"));
  co_return out;
}

}  // namespace fireboss::sdbus
