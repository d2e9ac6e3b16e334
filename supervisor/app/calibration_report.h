#pragma once
// A calibration in words: what was measured, how little that may be worth, and what either rule costs with it
// (design section 5). Pure.
#include <string>
#include <vector>

#include "canary/plan/calibration.h"
#include "supervisor/policy/policy.h"

namespace fireboss::app {

struct Measured {
  std::string variant;
  canary::Calibration calibration;
};

struct CalibrationReport {
  std::vector<std::string> lines;
  bool enforce_allowed = false;
};

// One line a variant whose calibration is so small that its interval should be seen before it is relied on.
[[nodiscard]] std::vector<std::string> thin_calibrations(const std::vector<Measured>& all);

// `all`: of every variant, in the policy's order.
[[nodiscard]] CalibrationReport report_calibration(const policy::Policy& policy,
                                                   const std::vector<Measured>& all);

}  // namespace fireboss::app
