#pragma once
// A written history of one engine (JSON lines) as events. The format: one object a line, "t" in seconds from
// the history's start, never falling, "event" and its fields; a field that is absent or null is unknown,
// never false. The first line may be {"config": {...}}, the engine's policy as in the TOML. Blank lines are
// skipped.
//
// Beyond what an operator sees, `port_bytes` (any_sent) and `canary_begun` (variant, life, purpose) may be
// written, and in life_ended restart_job and start_limit, in life_started age, in action_outcome detail.
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/policy/event.h"
#include "supervisor/policy/policy.h"

namespace fireboss::policy {

struct History {
  Policy policy;
  std::vector<Event> events;
  std::vector<std::string>
      errors;  // "FILE:LINE: what is wrong and what to write instead"; then nothing else counts
  std::vector<std::string> warnings;  // the same, for what is ignored
};

// `base` is what the config line is laid over. At most 64 MiB and 20 errors.
[[nodiscard]] History read_history(std::string_view text, const std::string& file, const Policy& base);

}  // namespace fireboss::policy
