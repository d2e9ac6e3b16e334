#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "supervisor/policy/judge.h"
#include "supervisor/policy/operation.h"
#include "supervisor/policy/reduce.h"
#include "supervisor/policy/view.h"

namespace fireboss::policy {
namespace {

constexpr std::size_t kBaselines = 32;
// A verifying run that said nothing (still warming up, busy) is repeated after that time.
constexpr Millis kVerifyAgain{15'000};

// An answer was computed, so the engine makes progress. A 500 only shows that its front door is open.
bool computed(const std::vector<std::string>& results) {
  return std::any_of(results.begin(), results.end(), [](const std::string& result) {
    return result != "timeout" && result != "http_error" && !result.starts_with("inconclusive:");
  });
}

// A run that a dead core explains: its calls fail, or nothing comes back. What is only busy, refused by our
// own fault or cut off by a new life says nothing about it (R8).
bool looks_dead(const std::vector<std::string>& results, RunGrade grade) {
  constexpr std::array<std::string_view, 7> kSilent{"timeout",
                                                    "http_error",
                                                    "inconclusive:timeout",
                                                    "inconclusive:refused",
                                                    "inconclusive:unreachable",
                                                    "inconclusive:reset",
                                                    "inconclusive:no_answer"};
  return grade == RunGrade::kFail ||
         (grade != RunGrade::kPass && std::all_of(results.begin(), results.end(), [&](const auto& result) {
            return std::find(kSilent.begin(), kSilent.end(), result) != kSilent.end();
          }));
}

Purpose purpose_of(const CanaryResult& event, const std::optional<InFlight>& flight,
                   const VariantState& variant) {
  if (event.purpose)
    return *event.purpose;
  if (flight)
    return flight->purpose;
  return variant.awaiting_confirm ? Purpose::kConfirm : Purpose::kScheduled;
}

void count_inconclusive(State& state, VariantState& variant, const std::string& name, bool inconclusive) {
  if (inconclusive) {
    ++state.inconclusive_runs;
    ++variant.inconclusive_runs;
    state.inconclusive_since = state.inconclusive_since.value_or(state.now);
    variant.inconclusive_since = variant.inconclusive_since.value_or(state.now);
    return;
  }
  state.inconclusive_runs = variant.inconclusive_runs = 0;
  state.inconclusive_since.reset();
  variant.inconclusive_since.reset();
  state.open_alerts.erase("inconclusive");
  state.open_alerts.erase("inconclusive/" + name);
}

void note_pass(State& state, VariantState& variant, const std::string& name) {
  current_baseline(state).passed.insert(name);
  variant.passed = state.now;
  variant.passing_since = variant.passing_since.value_or(state.now);
  state.hardware_fault.reset();
  state.journal_death.reset();
  for (const auto& key :
       {"R3/" + name, "R4/" + name, std::string("R4/stall"), std::string("R4/roles"),
        std::string("R7/gpu_fault_hw"), std::string("R7/vram_held"), std::string("operation")})
    state.open_alerts.erase(key);
  for (auto& charge : state.charges)
    if (charge.life == state.life->id && !charge.clean_at && !charge.spoiled &&
        (charge.variant.empty() || charge.variant == name))
      charge.clean_at = state.now;
}

void count_cusum(State& state, VariantState& variant, const std::string& name, const Run& run) {
  if (!has_passed(state, name) || run.degraded)
    return;  // what is degraded is R2's
  const auto steps = cusum_steps(variant.calibration);
  variant.cusum_unats =
      std::max<std::int64_t>(0, variant.cusum_unats + run.failed * steps.up - run.ok * steps.down);
  if (variant.cusum_unats == 0 && variant.cusum_told) {
    variant.cusum_told = false;
    state.open_alerts.erase("cusum/" + name);
  }
}

void carry_failures(const Policy& policy, VariantState& variant, const Run& run, RunGrade grade) {
  if (policy.rule != Rule::kConfirm || grade == RunGrade::kInconclusive)
    return;
  const bool judged_together = run.purpose == Purpose::kConfirm && variant.carried_failures > 0 &&
                               run.at - variant.carried_at <= policy.evidence_max_age;
  variant.carried_failures = judged_together ? 0 : run.failed;
  variant.carried_calls = judged_together ? 0 : run.ok + run.failed + run.inconclusive;
  variant.carried_at = judged_together ? MonoTime{} : run.at;
  variant.carried_verdict = judged_together ? "" : run.verdict;
}

// Under Rule::kConfirm what counts is the run and the one before it.
std::string together_text(const Policy& policy, const VariantState& variant, const std::string& name,
                          const Run& run) {
  if (policy.rule != Rule::kConfirm || run.purpose != Purpose::kConfirm || run.foreign_nonce)
    return run_text(name, run);
  auto both = run;
  both.failed += variant.carried_failures;
  both.ok += variant.carried_calls - variant.carried_failures;
  if (both.verdict.empty())
    both.verdict = variant.carried_verdict;
  return run_text(name, both) + ", a run and its confirming run together";
}

void note_finding(const Policy& policy, State& state, VariantState& variant, const std::string& name,
                  const Run& run, RunGrade grade) {
  if (run.degraded && has_passed(state, name)) {
    auto& degraded = variant.degraded;
    if (!degraded)
      degraded = Degraded{.since = run.at};
    degraded->at = run.at;
    degraded->what = together_text(policy, variant, name, run);
    degraded->handled = false;
    for (auto& charge : state.charges)
      charge.spoiled = charge.spoiled || charge.life == state.life->id;
    return;
  }
  const bool open_question = policy.rule == Rule::kConfirm && run.failed > 0;
  if (grade == RunGrade::kPass && !open_question)
    variant.degraded.reset();
}

void verify_operation(const Policy& policy, State& state, const std::string& name, const Run& run,
                      RunGrade grade) {
  if (!state.operation || state.operation->outcome || state.operation->step != Step::kVerify)
    return;
  auto& operation = *state.operation;
  if (operation.new_life != state.life->id || (!operation.variant.empty() && operation.variant != name))
    return;
  switch (grade) {  // no default: a new grade must end the step or leave it open
    case RunGrade::kPass:
      return conclude_operation(policy, state, OperationEnd::kClean, run_text(name, run));
    case RunGrade::kFail:
      return conclude_operation(policy, state, OperationEnd::kNotHelped, run_text(name, run));
    case RunGrade::kSuspect:
    case RunGrade::kInconclusive:
      operation.verify_again = state.now + kVerifyAgain;
      return;
  }
}

void note_timeouts(State& state, const std::vector<std::string>& results) {
  auto& traffic = state.traffic;
  if (timed_out(results)) {
    if (traffic.timed_out_runs++ == 0)
      traffic.timed_out_since = state.now;
  } else {
    traffic.timed_out_runs = 0;
  }
  if (computed(results)) {
    traffic.still_since.reset();
    traffic.frozen = false;
    traffic.stall_handled = false;
  }
}

}  // namespace

Baseline& current_baseline(State& state) {
  const auto key = baseline_key(state);
  const auto found = std::find_if(state.baselines.begin(), state.baselines.end(),
                                  [&](const Baseline& baseline) { return baseline.key == key; });
  if (found != state.baselines.end()) {
    std::rotate(found, found + 1, state.baselines.end());
  } else {
    state.baselines.push_back({.key = key});
    if (state.baselines.size() > kBaselines)
      state.baselines.erase(state.baselines.begin());
  }
  return state.baselines.back();
}

void forget_findings(State& state) {
  for (auto& [name, variant] : state.variants) {
    variant.awaiting_confirm = false;
    variant.confirms = 0;
    variant.carried_failures = variant.carried_calls = 0;
    variant.carried_at = {};
    variant.carried_verdict.clear();
    variant.degraded.reset();
    variant.passing_since.reset();
  }
  std::erase_if(state.due, [](const DueRun& due) { return due.purpose == Purpose::kConfirm; });
}

void make_due(State& state, const std::string& variant, Purpose purpose) {
  const auto found = std::find_if(state.due.begin(), state.due.end(),
                                  [&](const DueRun& due) { return due.variant == variant; });
  DueRun due{.variant = variant, .purpose = purpose, .since = state.now};
  if (purpose == Purpose::kScheduled) {
    if (found == state.due.end())
      state.due.push_back(std::move(due));
    return;
  }
  if (found != state.due.end()) {
    due.since = found->since;
    state.due.erase(found);
  }
  state.due.insert(state.due.begin(), std::move(due));
}

void make_all_due(const Policy& policy, State& state) {
  for (const auto& variant : policy.variants)
    make_due(state, variant, Purpose::kScheduled);
}

void rotate(const Policy& policy, State& state) {
  if (policy.variants.empty())
    return;
  const auto index = static_cast<std::size_t>(state.rotation) % policy.variants.size();
  make_due(state, policy.variants[index], Purpose::kScheduled);
  state.rotation = static_cast<std::int64_t>((index + 1) % policy.variants.size());
}

void reduce_canary_begun(State& state, const CanaryBegun& event) {
  state.in_flight =
      InFlight{.variant = event.variant, .life = event.life, .purpose = event.purpose, .at = state.now};
  std::erase_if(state.due, [&](const DueRun& due) { return due.variant == event.variant; });
}

void reduce_canary_result(const Policy& policy, State& state, const CanaryResult& event) {
  std::optional<InFlight> flight;
  if (state.in_flight && state.in_flight->variant == event.variant && state.in_flight->life == event.life)
    flight = std::exchange(state.in_flight, std::nullopt);
  if (flight && flight->void_result)
    return;
  adopt_unknown_life(policy, state, event.life);
  if (!alive(state) || state.life->id != event.life)
    return;

  const auto& name = event.variant;
  const auto purpose = purpose_of(event, flight, state.variants[name]);
  auto run = count_run(event.results, purpose, state.now);
  const auto grade = grade_run(policy, run);
  if (!state.life->ready && (grade == RunGrade::kPass || grade == RunGrade::kFail))
    mark_ready(policy, state);  // it answers, whatever was or was not said about it
  std::erase_if(state.due, [&](const DueRun& due) { return due.variant == name; });
  if (grade != RunGrade::kInconclusive && state.full_canary_owed.erase(name) > 0 &&
      state.full_canary_owed.empty())
    state.open_alerts.erase("own_fault/restored");

  auto& variant = state.variants[name];
  run.degraded = degraded_by(policy, variant, run);
  if (purpose == Purpose::kConfirm)
    variant.awaiting_confirm = false;
  else
    variant.confirms = 0;
  variant.last = run;
  if (grade != RunGrade::kInconclusive)
    variant.last_conclusive = run;
  count_inconclusive(state, variant, name, grade == RunGrade::kInconclusive);
  if (grade == RunGrade::kPass && !run.degraded)
    note_pass(state, variant, name);
  else if (grade != RunGrade::kInconclusive)
    variant.passing_since.reset();
  note_finding(policy, state, variant, name, run, grade);
  carry_failures(policy, variant, run, grade);
  count_cusum(state, variant, name, run);
  note_timeouts(state, event.results);
  if (state.journal_death && looks_dead(event.results, grade) && state.dead_roles.empty())
    state.dead_roles = {"core"};
  verify_operation(policy, state, name, run, grade);
}

}  // namespace fireboss::policy
