#pragma once
#include <string>
#include <vector>

#include <systemd/sd-bus.h>

#include "base/result.h"
#include "supervisor/ports/unit_manager.h"

namespace fireboss::sdbus {

struct UnitProperties {
  ports::UnitSnapshot snapshot;  // without dependents
  // Names that a restart job of the unit reaches: RequiredBy, BoundBy, ConsistsOf, whatever their state.
  std::vector<std::string> reached;
};

// The reply of Properties.GetAll with an empty interface name (a{sv}: Unit and Service in one, so that the
// two cannot disagree). Properties that are absent keep their defaults, unknown ones are skipped.
[[nodiscard]] Result<UnitProperties> read_properties(sd_bus_message* reply, const std::string& unit);

}  // namespace fireboss::sdbus
