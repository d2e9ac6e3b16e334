#pragma once
// [alerts], [alerts.sink.NAME], [heartbeat] and [engine.NAME.heartbeat], from what the files say to checked
// objects.
#include <vector>

#include "supervisor/config/raw.h"

namespace fireboss::config {

[[nodiscard]] Alerts build_alerts(const RawConfig& raw, Findings& findings);

// Gives every engine the heartbeat that is meant for it. `engines` are those of `raw`, in the same order.
void build_heartbeats(const RawConfig& raw, std::vector<Engine>& engines, Findings& findings);

}  // namespace fireboss::config
