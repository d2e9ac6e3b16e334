#pragma once
// What a healthy engine does: how often it is wrong by itself, how long it takes, and the deadlines that
// follow.
#include <cstdint>
#include <span>

#include "base/time.h"
#include "canary/grade/grade.h"
#include "canary/plan/statistics.h"
#include "canary/suite/deadlines.h"

namespace fireboss::canary {

struct Calibration {
  std::int64_t calls = 0;  // conclusive ones: passes and failures
  std::int64_t failures = 0;
  std::int64_t inconclusive = 0;              // beside them; they say nothing about the rate
  Interval rate;                              // of failures, 95 %
  Millis p50{0}, p90{0}, p99{0}, slowest{0};  // latency of the conclusive calls
};

[[nodiscard]] Calibration calibrate(std::span<const Graded> calls);

// Ten times what 99 of 100 calls of a healthy engine need: calibration runs under today's load, and tomorrow
// is busier. Too long only delays: a timeout alone never restarts anything.
[[nodiscard]] Deadlines deadlines_for(Millis p99);

}  // namespace fireboss::canary
