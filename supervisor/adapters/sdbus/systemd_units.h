#pragma once
// systemd over D-Bus. The match for a signal is always in place before the call that could raise it.
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "supervisor/ports/unit_manager.h"

namespace fireboss::sdbus {

class Session;

struct Options {
  std::string address;                           // D-Bus address; empty: the system bus
  Millis backoff_min{100}, backoff_max{10'000};  // between attempts to reach the bus
};

// Connects by itself, and again whenever the bus or systemd goes away (bus restart, daemon-reexec): each
// watcher hears BusLost once an episode, then BusBack and a fresh snapshot of its unit. A job under way at
// that moment is followed on: if it ended unseen, its outcome is read off the unit and `raw` says "inferred".
// All on the loop of `executor`; single-threaded.
class SystemdUnits final : public ports::UnitManager {
 public:
  explicit SystemdUnits(boost::asio::any_io_executor executor, Options options = {});
  ~SystemdUnits() override;

  void watch(const std::string& unit, std::function<void(const ports::UnitNews&)> on_news) override;
  void unwatch(const std::string& unit) override;
  boost::asio::awaitable<Result<ports::UnitSnapshot>> snapshot(std::string unit) override;
  boost::asio::awaitable<Result<ports::JobOutcome>> restart(std::string unit, Millis deadline,
                                                            std::function<void()> on_sent) override;
  boost::asio::awaitable<Result<ports::JobOutcome>> start(std::string unit, Millis deadline,
                                                          std::function<void()> on_sent) override;
  boost::asio::awaitable<Result<void>> reset_failed(std::string unit) override;
  boost::asio::awaitable<Result<std::vector<Process>>> processes(std::string unit) override;

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace fireboss::sdbus
