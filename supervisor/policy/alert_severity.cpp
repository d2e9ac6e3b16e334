#include "supervisor/policy/alert_severity.h"

#include <algorithm>
#include <array>

namespace fireboss::policy {

Severity alert_severity(std::string_view key) {
  constexpr std::array<std::string_view, 6> kWarnings{"own_fault/restored", "overdue",      "recurring",
                                                      "down_on_purpose",    "lease/canary", "inconclusive"};
  constexpr std::array<std::string_view, 2> kWarningPrefixes{"cusum/", "inconclusive/"};
  const bool warning = std::find(kWarnings.begin(), kWarnings.end(), key) != kWarnings.end() ||
                       std::any_of(kWarningPrefixes.begin(), kWarningPrefixes.end(),
                                   [key](std::string_view prefix) { return key.starts_with(prefix); });
  return warning ? Severity::kWarning : Severity::kCritical;
}

}  // namespace fireboss::policy
