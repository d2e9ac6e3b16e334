#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/config/config.h"

namespace fireboss::config {

// A container client as the unit's main process (`docker run ...`): the engine's processes are then outside
// of the unit's control group, and every look at it would find the client alone. Called once the unit's
// ExecStart is known (argv as systemd shows it). Returns what is wrong and what to do instead, nullopt if
// nothing. Podman with --cgroups=split, as quadlets use it, keeps the container in the unit; with listener =
// "any" nobody asks whose process listens.
[[nodiscard]] std::optional<std::string> container_client_problem(const Engine& engine,
                                                                  const std::vector<std::string>& exec_start);

}  // namespace fireboss::config
