#pragma once
// The parts of reduce(), one per kind of event.
#include "supervisor/policy/event.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

// The first of `from`, `from` + `every`, ... that lies behind `now`; `every` is above 0. Not step by step: a
// life may be adopted at any age.
[[nodiscard]] inline MonoTime next_after(MonoTime from, Millis every, MonoTime now) {
  return from > now ? from : from + ((now - from) / every + 1) * every;
}

void reduce_life_started(const Policy& policy, State& state, const LifeStarted& event);
void reduce_ready(const Policy& policy, State& state, const Ready& event);
void reduce_life_ended(const Policy& policy, State& state, const LifeEnded& event);
void reduce_daemon_started(const Policy& policy, State& state, const DaemonStarted& event);
// Monotonic times of the boot before mean nothing in this one.
[[nodiscard]] bool other_boot(const State& state, const DaemonStarted& event);
// Moves every time of the state. After a reboot what was N ago at the last event is taken to be N ago now: no
// age grows by a jump, no charge of the budget is forgotten early.
void shift_times(State& state, Millis delta);
// An event names a life although none is known: the history begins in the middle of it.
void adopt_unknown_life(const Policy& policy, State& state, const std::string& life);
// What waited to be done to the life that is over is not done to the next one.
void drop_waiting(State& state);
void mark_ready(const Policy& policy, State& state);

void reduce_canary_begun(State& state, const CanaryBegun& event);
void reduce_canary_result(const Policy& policy, State& state, const CanaryResult& event);
// Makes a run due, once per variant; a confirming one goes first.
void make_due(State& state, const std::string& variant, Purpose purpose);
void make_all_due(const Policy& policy, State& state);
void rotate(const Policy& policy, State& state);  // the next variant in turn is due
// The suite changed, or the fingerprint: nothing of what was found before counts.
void forget_findings(State& state);
Baseline& current_baseline(State& state);

void reduce_counters(const Policy& policy, State& state, const Counters& event);
void reduce_port_bytes(State& state, const PortBytes& event);

void reduce_census(const Policy& policy, State& state, const Census& event);
void reduce_signature(const Policy& policy, State& state, const Signature& event);

}  // namespace fireboss::policy
