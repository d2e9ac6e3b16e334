#include "supervisor/app/engine_tally.h"

#include <algorithm>

namespace fireboss::app {

std::string_view outcome_name(policy::RunGrade grade) {
  switch (grade) {  // no default: a new grade must be shown
    case policy::RunGrade::kPass:
      return "pass";
    case policy::RunGrade::kFail:
      return "fail";
    case policy::RunGrade::kSuspect:
      return "suspect";
    case policy::RunGrade::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

void EngineTally::count_run(const policy::Policy& policy, MonoTime at, const policy::CanaryResult& result) {
  // What was asked of a variant that is not configured any more is nobody's series.
  if (std::find(policy.variants.begin(), policy.variants.end(), result.variant) == policy.variants.end())
    return;
  const auto run = policy::count_run(result.results, policy::Purpose::kScheduled, at);
  const auto grade = policy::grade_run(policy, run);
  auto& tally = variants_[result.variant];
  ++tally.runs[grade];
  tally.last_run[grade] = at;
  tally.passed += run.ok;
  tally.failed += run.failed;
  tally.inconclusive += run.inconclusive;
  constexpr std::string_view kPrefix = "inconclusive:";
  for (const auto& word : result.results) {
    if (word == "ok")
      continue;
    auto verdict = word.starts_with(kPrefix) ? word.substr(kPrefix.size()) : word;
    if (tally.verdicts.size() >= kMostVerdicts && !tally.verdicts.contains(verdict))
      verdict = "other";
    ++tally.verdicts[verdict];
  }
}

void EngineTally::count(const policy::Policy& policy, const policy::State& before, const policy::Event& event,
                        const policy::Stepped& stepped) {
  if (const auto* result = std::get_if<policy::CanaryResult>(&event.body))
    count_run(policy, event.at, *result);
  for (const auto& decision : stepped.decisions) {
    ++decisions_[decision.kind];
    if (decision.kind == policy::DecisionKind::kAlert)
      ++alerts_[decision.severity];
  }
  const auto& last = stepped.state.last_operation;
  if (before.operation && last && last->operation.begun == before.operation->begun)
    ++operations_[{last->operation.action, last->end}];
}

}  // namespace fireboss::app
