#pragma once
// All engines of one firebossd and the operator's verbs over them.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/object.hpp>

#include "base/result.h"
#include "supervisor/app/control_server.h"
#include "supervisor/app/engine_supervisor.h"
#include "supervisor/app/metrics_page.h"
#include "supervisor/config/config.h"

namespace fireboss::app {

class Supervisor {
 public:
  Supervisor(boost::asio::any_io_executor executor, const config::Config& config, Ports ports);
  ~Supervisor();

  // Reads every engine's record back; the error names the engine. `foreign`: the record is of another machine
  // or older than what happened since (sqlite::Generation), and nothing acts before a full canary.
  Result<void> restore(bool foreign);
  void start();
  void stop();

  // ping, canary.run, canary.calibrate, mode, restart.
  [[nodiscard]] std::vector<ControlVerb> verbs();
  // Whether every engine's loop has shown progress lately: what the watchdog is fed by.
  [[nodiscard]] bool progressing() const;
  // Whether every engine has recorded that this firebossd began, and with it what restore() was told.
  [[nodiscard]] bool begun() const;
  // Of this moment, for GET /metrics.
  [[nodiscard]] std::string metrics_page(const DaemonFacts& daemon);
  // One line for systemd's StatusText.
  [[nodiscard]] std::string status_line() const;

 private:
  Result<std::shared_ptr<EngineSupervisor>> find(const boost::json::object& request) const;

  Ports ports_;
  WallOffset wall_;
  probes::SignatureSet signatures_;
  std::vector<std::shared_ptr<EngineSupervisor>> engines_;
};

}  // namespace fireboss::app
