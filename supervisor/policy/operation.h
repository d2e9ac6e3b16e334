#pragma once
// The restart procedure as a state machine (design section 7). Opened by a decision, moved on by outcomes,
// lives and canaries; whoever concludes it names the end, and post_ready runs before it is closed.
#include <string>

#include "supervisor/policy/decision.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

void open_operation(State& state, const Decision& decision);

// On to the next step that this kind of operation has.
void advance_operation(const Policy& policy, State& state);
void enter_step(State& state, Step step);

// The end is known: post_ready is what is left, or nothing if pre_stop was never reached. The first end
// stands.
void conclude_operation(const Policy& policy, State& state, OperationEnd end, std::string detail);

// The shell's answer to a step.
void take_outcome(const Policy& policy, State& state, const ActionOutcome& outcome);
// The step's deadline has passed.
void take_deadline(const Policy& policy, State& state);

[[nodiscard]] MonoTime step_deadline(const Policy& policy, const Operation& operation);
// The deadline of a step that is watched by a timer; the ready step pages by the age of the life instead.
[[nodiscard]] std::optional<MonoTime> operation_timer(const Policy& policy, const State& state);

}  // namespace fireboss::policy
