#pragma once
#include "base/time.h"

namespace fireboss::app {

// Monotonic times as unix times, for the metrics page. `now - time` of what it returns is the monotonic age,
// whatever the wall clock did in between: a step of the clock, or a suspend, moves all of them along. What a
// clock is slewed by stays unseen up to a second, so that a time that did not change is shown unchanged.
class WallOffset {
 public:
  void update(MonoTime mono, WallTime wall) {
    const auto offset = wall.time_since_epoch() - mono.time_since_epoch();
    const auto off_by = offset - offset_;
    if (off_by > kTolerated || off_by < -kTolerated)
      offset_ = offset;
  }
  [[nodiscard]] WallTime at(MonoTime mono) const { return WallTime{mono.time_since_epoch() + offset_}; }

 private:
  static constexpr Millis kTolerated{1'000};
  Millis offset_{0};
};

}  // namespace fireboss::app
