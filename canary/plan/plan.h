#pragma once
// What a rule costs and what it finds: false restarts a year of a healthy engine, time to detect a fault.
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::canary {

// The same two rules as the policy's (design section 6, R1 and R2).
enum class PlanRule {
  kKOfN,     // each run is judged by itself: k failures of n; a run with fewer makes a confirming one due
  kConfirm,  // a failed call makes one confirming run due; `confirm_failures` of both runs' calls
};

struct PlanInput {
  double rate = 0.01;  // of wrong replies of a healthy engine
  PlanRule rule = PlanRule::kKOfN;
  int n = 4, k = 2;
  int confirm_failures = 3;
  int max_confirms = 2;  // kKOfN: confirming runs per scheduled run
  Millis every{30 * 60'000};
  int variants = 1;  // runs rotate over them
  std::optional<double> fault_rate;
};

struct Detection {
  double per_run = 0;  // chance that a scheduled run, with what it makes due, ends in "degraded"
  Millis mean{0};      // from the fault's beginning, which falls anywhere between two runs
  Millis p95{0};       // in 95 of 100 faults it takes no longer
  // A fault that only one variant shows waits for that variant's turn.
  Millis mean_one_variant{0}, p95_one_variant{0};
};

struct Plan {
  double runs_per_year = 0;
  double false_by_scheduled = 0;       // false restarts a year that the scheduled run alone brings about
  double false_by_confirming = 0;      // ... and those that need a confirming run
  double false_per_year = 0;           // both
  double confirming_per_year = 0;      // confirming runs a healthy engine is asked for
  std::optional<Detection> detection;  // with a fault rate above 0
};

// Errors name the parameter.
[[nodiscard]] Result<Plan> make_plan(const PlanInput& input);

}  // namespace fireboss::canary
