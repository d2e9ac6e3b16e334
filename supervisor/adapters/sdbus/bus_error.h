#pragma once
#include <string_view>

#include "base/result.h"
#include "supervisor/ports/unit_manager.h"

namespace fireboss::sdbus {

// What was asked, for the text of an error: "RestartUnit", "vllm.service".
struct Asked {
  std::string_view method, unit;
};

// A D-Bus error by its name. systemd's and polkit's names are those of systemd 252; a name that is not known
// is kInternal with the name kept in the text.
[[nodiscard]] Error to_error(std::string_view name, std::string_view message, const Asked& asked);

// A negative errno of an sd-bus function.
[[nodiscard]] Error errno_error(int negative_errno, std::string_view what);

[[nodiscard]] ports::JobOutcome to_outcome(std::string_view job_result);
[[nodiscard]] ports::ActiveState to_active_state(std::string_view word);

}  // namespace fireboss::sdbus
