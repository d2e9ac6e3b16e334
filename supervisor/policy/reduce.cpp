#include "supervisor/policy/reduce.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/operation.h"
#include "supervisor/policy/view.h"
#include "supervisor/policy/want.h"

namespace fireboss::policy {
namespace {

constexpr std::size_t kDegradeAges = 32;

void reduce_lease(State& state, const Lease& event) {
  const bool held = !state.leases.empty();
  if (event.taken)
    state.leases[event.gpu + "/" + event.holder] = event.holder.empty() ? "unknown holder" : event.holder;
  else if (event.holder.empty())
    std::erase_if(state.leases, [&](const auto& lease) { return lease.first.starts_with(event.gpu + "/"); });
  else
    state.leases.erase(event.gpu + "/" + event.holder);
  if (held && state.leases.empty())
    state.leases_free_since = state.now;
}

void reduce_guard(State& state, const Guard& event) {
  const auto key = event.name + "/" + event.process;
  state.guards[key] = event.verdict;
  if (event.verdict == "proven")
    state.open_alerts.erase("R9/" + key);
}

void reduce_mode(const Policy& policy, State& state, const OperatorMode& event) {
  if (event.to == Mode::kEnforce && !calibrated(policy, state))
    return;
  if (event.to != effective_mode(policy, state)) {
    state.shadow_charges.clear();
    for (auto& [name, variant] : state.variants)
      if (variant.degraded)
        variant.degraded->would_told = false;
    state.recycle.handled = state.recycle.would_told = false;
  }
  state.mode = event.to;
}

void reduce_own_fault(State& state, const OwnFault& event) {
  if (!event.over) {
    state.own_faults.emplace(event.what, state.now);
    return;
  }
  state.own_faults.erase(event.what);
  state.open_alerts.erase("own_fault/" + std::string(to_string(event.what)));
}

bool is_configured(const Policy& policy, const std::string& variant) {
  return std::find(policy.variants.begin(), policy.variants.end(), variant) != policy.variants.end();
}

// What is asked no more cannot pass: nothing may be wanted of it or wait for it. What it was calibrated to
// stays.
void forget_unconfigured_variants(const Policy& policy, State& state) {
  std::erase_if(state.due, [&](const DueRun& due) { return !is_configured(policy, due.variant); });
  std::erase_if(state.full_canary_owed, [&](const auto& name) { return !is_configured(policy, name); });
  if (state.full_canary_owed.empty())
    state.open_alerts.erase("own_fault/restored");
  if (state.operation && !is_configured(policy, state.operation->variant))
    state.operation->variant.clear();  // any other one verifies it
  for (auto& [name, variant] : state.variants) {
    if (is_configured(policy, name))
      continue;
    variant = VariantState{.calibration = variant.calibration};
    for (const auto* kind : {"R3/", "R4/", "cusum/", "inconclusive/"})
      state.open_alerts.erase(kind + name);
  }
}

void reduce_configured(const Policy& policy, State& state, const Configured& event) {
  const bool other_suite = !state.suite_hash.empty() && state.suite_hash != event.suite_hash;
  state.policy_hash = event.policy_hash;
  state.suite_hash = event.suite_hash;
  if (event.mode)
    reduce_mode(policy, state, OperatorMode{*event.mode});
  if (state.next_scheduled)
    state.next_scheduled = std::min(*state.next_scheduled, state.now + policy.canary_every);
  if (state.recycle.next_check && state.life)
    state.recycle.next_check = next_after(state.life->started, policy.recycle_check_every, state.now);
  if (!policy.max_age)
    state.recycle.due_since.reset();
  forget_unconfigured_variants(policy, state);
  if (!other_suite)
    return;
  forget_findings(state);
  if (state.in_flight)
    state.in_flight->void_result = true;
  if (ready(state))
    make_all_due(policy, state);
}

// A restart that was followed by a clean life of useful_life did help: it costs nothing, and it is a habit.
void refund(const Policy& policy, State& state) {
  std::erase_if(state.charges, [&](const Charge& charge) {
    const bool earned = charge.clean_at && !charge.spoiled && alive(state) && charge.life == state.life->id &&
                        state.now - *charge.clean_at >= policy.useful_life;
    if (earned) {
      ++state.recurring;
      if (charge.degraded_at_age)
        state.degrade_ages.push_back(*charge.degraded_at_age);
    }
    return earned;
  });
  if (state.degrade_ages.size() > kDegradeAges)
    state.degrade_ages.erase(state.degrade_ages.begin());
}

void reduce_timer(const Policy& policy, State& state, const std::string& name) {
  if (name == "canary") {
    rotate(policy, state);
    if (state.next_scheduled)
      state.next_scheduled = next_after(*state.next_scheduled, policy.canary_every, state.now);
  } else if (name == "recycle_check") {
    auto& recycle = state.recycle;
    if (recycle.next_check)
      recycle.next_check = next_after(*recycle.next_check, policy.recycle_check_every, state.now);
    recycle.handled = false;
    if (policy.max_age && alive(state) && state.now - state.life->started >= *policy.max_age)
      recycle.due_since = recycle.due_since.value_or(state.now);
    else
      recycle.due_since.reset();
  } else if (name == "overdue") {
    ++state.recycle.overdue_told;
  } else if (name == "operation") {
    take_deadline(policy, state);
  } else if (name == "verify" && state.operation) {
    state.operation->verify_again.reset();
    if (state.operation->variant.empty())
      rotate(policy, state);
    else
      make_due(state, state.operation->variant, Purpose::kVerify);
  } else if (name == "useful_life") {
    refund(policy, state);
  }
  // Every other timer only marks that a moment has come; what follows is read off the state and the time.
}

struct Reducer {
  const Policy& policy;
  State& state;

  void operator()(const LifeStarted& e) const { reduce_life_started(policy, state, e); }
  void operator()(const Ready& e) const { reduce_ready(policy, state, e); }
  void operator()(const LifeEnded& e) const { reduce_life_ended(policy, state, e); }
  void operator()(const CanaryResult& e) const { reduce_canary_result(policy, state, e); }
  void operator()(const Counters& e) const { reduce_counters(policy, state, e); }
  void operator()(const PortBytes& e) const { reduce_port_bytes(state, e); }
  void operator()(const Lease& e) const { reduce_lease(state, e); }
  void operator()(const Census& e) const { reduce_census(policy, state, e); }
  void operator()(const Guard& e) const { reduce_guard(state, e); }
  void operator()(const Signature& e) const { reduce_signature(policy, state, e); }
  void operator()(const OperatorHold& e) const {
    state.hold = Hold{.begun = state.now, .until = state.now + e.length, .why = e.why};
  }
  void operator()(const OperatorResume&) const { state.hold.reset(); }
  void operator()(const OperatorRecycle&) const {
    state.asked = Asked{.action = ActionKind::kRecycle, .why = "", .at = state.now};
  }
  void operator()(const OperatorRestart& e) const {
    state.asked = Asked{.action = ActionKind::kRestart, .why = e.why, .at = state.now};
  }
  void operator()(const OperatorMode& e) const { reduce_mode(policy, state, e); }
  void operator()(const ActionOutcome& e) const { take_outcome(policy, state, e); }
  void operator()(const OwnFault& e) const { reduce_own_fault(state, e); }
  void operator()(const Suspended&) const {
    if (ready(state))
      rotate(policy, state);
  }
  void operator()(const DaemonStarted& e) const { reduce_daemon_started(policy, state, e); }
  void operator()(const Configured& e) const { reduce_configured(policy, state, e); }
  void operator()(const Calibrated& e) const {
    state.variants[e.variant].calibration = Calibration{.fingerprint = e.fingerprint,
                                                        .calls = e.calls,
                                                        .failures = e.failures,
                                                        .p50_ms = e.p50_ms,
                                                        .p99_ms = e.p99_ms};
  }
  void operator()(const CanaryBegun& e) const { reduce_canary_begun(state, e); }
  void operator()(const TimerDue& e) const { reduce_timer(policy, state, e.name); }
  void operator()(const Tick&) const {}
};

// What follows from the state as it is after any event.
void keep_house(const Policy& policy, State& state) {
  std::erase_if(state.charges, [&](const Charge& charge) {
    const bool refundable =
        charge.clean_at && !charge.spoiled && alive(state) && charge.life == state.life->id;
    return state.now - charge.at >= policy.budget_window && !refundable;
  });
  std::erase_if(state.shadow_charges,
                [&](const Charge& charge) { return state.now - charge.at >= policy.budget_window; });
  if (state.leases.empty())
    state.open_alerts.erase("lease/engine");
  if (ready(state) && !state.due.empty() && !state.leases.empty()) {
    state.blocked_since = state.blocked_since.value_or(state.now);
  } else {
    state.blocked_since.reset();
    state.open_alerts.erase("lease/canary");
  }
  if (state.asked && state.asked->action == ActionKind::kRestart &&
      state.now - state.asked->at > policy.evidence_max_age)
    state.asked.reset();
  if (!wanted(policy, state)) {
    state.standing.clear();
    state.waiting.reset();
  }
}

}  // namespace

void reduce_census(const Policy& policy, State& state, const Census& event) {
  if (!ready(state) || state.life->id != event.life)
    return;
  if (state.own_faults.contains(OwnFaultKind::kInspectionBlocked))
    return;  // what the inspector cannot see is no fault of the engine
  std::erase_if(state.missing_roles, [&](const auto& role) {
    return std::find(event.missing.begin(), event.missing.end(), role.first) == event.missing.end();
  });
  std::vector<std::string> dead;
  for (const auto& role : event.missing) {
    const auto since = state.missing_roles.emplace(role, state.now).first->second;
    if (state.now - since >= policy.census_confirm)
      dead.push_back(role);
  }
  if (dead.empty())
    state.dead_roles_handled = false;
  state.dead_roles = std::move(dead);
}

void reduce_signature(const Policy& policy, State& state, const Signature& event) {
  const bool of_current = state.life && state.life->id == event.life;
  if (!event.life.empty() && !of_current)
    return;
  if (event.signature_class == "gpu_fault_hw" || event.signature_class == "vram_held")
    state.hardware_fault =
        HardwareFault{.at = state.now, .signature_class = event.signature_class, .count = event.count};
  else if (event.signature_class == "engine_dead" && of_current && alive(state) && !state.journal_death) {
    // The log alone decides nothing: the engine is asked now instead of in half an hour.
    state.journal_death = state.now;
    if (ready(state))
      rotate(policy, state);
  }
}

State reduce(const Policy& policy, State state, const Event& event) {
  const auto* started = std::get_if<DaemonStarted>(&event.body);
  if (started != nullptr && (other_boot(state, *started) || event.at < state.now))
    shift_times(state, event.at - state.now);
  state.now = std::max(state.now, event.at);
  if (state.hold && state.hold->until <= state.now)
    state.hold.reset();
  std::visit(Reducer{policy, state}, event.body);
  keep_house(policy, state);
  return state;
}

}  // namespace fireboss::policy
