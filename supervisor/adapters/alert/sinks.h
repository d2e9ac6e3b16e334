#pragma once
// The sinks of a configuration.
#include <memory>
#include <string>
#include <vector>

#include "supervisor/config/config.h"
#include "supervisor/ports/alert_sink.h"
#include "supervisor/ports/clock.h"

namespace fireboss::alert {

struct SinkOptions {
  std::string unit = "firebossd.service";  // whose credentials the sinks use
  Millis deadline = ports::kDeliveryDeadline;
  std::string exec_folder = "/run/fireboss-alert";  // sockets of exec sinks, one NAME each
};

// In the order of the configuration. Nothing is opened yet: what a sink lacks is said when it delivers.
// `clock` outlives them.
[[nodiscard]] std::vector<std::unique_ptr<ports::AlertSink>> make_sinks(const config::Alerts& alerts,
                                                                        const ports::Clock& clock,
                                                                        const SinkOptions& options = {});

// The configured name of this machine, else its host name.
[[nodiscard]] std::string host_name(const config::Alerts& alerts);

}  // namespace fireboss::alert
