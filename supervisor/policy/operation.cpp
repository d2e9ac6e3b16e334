#include "supervisor/policy/operation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "supervisor/policy/names.h"
#include "supervisor/policy/reduce.h"
#include "supervisor/policy/view.h"

namespace fireboss::policy {
namespace {

// Steps of ours that need no setting of the operator's: collecting texts, taking a lock, one hook.
constexpr Millis kEvidenceDeadline{30'000};
constexpr Millis kLeaseDeadline{10'000};
constexpr Millis kHookDeadline{120'000};

// Nothing is drained from an engine that makes no progress, nothing stopped of one that is down.
bool has_step(const Operation& operation, Step step) {
  const bool is_start = operation.action == ActionKind::kStart;
  switch (step) {  // no default: a new step must be placed here
    case Step::kPreStop:
      return !is_start;
    case Step::kDrain:
      return !is_start && operation.rule != "R5" && operation.rule != "R6";
    case Step::kEvidence:
    case Step::kLease:
    case Step::kJob:
    case Step::kReady:
    case Step::kVerify:
    case Step::kPostReady:
      return true;
  }
  return true;
}

std::vector<Charge>::iterator charge_of(State& state, const Operation& operation) {
  return std::find_if(state.charges.begin(), state.charges.end(),
                      [&](const Charge& charge) { return charge.at == operation.begun; });
}

void close_operation(const Policy& policy, State& state) {
  auto operation = std::move(*state.operation);
  state.operation.reset();
  const auto end = operation.outcome.value_or(OperationEnd::kAbandoned);
  if (end == OperationEnd::kClean)
    state.open_alerts.erase("operation");
  // What ended otherwise is decided anew by fresh evidence.
  if (end != OperationEnd::kClean && ready(state)) {
    if (operation.variant.empty())
      rotate(policy, state);
    else
      make_due(state, operation.variant, Purpose::kScheduled);
  }
  if (end != OperationEnd::kClean) {
    state.dead_roles_handled = false;
    state.traffic.stall_handled = false;
  }
  state.last_operation = ClosedOperation{.operation = std::move(operation), .end = end, .at = state.now};
}

}  // namespace

void open_operation(State& state, const Decision& decision) {
  const auto& life = state.life;
  state.operation = Operation{.action = decision.action.value_or(ActionKind::kRestart),
                              .rule = decision.reason.substr(0, decision.reason.find(' ')),
                              .reason = decision.reason,
                              .variant = decision.variant,
                              .life = decision.life,
                              .begun = state.now,
                              .step_begun = state.now,
                              .charged = decision.charged,
                              .own_retry = decision.about == "down"};
  if (decision.charged) {
    Charge charge{.at = state.now, .variant = decision.variant};
    if (life)
      charge.degraded_at_age = (life->end == LifeEnd::kAlive ? state.now : life->ended) - life->started;
    state.charges.push_back(std::move(charge));
  }
}

void enter_step(State& state, Step step) {
  state.operation->step = step;
  state.operation->step_begun = state.now;
  state.operation->job_begun = state.operation->job_begun || step == Step::kJob;
}

void advance_operation(const Policy& policy, State& state) {
  auto step = state.operation->step;
  do {
    if (step == Step::kPostReady)
      return close_operation(policy, state);
    step = static_cast<Step>(static_cast<int>(step) + 1);
  } while (!has_step(*state.operation, step));
  enter_step(state, step);
}

void conclude_operation(const Policy& policy, State& state, OperationEnd end, std::string detail) {
  auto& operation = *state.operation;
  if (operation.outcome)
    return;
  operation.outcome = end;
  operation.detail = std::move(detail);
  const auto charge = charge_of(state, operation);
  // An action that never began, or that somebody else's word overtook, has used nothing up.
  const bool overtaken = end == OperationEnd::kAbandoned && !(operation.action == ActionKind::kStart &&
                                                              state.life && state.life->id == operation.life);
  if (charge != state.charges.end() && (overtaken || !operation.job_begun))
    state.charges.erase(charge);
  else if (charge != state.charges.end() && end == OperationEnd::kClean)
    charge->clean_at = state.now;
  if (operation.step < Step::kPreStop)
    return close_operation(policy, state);
  enter_step(state, Step::kPostReady);
}

void take_outcome(const Policy& policy, State& state, const ActionOutcome& outcome) {
  if (!state.operation)
    return;
  auto& operation = *state.operation;
  if (operation.step == Step::kPostReady) {
    if (outcome.step == Step::kPostReady) {
      if (outcome.result != StepResult::kDone && operation.outcome == OperationEnd::kClean) {
        operation.outcome = OperationEnd::kFailed;
        operation.detail = fmt::format("the post_ready hook: {}",
                                       outcome.detail.empty() ? to_string(outcome.result) : outcome.detail);
        operation.told = false;
      }
      close_operation(policy, state);
    }
    return;
  }
  const bool late_job = outcome.step == Step::kJob && operation.step == Step::kReady;
  if (outcome.step != operation.step && !late_job) {
    // A failed step that was already left still fails the operation while its job has led to nothing; a done
    // one is old news, and so is whatever was before a job that is done.
    const bool old_news = operation.step > Step::kJob && outcome.step < Step::kJob;
    if (outcome.step > operation.step || outcome.result == StepResult::kDone || old_news)
      return;
    operation.step = outcome.step;
    operation.job_begun = operation.step >= Step::kJob;
  }
  if (outcome.result == StepResult::kDone) {
    if (!late_job && operation.step != Step::kVerify)
      advance_operation(policy, state);
    return;
  }
  const auto detail = fmt::format("{}: {}{}{}", to_string(outcome.step), to_string(outcome.result),
                                  outcome.detail.empty() ? "" : ", ", outcome.detail);
  // A job that was canceled met another one: the operator's, which wins.
  const bool canceled = outcome.result == StepResult::kCanceled;
  if (canceled && state.life && state.life->end == LifeEnd::kOurs)
    state.life->end = LifeEnd::kOnPurpose;
  conclude_operation(policy, state, canceled ? OperationEnd::kAbandoned : OperationEnd::kFailed, detail);
}

void take_deadline(const Policy& policy, State& state) {
  if (!state.operation)
    return;
  const auto step = state.operation->step;
  const auto waited = format_duration(state.now - state.operation->step_begun);
  switch (step) {  // no default: a new step needs a word on its deadline
    case Step::kEvidence:
    case Step::kDrain:
      return advance_operation(policy, state);
    case Step::kLease:
    case Step::kPreStop:
    case Step::kJob:
    case Step::kReady:
      return conclude_operation(policy, state, OperationEnd::kFailed,
                                fmt::format("{}: nothing came of it within {}", to_string(step), waited));
    case Step::kVerify:
      return conclude_operation(policy, state, OperationEnd::kFailed,
                                fmt::format("verify: no canary could say anything within {}", waited));
    case Step::kPostReady:
      return close_operation(policy, state);
  }
}

MonoTime step_deadline(const Policy& policy, const Operation& operation) {
  switch (operation.step) {  // no default: a new step needs a deadline
    case Step::kEvidence:
      return operation.step_begun + kEvidenceDeadline;
    case Step::kLease:
      return operation.step_begun + kLeaseDeadline;
    case Step::kPreStop:
    case Step::kPostReady:
      return operation.step_begun + kHookDeadline;
    case Step::kDrain:
      return operation.step_begun +
             (operation.action == ActionKind::kRecycle ? policy.drain_recycle : policy.drain_restart);
    case Step::kJob:
      return operation.step_begun + policy.job_deadline;
    case Step::kReady:
      return operation.step_begun + policy.ready_deadline;
    case Step::kVerify:
      return operation.step_begun + policy.verify_deadline;
  }
  return operation.step_begun;
}

std::optional<MonoTime> operation_timer(const Policy& policy, const State& state) {
  if (!state.operation)
    return std::nullopt;
  const auto& operation = *state.operation;
  if (operation.step == Step::kReady && !operation.new_life.empty())
    return std::nullopt;
  return step_deadline(policy, operation);
}

}  // namespace fireboss::policy
