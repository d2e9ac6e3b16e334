#pragma once
// The pure heart: state is a fold over events, decide() reads nothing but its arguments.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/policy/decision.h"
#include "supervisor/policy/event.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

// reduce: what the event says about the world. decide: what follows from it. apply: what the decision changes
// (an operation opened, the budget charged, an episode begun). step() is the three in that order.
[[nodiscard]] State reduce(const Policy& policy, State state, const Event& event);
[[nodiscard]] std::vector<Decision> decide(const Policy& policy, const State& state, const Event& event);
[[nodiscard]] State apply(State state, const Decision& decision);

struct Stepped {
  State state;
  std::vector<Decision> decisions{};
};
[[nodiscard]] Stepped step(const Policy& policy, State state, const Event& event);

// The next moment at which something comes due by time alone, strictly determined by the state. The shell (or
// the simulator) waits until then and feeds TimerDue{name} with at = that time, before any event of the same
// time.
struct Timer {
  MonoTime at{};
  std::string name{};
};
[[nodiscard]] std::optional<Timer> next_timer(const Policy& policy, const State& state);

// The canary run that is due by now, if any, and may be begun (engine ready, no operation but one in its
// verify step, no run in flight, not down on purpose).
struct CanaryDue {
  std::string variant{};
  Purpose purpose = Purpose::kScheduled;
  std::string life{};
};
[[nodiscard]] std::optional<CanaryDue> canary_due(const State& state);

// The step of the open operation that the shell has to carry out now; it answers with an ActionOutcome for
// evidence, lease, pre_stop, drain, job and post_ready, while ready and verify end by Ready and CanaryResult
// events.
struct StepDue {
  ActionKind action = ActionKind::kRestart;
  Step step = Step::kEvidence;
  std::string life{};  // the life the operation was opened for: re-read just before acting
  MonoTime deadline{};
};
[[nodiscard]] std::optional<StepDue> operation_step(const Policy& policy, const State& state);

}  // namespace fireboss::policy
