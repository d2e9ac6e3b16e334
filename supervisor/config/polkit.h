#pragma once
// The polkit rule that lets firebossd start and restart the configured units, and nothing else. Granting
// org.freedesktop.systemd1.manage-units without naming unit and verb would be root (transient units use the
// same action), so both are compared as whole names and everything else is refused.
#include <string>
#include <string_view>

#include "supervisor/config/config.h"

namespace fireboss::config {

// JavaScript for /etc/polkit-1/rules.d/. `user` is the one that firebossd runs as.
[[nodiscard]] std::string polkit_rule(const Config& config, std::string_view user = "fireboss");

}  // namespace fireboss::config
