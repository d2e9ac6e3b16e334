#pragma once
// firebossd's own metrics in the Prometheus text format 0.0.4. Pure: numbers in, text out. Nothing of a
// reply, of a lease's holder or of an operator's words is on it; label values are names of the configuration
// and words of this program, so that the number of series is bounded by engines times variants.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "supervisor/app/engine_tally.h"
#include "supervisor/app/wall_offset.h"
#include "supervisor/policy/engine_state.h"

namespace fireboss::app {

// One engine as it is now. References outlive the call only.
struct EngineFacts {
  std::string name, unit;
  const policy::Policy& policy;
  const policy::State& state;
  const EngineTally& tally;
  bool watched = false;  // its unit has been looked at since this firebossd began
  std::int64_t records_waiting = 0;
  MonoTime last_progress{};
};

struct DaemonFacts {
  std::string version, decider_version, grader_version;
  WallTime started{};
  std::optional<Millis> cpu{};                    // of the process, user and system
  std::optional<std::uint64_t> resident_bytes{};  // of the process
  Millis loop_lag{0}, loop_lag_most{0};           // how late the loop's own timer came: newest, worst so far
  std::optional<std::uint64_t> database_bytes{}, wal_bytes{};
};

[[nodiscard]] std::string metrics_page(const DaemonFacts& daemon, const std::vector<EngineFacts>& engines,
                                       MonoTime now, const WallOffset& wall);

// What keeps the engine's want from being carried out: traffic, lease, group, operation, hold, own_fault,
// hardware_fault, evidence_too_old, budget, observe; "" if nothing is wanted or nothing is in its way.
[[nodiscard]] std::string_view blocker(const policy::Policy& policy, const policy::State& state);

// unknown, starting, serving, down, down_on_purpose.
[[nodiscard]] std::string_view state_name(const policy::State& state, bool watched);

}  // namespace fireboss::app
