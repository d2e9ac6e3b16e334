#pragma once
#include <string_view>

#include "supervisor/policy/decision.h"

namespace fireboss::policy {

// How severe the open alert of that key is: the state keeps keys only. A property test holds it to what
// decide() says with each alert. Unknown keys are critical.
[[nodiscard]] Severity alert_severity(std::string_view key);

}  // namespace fireboss::policy
