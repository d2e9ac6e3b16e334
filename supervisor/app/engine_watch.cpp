// What is watched beside the answers: the unit's journal and the kernel's, its processes, its port's silence.
#include <cstdint>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <spdlog/spdlog.h>

#include "supervisor/app/engine_supervisor.h"
#include "supervisor/app/pause.h"
#include "supervisor/policy/view.h"

namespace fireboss::app {
namespace asio = boost::asio;
namespace {

constexpr Millis kPortLook{1'000};

}  // namespace

void EngineSupervisor::on_line(const ports::JournalLine& line) {
  if (stopping_)
    return;
  if (line.from_manager)
    take_events(tracker_.on_journal(line, ports_.clock.mono()));
  for (auto& signature : watch_.on_line(line))
    feed(std::move(signature));
  if (watch_.wants_processes() && !settling_lines_) {
    settling_lines_ = true;
    spawn(settle_lines());
  }
}

asio::awaitable<std::optional<std::vector<std::string>>> EngineSupervisor::ask_processes() {
  const auto life = tracker_.life();
  const auto processes = co_await ports_.units.processes(engine_.unit);
  // Without an answer what waits goes on waiting, for whoever asks next.
  if (!processes || stopping_ || tracker_.life() != life)
    co_return std::nullopt;
  std::vector<std::uint32_t> pids;
  std::vector<std::string> commands;
  for (const auto& process : *processes) {
    pids.push_back(process.pid);
    commands.push_back(process.command);
  }
  for (auto& signature : watch_.on_processes(pids))
    feed(std::move(signature));
  if (const auto dropped = watch_.take_dropped(); dropped > 0)
    spdlog::warn(
        "{}: {} lines that name a process came faster than systemd could be asked whose it is; ignoring them",
        engine_.name, dropped);
  co_return commands;
}

asio::awaitable<void> EngineSupervisor::settle_lines() {
  const auto self = shared_from_this();
  co_await ask_processes();
  settling_lines_ = false;
}

// What is being stopped or started loses and gains processes without being dead.
bool EngineSupervisor::census_counts(const std::string& life) const {
  return started_ && tracker_.life() == life && policy::ready(core_.state()) && snapshot_ &&
         snapshot_->active == ports::ActiveState::kActive && snapshot_->job_id == 0;
}

asio::awaitable<void> EngineSupervisor::take_census() {
  const auto self = shared_from_this();
  while (!stopping_) {
    const auto life = tracker_.life();
    if (census_counts(life)) {
      const auto commands = co_await ask_processes();
      if (commands && census_counts(life))
        if (const auto edge = census_.on_look(life, *commands, ports_.clock.mono()))
          feed(*edge);
    }
    co_await pause(census_.next_look());
  }
}

// R5 for an engine without counters. With counters they tell more, and the policy does not look at this.
void EngineSupervisor::watch_silence() {
  const auto runs = core_.state().traffic.timed_out_runs;
  const auto traffic = runs == 0 ? std::nullopt : bytes_sent();
  if (const auto edge = silence_.on_run(runs, traffic))
    feed(*edge);
  if (silence_.watching() && !looking_at_port_) {
    looking_at_port_ = true;
    spawn(look_at_port());
  }
}

std::optional<std::uint64_t> EngineSupervisor::bytes_sent() const {
  const auto traffic = ports_.sockets.traffic(engine_.port);
  return traffic ? std::optional(traffic->bytes_sent) : std::nullopt;
}

asio::awaitable<void> EngineSupervisor::look_at_port() {
  const auto self = shared_from_this();
  while (!stopping_ && silence_.watching()) {
    if (const auto edge = silence_.on_look(bytes_sent()))
      feed(*edge);
    co_await pause(kPortLook);
  }
  looking_at_port_ = false;
}

}  // namespace fireboss::app
