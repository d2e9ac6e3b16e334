#include <utility>

#include <fmt/format.h>

#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/judge.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/view.h"
#include "supervisor/policy/want.h"

namespace fireboss::policy {
namespace {

Decision said(DecisionKind kind, const State& state, std::string reason) {
  Decision decision;
  decision.kind = kind;
  decision.reason = std::move(reason);
  decision.life = state.life ? state.life->id : "";
  return decision;
}

// Who keeps a recycle that is due from going, in the order in which arbitrate() asks.
std::string recycle_blocker(const Policy& policy, const State& state) {
  if (state.operation)
    return "an operation";
  if (const auto fault = blocking_fault(state))
    return "our own fault " + std::string(to_string(*fault));
  if (!state.full_canary_owed.empty())
    return "a gap in the record, until a full canary has run";
  if (state.hold)
    return "a hold" + (state.hold->why.empty() ? "" : " (" + state.hold->why + ")");
  if (state.hardware_fault)
    return "a hardware fault (" + state.hardware_fault->signature_class + ")";
  if (const auto holder = lease_holder(state); !holder.empty())
    return "the lease of " + holder;
  if (state.in_flight)
    return "the canary run of " + state.in_flight->variant;
  if (traffic(policy, state, state.now) != Traffic::kQuiet)
    return "traffic (" + traffic_text(policy, state, state.now) + ")";
  if (effective_mode(policy, state) == Mode::kObserve)
    return "the mode observe";
  return "nothing";
}

struct Deciding {
  const Policy& policy;
  const State& state;
  std::vector<Decision>& out;

  void say(std::string reason) const {
    out.push_back(said(DecisionKind::kNoAction, state, std::move(reason)));
  }
  // Once an episode: not while the alert of that key is open.
  void alert(const std::string& key, Severity severity, std::string reason) const {
    if (!state.open_alerts.contains(key))
      alert_again(key, severity, std::move(reason));
  }
  void alert_again(const std::string& key, Severity severity, std::string reason) const {
    auto decision = said(DecisionKind::kAlert, state, std::move(reason));
    decision.severity = severity;
    decision.alert_key = key;
    out.push_back(std::move(decision));
  }

  void operator()(const CanaryResult& e) const;
  void operator()(const LifeEnded& e) const;
  void operator()(const Signature& e) const;
  void operator()(const Guard& e) const;
  void operator()(const Census& e) const;
  void operator()(const OwnFault& e) const;
  void operator()(const OperatorMode& e) const;
  void operator()(const TimerDue& e) const;
  void operator()(const LifeStarted&) const {}
  void operator()(const Ready&) const {}
  void operator()(const Counters&) const {}
  void operator()(const PortBytes&) const {}
  void operator()(const Lease&) const {}
  void operator()(const OperatorHold&) const {}
  void operator()(const OperatorResume&) const {}
  void operator()(const OperatorRecycle&) const {}
  void operator()(const OperatorRestart&) const {}
  void operator()(const ActionOutcome&) const {}
  void operator()(const Suspended&) const {}
  void operator()(const DaemonStarted& e) const {
    if (e.restored)
      alert_again("own_fault/restored", Severity::kWarning,
                  "own_fault the record was restored from a backup or another machine: its history has a "
                  "gap, what was "
                  "pending is dropped, and nothing is begun before every variant has been asked once");
  }
  void operator()(const Configured&) const {}
  void operator()(const Calibrated&) const {}
  void operator()(const CanaryBegun&) const {}
  void operator()(const Tick&) const {}

  void on_operation() const;
  void on_conditions() const;

 private:
  void on_failed_run(const std::string& name, const VariantState& variant, const Run& run) const;
  void on_closed(const Operation& operation, OperationEnd end, MonoTime at) const;
  void on_down() const;
  void on_inconclusive() const;
};

void Deciding::on_failed_run(const std::string& name, const VariantState& variant, const Run& run) const {
  if (confirm_wanted(policy, variant, run)) {
    auto decision = said(DecisionKind::kConfirm, state, "");
    decision.variant = name;
    decision.reason = fmt::format("R1 {}: no restart for that; confirming run {} of {} is due",
                                  run_text(name, run), variant.confirms + 1, policy.max_confirms);
    out.push_back(std::move(decision));
  } else if (run.failed > 0) {
    say(fmt::format("R1 {}: the finding stands, no further confirming run", run_text(name, run)));
  } else {
    say(fmt::format("inconclusive: {}; nothing measured is neither right nor wrong", run_text(name, run)));
  }
}

void Deciding::operator()(const CanaryResult& e) const {
  const auto found = state.variants.find(e.variant);
  const bool counted = alive(state) && state.life->id == e.life && found != state.variants.end() &&
                       found->second.last && found->second.last->at == state.now;
  if (!counted) {
    say(
        fmt::format("inconclusive life_changed: a run of {} belongs to life {}, which is over; it says "
                    "nothing about this one",
                    e.variant, e.life));
    return;
  }
  const auto& variant = found->second;
  const auto& run = *variant.last;
  if (run.degraded) {
    if (has_passed(state, e.variant))
      return;  // R2: a want of the state, arbitrated with the others
    const auto* baseline = find_baseline(state, baseline_key(state));
    const auto what = fmt::format(
        "R3 {}, and {} has never passed under this fingerprint: a restart cannot help; "
        "look at prompt, parser and flags",
        run_text(e.variant, run), e.variant);
    if (baseline != nullptr && baseline->alerted.contains(e.variant + "/" + run.verdict)) {
      say("R3 still: " + run_text(e.variant, run));
      return;
    }
    alert_again("R3/" + e.variant, Severity::kCritical, what);
    out.back().variant = e.variant;
    return;
  }
  if (run.failed > 0 || grade_run(policy, run) != RunGrade::kPass)
    on_failed_run(e.variant, variant, run);
  else if (out.empty())  // else this run has just been told as the verification of an operation
    say(fmt::format("R2 clean: {}", run_text(e.variant, run)));
}

void Deciding::operator()(const LifeEnded& e) const {
  if (!state.life || state.life->id != e.life)
    return;
  const auto& life = *state.life;
  const auto how =
      fmt::format("life {} ended after {}{}{}", life.id, humane_duration(life.ended - life.started),
                  life.result.empty() ? "" : ", result " + life.result,
                  life.exit_status ? fmt::format(", exit status {}", *life.exit_status) : "");
  switch (life.end) {  // no default: a new end must be spoken of
    case LifeEnd::kAlive:
    case LifeEnd::kOurs:
      return;
    case LifeEnd::kDeath:
      say(fmt::format("R6 a death, whatever the exit status says: {}; {}", how,
                      life.start_limit                    ? "systemd's start limit is hit"
                      : life.auto_restart.value_or(false) ? "systemd starts it again"
                                                          : "it is started if systemd does not within " +
                                                                format_duration(policy.dead_grace)));
      return;
    case LifeEnd::kOnPurpose:
      say(fmt::format("down_on_purpose: a stop job ended it; {}; nothing is repaired, the canary rests",
                      how));
      return;
    case LifeEnd::kReplaced:
      say(fmt::format("R6 a restart job that was not ours ended it: {}; its start is awaited", how));
      return;
  }
}

void Deciding::operator()(const Signature& e) const {
  const bool of_current = state.life && state.life->id == e.life;
  if (!e.life.empty() && !of_current)
    return;
  if (state.hardware_fault && e.signature_class == "gpu_fault_hw")
    alert("R7/gpu_fault_hw", Severity::kCritical,
          fmt::format(
              "R7 the log reports a hardware fault ({}, {} times): a restart is useless; look at the GPU and "
              "the host",
              e.signature_class, e.count));
  else if (e.signature_class == "vram_held")
    alert("R7/vram_held", Severity::kCritical,
          fmt::format(
              "R7 GPU memory is held by somebody else ({} times in the log): a restart is useless; find the "
              "holder with nvidia-smi",
              e.count));
  else
    say(fmt::format("R6 the log shows {} ({} times); alone it decides nothing", e.signature_class, e.count));
}

void Deciding::operator()(const Guard& e) const {
  const auto what =
      fmt::format("guard {} in {}: {}", e.name, e.process.empty() ? "the engine" : e.process, e.verdict);
  if (e.verdict == "not_loaded" || e.verdict == "stale" || e.verdict == "mismatch")
    alert("R9/" + e.name + "/" + e.process, Severity::kCritical,
          "R9 " + what + "; what is on disk proves nothing");
  else
    say("R9 " + what);
}

void Deciding::operator()(const Census& e) const {
  if (!ready(state) || state.life->id != e.life || state.missing_roles.empty() || !state.dead_roles.empty())
    return;
  std::string roles;
  for (const auto& [role, since] : state.missing_roles)
    roles.append(roles.empty() ? "" : ", ").append(role);
  say(fmt::format("R6 no process of {}: dead if a second look {} later finds none either", roles,
                  format_duration(policy.census_confirm)));
}

void Deciding::operator()(const OwnFault& e) const {
  if (!e.over)
    alert("own_fault/" + std::string(to_string(e.what)), Severity::kCritical,
          fmt::format("own_fault {}: trouble of the monitor, not of the engine{}", to_string(e.what),
                      e.what == OwnFaultKind::kInspectionBlocked ? "" : "; nothing is begun while it lasts"));
}

void Deciding::operator()(const OperatorMode& e) const {
  if (e.to == Mode::kEnforce && !calibrated(policy, state))
    out.push_back(
        said(DecisionKind::kRefuse, state,
             "R3 enforce is refused: not every variant is calibrated with at least 4 calls and at most 10 % "
             "failures; run 'fireboss canary calibrate'"));
}

void Deciding::operator()(const TimerDue& e) const {
  if (e.name == "recycle_check" && policy.max_age && alive(state) && !state.recycle.due_since)
    say(fmt::format("recycle not due: the life is younger than {}", format_duration(*policy.max_age)));
  if (e.name == "overdue" && state.recycle.due_since)
    alert_again(
        "overdue", Severity::kWarning,
        fmt::format("overdue: the recycle has been due for {} and is blocked by {}",
                    humane_duration(state.now - *state.recycle.due_since), recycle_blocker(policy, state)));
}

void Deciding::on_closed(const Operation& operation, OperationEnd end, MonoTime at) const {
  const auto what = operation.action == ActionKind::kRecycle
                        ? std::string("recycle")
                        : fmt::format("{} {}", operation.rule, to_string(operation.action));
  const auto took = humane_duration(at - operation.begun);
  Decision decision;
  switch (end) {  // no default: a new end must be spoken of
    case OperationEnd::kClean:
      decision =
          said(DecisionKind::kNoAction, state,
               fmt::format("{} verified clean {} after it was decided: {}", what, took, operation.detail));
      break;
    case OperationEnd::kNotHelped:
      decision = said(DecisionKind::kNoAction, state,
                      fmt::format("{} did not help: {}{}", what, operation.detail,
                                  operation.charged ? "; it stays charged" : ""));
      break;
    case OperationEnd::kAbandoned:
      decision = said(DecisionKind::kNoAction, state,
                      fmt::format("{} abandoned: {}; {}", what, operation.detail,
                                  down_on_purpose(state) ? "down_on_purpose, and left so"
                                                         : "fresh evidence decides anew"));
      break;
    case OperationEnd::kFailed:
      decision = said(DecisionKind::kAlert, state, fmt::format("{} failed: {}", what, operation.detail));
      decision.severity = Severity::kCritical;
      decision.alert_key = "operation";
      break;
  }
  decision.about = "operation";
  out.push_back(std::move(decision));
}

void Deciding::on_operation() const {
  if (state.dropped) {
    say(*state.dropped + " is abandoned: that life is over");
    out.back().about = "dropped";
  }
  if (state.last_operation && !state.last_operation->operation.told)
    on_closed(state.last_operation->operation, state.last_operation->end, state.last_operation->at);
  else if (state.operation && state.operation->outcome && !state.operation->told)
    on_closed(*state.operation, *state.operation->outcome, state.now);
}

void Deciding::on_down() const {
  const auto& life = *state.life;
  if (life.end == LifeEnd::kOnPurpose) {
    if (state.now - life.ended >= policy.maintenance_grace)
      alert("down_on_purpose", Severity::kWarning,
            fmt::format("down_on_purpose for {}: stopped by a stop job and not started since",
                        humane_duration(state.now - life.ended)));
    return;
  }
  if (life.end == LifeEnd::kOurs && state.own_start_tried && !state.operation)
    alert("R6/dead", Severity::kCritical,
          "R6 our restart took the engine down and it did not come up again, nor when started once more: it "
          "is down");
  if (life.end != LifeEnd::kDeath && life.end != LifeEnd::kReplaced)
    return;
  if (life.start_limit)
    alert("R6/limit", Severity::kCritical,
          "R6 systemd's start limit is hit and not by our hand: the engine stays down until 'systemctl "
          "reset-failed' "
          "and a start by somebody who knows the cause");
  if (const auto holder = lease_holder(state); !holder.empty() && life.auto_restart.value_or(false))
    alert("lease/engine", Severity::kCritical,
          fmt::format("lease of {} keeps the dead engine from starting: systemd's restart waits for it",
                      holder));
  if (const auto since = start_awaited_since(state); since && state.now - *since >= policy.ready_deadline)
    alert("R7/late", Severity::kCritical,
          fmt::format("R7 systemd was to start the engine again and has not for {}",
                      humane_duration(state.now - life.ended)));
}

void Deciding::on_inconclusive() const {
  const auto lasting = [&](std::int64_t runs, const std::optional<MonoTime>& since) {
    return runs >= policy.inconclusive_alert_runs ||
           (runs >= 2 && since && state.now - *since >= policy.inconclusive_alert_after);
  };
  if (lasting(state.inconclusive_runs, state.inconclusive_since)) {
    std::string why;
    for (const auto& [name, variant] : state.variants)
      if (variant.last && variant.inconclusive_runs > 0)
        why += (why.empty() ? "" : "; ") + run_text(name, *variant.last);
    alert("inconclusive", Severity::kWarning,
          fmt::format("inconclusive: {} runs in a row, for {}, said nothing about the answers: {}",
                      state.inconclusive_runs, humane_duration(state.now - *state.inconclusive_since), why));
    return;
  }
  if (state.open_alerts.contains("inconclusive"))
    return;
  for (const auto& [name, variant] : state.variants)
    if (lasting(variant.inconclusive_runs, variant.inconclusive_since))
      alert("inconclusive/" + name, Severity::kWarning,
            fmt::format("inconclusive: {} runs of {} in a row, for {}, said nothing: {}",
                        variant.inconclusive_runs, name,
                        humane_duration(state.now - *variant.inconclusive_since),
                        variant.last ? run_text(name, *variant.last) : "life changed"));
}

// What a state calls out for by itself, whatever the event was: each once an episode.
void Deciding::on_conditions() const {
  if (alive(state) && !state.life->ready && state.now - state.life->started >= policy.ready_deadline)
    alert("R7/late", Severity::kCritical,
          fmt::format("R7 not ready {} after its start: it is paged, never stopped for that",
                      humane_duration(state.now - state.life->started)));
  if (state.life && state.life->end != LifeEnd::kAlive)
    on_down();
  if (!down_on_purpose(state))
    on_inconclusive();
  if (state.blocked_since && state.now - *state.blocked_since >= blocked_alert_after(policy))
    alert("lease/canary", Severity::kWarning,
          fmt::format("lease of {} has kept the canary from running for {}", lease_holder(state),
                      humane_duration(state.now - *state.blocked_since)));
  for (const auto& [name, variant] : state.variants)
    if (variant.cusum_unats >= kCusumAlarm && !variant.cusum_told && !variant.degraded && variant.last &&
        !(policy.rule == Rule::kConfirm && confirm_wanted(policy, variant, *variant.last)))
      alert("cusum/" + name, Severity::kWarning,
            fmt::format(
                "cusum {} fails more often than when it was healthy, without being degraded in any one run "
                "(newest: {})",
                name, run_text(name, *variant.last)));
  if (state.recurring >= policy.recurring_at) {
    const auto typical = median(state.degrade_ages);
    alert("recurring", Severity::kWarning,
          fmt::format(
              "recurring: {} restarts helped for a while{}; a recycle before that age would spare the bad "
              "answers (recycle.max_age)",
              state.recurring,
              typical ? ", the median life to the next fault is " + humane_duration(*typical) : ""));
  }
}

}  // namespace

std::vector<Decision> decide(const Policy& policy, const State& state, const Event& event) {
  std::vector<Decision> out;
  const Deciding deciding{policy, state, out};
  deciding.on_operation();
  std::visit(deciding, event.body);
  deciding.on_conditions();
  const auto about_want = arbitrate(policy, state);
  out.insert(out.end(), about_want.begin(), about_want.end());
  return out;
}

}  // namespace fireboss::policy
