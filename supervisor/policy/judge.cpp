#include "supervisor/policy/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace fireboss::policy {
namespace {

constexpr std::string_view kInconclusivePrefix = "inconclusive:";
constexpr std::string_view kForeignNonce = "foreign_nonce";
// Verdicts of the grader that fail a call, in the order in which it tries them. A timeout is none of them: it
// never restarts by itself (R5).
constexpr std::array<std::string_view, 9> kFailures{"http_error",          "encoding",       "leak",
                                                    "repetition",          "truncated",      "empty",
                                                    "tool_call_malformed", "json_malformed", "wrong_answer"};

bool is_timeout(std::string_view result) {
  return result == "timeout" || result == "inconclusive:timeout";
}

// The most frequent one; of equals the one that the grader tries first, and among other words the first that
// came. A foreign nonce is in the reply beside a verdict, and told beside it: it is the last of equals.
std::string most_frequent(const std::vector<std::string>& words) {
  std::map<std::string, int> counts;
  for (const auto& word : words)
    ++counts[word];
  const auto rank = [](std::string_view word) { return std::find(kFailures.begin(), kFailures.end(), word); };
  std::string best;
  for (const auto& word : words)
    if (best.empty() || counts[word] > counts[best] ||
        (counts[word] == counts[best] && rank(word) < rank(best)))
      best = word;
  return best;
}

bool carried_fresh(const Policy& policy, const VariantState& variant, const Run& run) {
  return variant.carried_failures > 0 && run.at - variant.carried_at <= policy.evidence_max_age;
}

}  // namespace

Result<void> check_call_result(std::string_view result) {
  if (result == "ok" || result == "timeout" || result == kForeignNonce ||
      std::find(kFailures.begin(), kFailures.end(), result) != kFailures.end())
    return {};
  if (result.starts_with(kInconclusivePrefix) && result.size() > kInconclusivePrefix.size())
    return {};
  std::string allowed = "ok, timeout, foreign_nonce, inconclusive:REASON";
  for (const auto failure : kFailures)
    allowed.append(", ").append(failure);
  return fail(ErrorCode::kInvalid,
              "'" + std::string(result) + "' is not a result of a call: write one of " + allowed);
}

Run count_run(const std::vector<std::string>& results, Purpose purpose, MonoTime at) {
  Run run{.at = at, .purpose = purpose};
  std::vector<std::string> failures, unknowns;
  for (const auto& result : results) {
    if (result == "ok") {
      ++run.ok;
    } else if (result == "timeout") {
      unknowns.push_back(result);
    } else if (result.starts_with(kInconclusivePrefix)) {
      unknowns.push_back(result.substr(kInconclusivePrefix.size()));
    } else {
      run.foreign_nonce = run.foreign_nonce || result == kForeignNonce;
      failures.push_back(result);
    }
  }
  run.failed = static_cast<std::int64_t>(failures.size());
  run.inconclusive = static_cast<std::int64_t>(unknowns.size());
  run.verdict = most_frequent(failures.empty() ? unknowns : failures);
  return run;
}

RunGrade grade_run(const Policy& policy, const Run& run) {
  if (run.foreign_nonce || run.failed >= policy.k)
    return RunGrade::kFail;
  if (run.ok > 0 && run.inconclusive < policy.k)
    return RunGrade::kPass;
  return run.failed > 0 ? RunGrade::kSuspect : RunGrade::kInconclusive;
}

bool degraded_by(const Policy& policy, const VariantState& before, const Run& run) {
  if (run.foreign_nonce)
    return true;
  switch (policy.rule) {  // no default: a new rule must be judged here
    case Rule::kKOfN:
      return run.failed >= policy.k;
    case Rule::kConfirm:
      if (policy.max_confirms == 0)
        return run.failed >= policy.confirm_failures;
      return run.purpose == Purpose::kConfirm && grade_run(policy, run) != RunGrade::kInconclusive &&
             carried_fresh(policy, before, run) &&
             before.carried_failures + run.failed >= policy.confirm_failures;
  }
  return false;
}

bool confirm_wanted(const Policy& policy, const VariantState& after, const Run& run) {
  if (after.confirms >= policy.max_confirms)
    return false;
  // A confirming run that said nothing leaves its question open.
  if (run.purpose == Purpose::kConfirm && grade_run(policy, run) == RunGrade::kInconclusive)
    return true;
  if (run.failed == 0)
    return false;
  switch (policy.rule) {  // no default: a new rule must be judged here
    case Rule::kKOfN:
      return true;
    case Rule::kConfirm:
      return run.purpose != Purpose::kConfirm || after.carried_at == run.at;
  }
  return false;
}

bool timed_out(const std::vector<std::string>& results) {
  return !results.empty() && std::all_of(results.begin(), results.end(), is_timeout);
}

CusumSteps cusum_steps(const std::optional<Calibration>& calibration) {
  const double rate = calibration && calibration->calls > 0 ? static_cast<double>(calibration->failures) /
                                                                  static_cast<double>(calibration->calls)
                                                            : 0.0;
  const double p0 = std::clamp(rate, 0.01, 0.4);
  const double p1 = std::min(10 * p0, 0.5);
  constexpr double kMicro = 1e6;
  return {.up = std::llround(std::log(p1 / p0) * kMicro),
          .down = std::llround(std::log((1 - p0) / (1 - p1)) * kMicro)};
}

std::string run_text(std::string_view variant, const Run& run) {
  const auto calls = run.ok + run.failed + run.inconclusive;
  if (run.failed > 0)
    return fmt::format("{} of {} calls of {} failed ({})", run.failed, calls, variant, run.verdict);
  if (run.inconclusive > 0)
    return fmt::format("{} of {} calls of {} said nothing ({})", run.inconclusive, calls, variant,
                       run.verdict);
  return fmt::format("{} of {} calls of {} were right", run.ok, calls, variant);
}

}  // namespace fireboss::policy
