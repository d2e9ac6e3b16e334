#include "canary/plan/calibration.h"

#include <algorithm>
#include <vector>

namespace fireboss::canary {

Calibration calibrate(std::span<const Graded> calls) {
  Calibration result;
  std::vector<Millis> latencies;
  for (const Graded& call : calls) {
    switch (call.grade) {
      case Grade::kPass:
        ++result.calls;
        break;
      case Grade::kFail:
        ++result.calls;
        ++result.failures;
        break;
      case Grade::kInconclusive:
        ++result.inconclusive;
        continue;
    }
    if (call.signals.latency_ms) {
      latencies.emplace_back(*call.signals.latency_ms);
    }
  }
  result.rate = wilson(result.failures, result.calls);
  result.p50 = quantile(latencies, 0.50);
  result.p90 = quantile(latencies, 0.90);
  result.p99 = quantile(latencies, 0.99);
  result.slowest = quantile(latencies, 1.0);
  return result;
}

Deadlines deadlines_for(Millis p99) {
  constexpr int kMargin = 10;
  constexpr Millis kShortest{30'000};  // a cached prefix is lost at a restart, and the next call pays for it
  constexpr Millis kLongest{10 * 60'000};
  Deadlines deadlines;
  // Capped before it is multiplied: no overflow, whatever was measured.
  deadlines.total = std::clamp(std::min(p99, kLongest) * kMargin, kShortest, kLongest);
  deadlines.first_byte = deadlines.total;  // without streaming the first byte is the last
  deadlines.between = deadlines.total / 2;
  return deadlines;
}

}  // namespace fireboss::canary
