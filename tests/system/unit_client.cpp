// One question or verb through the adapters, as whatever user it runs as: for tests of permissions.
//   unit_client restart|start|reset-failed|snapshot|processes|journal|listener UNIT [PORT]
// Prints "ok ..." or the error's code and text; exit status 0 or 1.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "supervisor/adapters/journal/systemd_journal.h"
#include "supervisor/adapters/sdbus/systemd_units.h"
#include "supervisor/adapters/sockets/kernel_sockets.h"

namespace asio = boost::asio;
using namespace fireboss;

namespace {

int tell(const Result<std::string>& answer) {
  if (answer)
    std::printf("ok %s\n", answer->c_str());
  else
    std::printf("%s %s\n", std::string(to_string(answer.error().code)).c_str(),
                answer.error().message.c_str());
  return answer ? 0 : 1;
}

Result<std::string> raw_of(const Result<ports::JobOutcome>& outcome) {
  if (!outcome)
    return fail(outcome.error());
  return outcome->raw;
}

asio::awaitable<Result<std::string>> carry_out(sdbus::SystemdUnits& units, std::string verb,
                                               std::string unit) {
  constexpr Millis kDeadline{20'000};
  if (verb == "restart")
    co_return raw_of(co_await units.restart(unit, kDeadline, [] {}));
  if (verb == "start")
    co_return raw_of(co_await units.start(unit, kDeadline, [] {}));
  if (verb == "reset-failed") {
    const auto done = co_await units.reset_failed(unit);
    if (!done)
      co_return fail(done.error());
    co_return std::string("reset");
  }
  if (verb == "processes") {
    const auto processes = co_await units.processes(unit);
    if (!processes)
      co_return fail(processes.error());
    co_return processes->empty() ? std::string("none") : processes->front().command;
  }
  const auto snapshot = co_await units.snapshot(unit);
  if (!snapshot)
    co_return fail(snapshot.error());
  co_return snapshot->sub_state;
}

Result<std::string> look_at_journal(asio::io_context& loop, const std::string& unit) {
  journal::SystemdJournal journal(loop.get_executor());
  const auto tail = journal.manager_tail(unit, 1);
  if (!tail)
    return fail(tail.error());
  return std::to_string(tail->size());
}

Result<std::string> look_at_listener(const std::string& unit, int port) {
  sockets::KernelSockets sockets;
  const auto listeners = sockets.listeners(static_cast<std::uint16_t>(port));
  if (!listeners)
    return fail(listeners.error());
  std::string out;
  for (const auto& listener : *listeners) {
    const auto ours = sockets.belongs(listener, "/system.slice/" + unit);
    if (!ours)
      return fail(ours.error());
    out += std::string(*ours ? "ours" : "foreign") + " " + sockets.control_group_of(listener);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: unit_client VERB UNIT [PORT]\n", stderr);
    return 64;
  }
  const std::string verb = argv[1], unit = argv[2];
  asio::io_context loop(1);
  if (verb == "journal")
    return tell(look_at_journal(loop, unit));
  if (verb == "listener")
    return tell(look_at_listener(unit, argc > 3 ? std::atoi(argv[3]) : 0));
  sdbus::SystemdUnits units(loop.get_executor());
  Result<std::string> answer = fail(ErrorCode::kTimeout, "no connection to the bus");
  bool done = false;
  // the first snapshot says that the connection stands
  units.watch(unit, [&](const ports::UnitNews& news) {
    if (!std::holds_alternative<ports::UnitSnapshot>(news) || std::exchange(done, true))
      return;
    asio::co_spawn(loop, carry_out(units, verb, unit),
                   [&](const std::exception_ptr&, Result<std::string> result) {
                     answer = std::move(result);
                     loop.stop();
                   });
  });
  loop.run_for(std::chrono::seconds(30));
  return tell(answer);
}
