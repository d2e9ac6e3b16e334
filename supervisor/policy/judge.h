#pragma once
// What one canary run says: counting, and the arithmetic of R1, R2 and the CUSUM. Knows no state but the
// variant's.
#include <string>
#include <vector>

#include "base/result.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

// A verdict that a history or the canary may give: "ok", a failure, "inconclusive:REASON", "foreign_nonce".
[[nodiscard]] Result<void> check_call_result(std::string_view result);

[[nodiscard]] Run count_run(const std::vector<std::string>& results, Purpose purpose, MonoTime at);

enum class RunGrade {
  kPass,          // fewer than k calls failed, fewer than k are unknown, at least one is ok
  kFail,          // k calls failed, or a nonce of another call came back
  kSuspect,       // a call failed, but too few to say and too many unknown
  kInconclusive,  // nothing was measured
};
[[nodiscard]] RunGrade grade_run(const Policy& policy, const Run& run);

// Degraded as the policy's rule says; `before` is the variant's state before this run.
[[nodiscard]] bool degraded_by(const Policy& policy, const VariantState& before, const Run& run);
// A confirming run of the variant is due after this run (R1).
[[nodiscard]] bool confirm_wanted(const Policy& policy, const VariantState& after, const Run& run);

// Every call of the run timed out.
[[nodiscard]] bool timed_out(const std::vector<std::string>& results);

// Log-likelihood steps of the CUSUM in micro-nats, p0 = max(1 %, calibrated rate), p1 = 10 p0, at most 0.5.
struct CusumSteps {
  std::int64_t up = 0, down = 0;
};
[[nodiscard]] CusumSteps cusum_steps(const std::optional<Calibration>& calibration);
inline constexpr std::int64_t kCusumAlarm = 8'000'000;  // h = 8

// "3 of 4 calls of chat failed (leak)".
[[nodiscard]] std::string run_text(std::string_view variant, const Run& run);

}  // namespace fireboss::policy
