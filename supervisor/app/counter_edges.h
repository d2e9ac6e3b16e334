#pragma once
// Polls of an engine's counters thinned to their edges (design section 3.1): busy, quiet, unknown, frozen,
// moving again. Pure. Our own calls are not counted. Between two edges the policy may take for granted that
// nothing of that kind has changed.
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "supervisor/policy/event.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"
#include "supervisor/policy/view.h"

namespace fireboss::app {

// What of an engine's counters is the canary's doing. Prompt tokens are not told: engines differ in whether
// they count those that a cached prefix spared.
struct OwnCalls {
  std::int64_t in_flight = 0;          // requests that run now
  std::int64_t most_tokens = 0;        // that those and the next of their run may produce
  std::int64_t completion_tokens = 0;  // of calls that have ended, as their replies told them
};

class CounterEdges {
 public:
  // `policy` outlives it.
  explicit CounterEdges(const policy::Policy& policy) : policy_(&policy) {}

  // The event this poll makes, if it is an edge.
  std::optional<policy::Counters> on_poll(const policy::Counters& poll, const OwnCalls& own, MonoTime now);
  // A new life: its counters begin anew.
  void reset();

 private:
  static bool same(const policy::Counters& a, const policy::Counters& b);
  policy::Counters without(const OwnCalls& own, policy::Counters counters);

  const policy::Policy* policy_;
  // What the policy would know if it were told of every poll.
  policy::State seen_;
  std::optional<policy::Counters> last_;   // the engine's own word
  std::optional<policy::Traffic> told_;    // none: nothing, or that it is unknown
  std::int64_t generated_ = 0;             // tokens, by the engine's own counter
  std::optional<std::int64_t> foreign_{};  // ... that are not ours; never goes back
  std::int64_t own_before_ = 0;            // own tokens that the engine's counter does not hold
  int failures_ = 0;
  int frozen_told_ = 0;
};

}  // namespace fireboss::app
