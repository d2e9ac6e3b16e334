#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "supervisor/policy/names.h"
#include "supervisor/policy/operation.h"
#include "supervisor/policy/reduce.h"
#include "supervisor/policy/view.h"

namespace fireboss::policy {
namespace {

constexpr std::size_t kPastLives = 16;

void forget_life(State& state) {
  forget_findings(state);
  for (auto& [name, variant] : state.variants) {
    variant.last.reset();
    variant.last_conclusive.reset();
    variant.cusum_unats = 0;
    variant.cusum_told = false;
  }
  state.due.clear();
  state.next_scheduled.reset();
  state.blocked_since.reset();
  state.traffic = {};
  state.missing_roles.clear();
  state.dead_roles.clear();
  state.dead_roles_handled = false;
  state.journal_death.reset();
  state.guards.clear();
  state.recycle = {};
  state.asked.reset();
}

// Alerts about the life that is gone, or about the unit being down.
void resolve_life_alerts(State& state) {
  std::erase_if(state.open_alerts, [](const auto& alert) {
    const auto& key = alert.first;
    return key == "down_on_purpose" || key == "overdue" || key == "R7/late" || key == "lease/engine" ||
           key == "lease/canary" || key == "R6/stall" || key.starts_with("R9/") ||
           key.starts_with("cusum/") || key == "R6/limit";
  });
}

// What a life that begins means for the open operation.
void meet_operation(const Policy& policy, State& state, const std::string& life, LifeCause cause) {
  if (!state.operation || state.operation->outcome)
    return;
  auto& operation = *state.operation;
  const bool somebody_else = cause == LifeCause::kOperator || cause == LifeCause::kBoot;
  if (!operation.new_life.empty()) {
    conclude_operation(
        policy, state, somebody_else ? OperationEnd::kAbandoned : OperationEnd::kFailed,
        fmt::format("life {} took the place of {} before that was verified", life, operation.new_life));
    return;
  }
  if (operation.step < Step::kJob || (operation.step == Step::kJob && somebody_else)) {
    conclude_operation(policy, state, OperationEnd::kAbandoned,
                       fmt::format("the life changed to {} ({})", life, to_string(cause)));
    return;
  }
  operation.new_life = life;
  for (auto& charge : state.charges)
    if (charge.at == operation.begun)
      charge.life = life;
  if (operation.step == Step::kJob)
    enter_step(state, Step::kReady);
}

void begin_life(const Policy& policy, State& state, Life life) {
  if (state.life) {
    state.past_lives.push_back(state.life->id);
    if (state.past_lives.size() > kPastLives)
      state.past_lives.erase(state.past_lives.begin());
  }
  drop_waiting(state);
  meet_operation(policy, state, life.id, life.cause);
  forget_life(state);
  resolve_life_alerts(state);
  if (life.fingerprint)
    state.last_fingerprint = life.fingerprint;
  state.recycle.next_check = next_after(life.started, policy.recycle_check_every, state.now);
  state.life = std::move(life);
}

void learn_fingerprint(State& state, const std::optional<std::string>& fingerprint) {
  if (!fingerprint || state.life->fingerprint == fingerprint)
    return;
  const auto before = baseline_key(state);
  state.life->fingerprint = fingerprint;
  state.last_fingerprint = fingerprint;
  if (baseline_key(state) != before)
    forget_findings(state);
}

LifeEnd end_of(const LifeEnded& event, bool by_our_job) {
  // Our job is a restart job; one that is known to be another sort was somebody else's, and won.
  if (by_our_job && event.stop_job.value_or(true))
    return event.restart_job.value_or(true) ? LifeEnd::kOurs : LifeEnd::kOnPurpose;
  if (!event.stop_job.value_or(false))
    return LifeEnd::kDeath;
  return event.restart_job.value_or(false) ? LifeEnd::kReplaced : LifeEnd::kOnPurpose;
}

}  // namespace

void drop_waiting(State& state) {
  if (state.waiting)
    state.dropped = std::exchange(state.waiting, std::nullopt);
}

void adopt_unknown_life(const Policy& policy, State& state, const std::string& life) {
  if (!state.life && !life.empty())
    begin_life(policy, state, Life{.id = life, .started = state.now});
}

void reduce_life_started(const Policy& policy, State& state, const LifeStarted& event) {
  const auto started = state.now - event.age;
  if (alive(state) && state.life->id == event.life) {
    if (state.life->cause == LifeCause::kUnknown)
      state.life->cause = event.cause;
    state.life->started = std::min(state.life->started, started);
    learn_fingerprint(state, event.fingerprint);
    return;
  }
  if (known_past_life(state, event.life))
    return;
  begin_life(
      policy, state,
      Life{.id = event.life, .cause = event.cause, .fingerprint = event.fingerprint, .started = started});
}

void mark_ready(const Policy& policy, State& state) {
  state.life->ready = state.now;
  state.own_start_tried = false;
  // It came up, so the memory that somebody held is free again; a GPU that fell off the bus needs a right
  // answer.
  if (state.hardware_fault && state.hardware_fault->signature_class == "vram_held") {
    state.hardware_fault.reset();
    state.open_alerts.erase("R7/vram_held");
  }
  state.open_alerts.erase("R7/late");
  state.open_alerts.erase("R6/dead");
  state.open_alerts.erase("R4/dead");
  // In an operation's verify step the run of the variant that failed comes first.
  make_all_due(policy, state);
  state.rotation = 0;
  state.next_scheduled = state.now + policy.canary_every;
  if (!state.operation || state.operation->outcome)
    return;
  auto& operation = *state.operation;
  const bool ours = operation.new_life == state.life->id ||
                    (operation.new_life.empty() && operation.life != state.life->id);
  if (ours && (operation.step == Step::kJob || operation.step == Step::kReady)) {
    operation.new_life = state.life->id;
    enter_step(state, Step::kVerify);
    if (!operation.variant.empty())
      make_due(state, operation.variant, Purpose::kVerify);
  }
}

void reduce_ready(const Policy& policy, State& state, const Ready& event) {
  if (known_past_life(state, event.life) && !(state.life && state.life->id == event.life))
    return;
  if (!alive(state) || state.life->id != event.life) {
    if (state.life && state.life->id == event.life)
      return;  // it has ended already
    begin_life(policy, state, Life{.id = event.life, .started = state.now});
  }
  learn_fingerprint(state, event.fingerprint);
  if (!state.life->ready)
    mark_ready(policy, state);
}

void reduce_life_ended(const Policy& policy, State& state, const LifeEnded& event) {
  adopt_unknown_life(policy, state, event.life);
  if (!state.life || state.life->id != event.life)
    return;
  auto& life = *state.life;
  const bool limit = event.start_limit || event.result == "start-limit-hit";
  const bool first = life.end == LifeEnd::kAlive || (life.end_assumed && event.stop_job);
  const bool in_operation = state.operation && !state.operation->outcome;
  const bool ours = in_operation && state.operation->life == life.id && state.operation->new_life.empty();
  if (first) {
    drop_waiting(state);
    life.end_assumed = false;
    life.ended = state.now;
    life.end = end_of(event, ours && state.operation->step >= Step::kJob);
    life.exit_status = event.exit_status;
    state.due.clear();
    state.next_scheduled.reset();
    state.recycle = {};
    state.asked.reset();
    state.traffic = {};
    forget_findings(state);
    state.dead_roles.clear();
    state.missing_roles.clear();
    std::erase_if(state.open_alerts, [](const auto& alert) { return alert.first == "overdue"; });
  }
  // What was dead already, or waited for systemd to start it again, has been stopped: the operator wants it
  // so.
  const bool stopped_after = !first && life.end == LifeEnd::kDeath && event.stop_job.value_or(false) &&
                             !event.restart_job.value_or(false);
  if (stopped_after) {
    drop_waiting(state);
    life.end = LifeEnd::kOnPurpose;
    state.asked.reset();
    std::erase_if(state.open_alerts,
                  [](const auto& alert) { return alert.first == "R4/dead" || alert.first == "R6/dead"; });
  }
  life.result = event.result.empty() ? life.result : event.result;
  life.start_limit = life.start_limit || limit;
  life.auto_restart = event.auto_restart ? event.auto_restart : life.auto_restart;
  if (!in_operation)
    return;
  // A job that was not ours overtakes the operation at any step: that is no failure of it.
  if (state.operation->new_life == life.id)
    conclude_operation(policy, state,
                       life.end == LifeEnd::kDeath ? OperationEnd::kFailed : OperationEnd::kAbandoned,
                       fmt::format("life {} ended before it was verified", life.id));
  else if (ours && state.operation->step < Step::kJob &&
           (stopped_after || state.operation->action != ActionKind::kStart))
    conclude_operation(policy, state, OperationEnd::kAbandoned, "the life ended before the job was sent");
  else if (ours && life.end == LifeEnd::kOnPurpose)
    conclude_operation(policy, state, OperationEnd::kAbandoned,
                       "a stop job that was not ours ended the life");
  else if (ours && limit)
    conclude_operation(policy, state, OperationEnd::kFailed, "job: systemd's start limit was hit");
}

namespace {

// Due at once: the run that the end of firebossd cut off, and every variant whose last run measured nothing.
// What kept it from that may be just what this start has mended: a key, a prompt.
void ask_again(const Policy& policy, State& state, const std::optional<InFlight>& lost) {
  for (const auto& variant : policy.variants)
    if (const auto known = state.variants.find(variant);
        known != state.variants.end() && known->second.inconclusive_runs > 0)
      make_due(state, variant, Purpose::kScheduled);
  if (lost && lost->life == state.life->id)
    make_due(state, lost->variant, lost->purpose);
}

}  // namespace

void reduce_daemon_started(const Policy& policy, State& state, const DaemonStarted& event) {
  const bool rebooted = other_boot(state, event);
  if (rebooted) {
    state.leases.clear();
    state.hardware_fault.reset();
  }
  if (!event.boot.empty())
    state.boot = event.boot;
  if (event.restored)
    state.full_canary_owed = {policy.variants.begin(), policy.variants.end()};
  const auto lost = std::exchange(state.in_flight, std::nullopt);
  state.own_faults.clear();
  state.traffic.scrape_failed = true;  // nobody looked meanwhile
  state.traffic.busy.reset();
  std::erase_if(state.open_alerts, [](const auto& alert) { return alert.first.starts_with("own_fault/"); });

  // The record names an action that this state does not have: it is taken up where it was.
  if (event.pending && !state.operation)
    state.operation = Operation{.action = event.pending->action,
                                .rule = "R6",
                                .reason = "R6 taken over from the firebossd before",
                                .life = event.pending->life,
                                .begun = state.now,
                                .step = event.pending->step,
                                .step_begun = state.now};
  else if (event.pending && state.operation && !state.operation->outcome &&
           event.pending->step > state.operation->step)
    enter_step(state, event.pending->step);
  else if (!event.pending && state.operation)
    conclude_operation(policy, state, OperationEnd::kAbandoned, "the record knows no such action");

  const bool changed = event.life && !event.life->empty() &&
                       (!state.life || state.life->id != *event.life || state.life->end != LifeEnd::kAlive);
  const bool none = event.life && event.life->empty();
  if (changed && !known_past_life(state, *event.life)) {
    const auto cause = rebooted ? LifeCause::kBoot : LifeCause::kUnknown;
    if (!(state.life && state.life->id == *event.life))
      begin_life(policy, state, Life{.id = *event.life, .cause = cause, .started = state.now});
  } else if (none && alive(state)) {
    const bool ours = state.operation && state.operation->step >= Step::kJob;
    state.life->end = ours ? LifeEnd::kOurs : LifeEnd::kDeath;
    state.life->end_assumed = true;
    drop_waiting(state);
    state.life->ended = state.now;
    state.due.clear();
    state.next_scheduled.reset();
    state.traffic = {};
    forget_findings(state);
  }
  if (!changed && alive(state) && state.life->ready)
    ask_again(policy, state, lost);
  if (event.restored && ready(state))
    make_all_due(policy, state);  // nothing acts before, so it is not left to the schedule
  if (!state.operation || state.operation->outcome)
    return;
  auto& operation = *state.operation;
  if (none && operation.step >= Step::kJob) {
    conclude_operation(policy, state, OperationEnd::kFailed,
                       "firebossd ended in the middle of it and the engine is down");
  } else if (event.restored) {
    conclude_operation(policy, state, OperationEnd::kAbandoned,
                       "the record was restored and knows less than happened");
  } else if (operation.new_life.empty() && operation.step <= Step::kJob &&
             !(operation.step == Step::kJob && event.pending && event.pending->job_running)) {
    // It was not sent, or is done without a new life: it is never sent again.
    operation.cut_off = true;
    conclude_operation(
        policy, state, OperationEnd::kAbandoned,
        fmt::format("firebossd ended at the step {} and life {} is still the same",
                    to_string(event.pending ? event.pending->step : operation.step), operation.life));
  }
}

}  // namespace fireboss::policy
