#pragma once
// Polls of an engine's counters thinned to their edges (design section 3.1): busy, quiet, unknown, frozen,
// moving again. Pure. Between two edges the policy may take for granted that nothing of that kind has
// changed.
#include <optional>

#include "base/time.h"
#include "supervisor/policy/event.h"

namespace fireboss::app {

class CounterEdges {
 public:
  explicit CounterEdges(Millis quiet_for) : quiet_for_(quiet_for) {}

  // The event this poll makes, if it is an edge.
  std::optional<policy::Counters> on_poll(const policy::Counters& poll, MonoTime now);
  // A new life: its counters begin anew.
  void reset();

 private:
  static bool work_present(const policy::Counters& counters);
  static bool same(const policy::Counters& a, const policy::Counters& b);
  std::optional<policy::Counters> emit(const policy::Counters& counters);

  Millis quiet_for_;
  std::optional<policy::Counters> last_, emitted_;
  int failures_ = 0;
  int frozen_told_ = 0;
  std::optional<MonoTime> idle_since_;
};

}  // namespace fireboss::app
