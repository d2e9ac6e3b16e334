#pragma once
// The engine's policy as written in the configuration: the constants of the decision rules (design section
// 6).
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "supervisor/policy/event.h"

namespace fireboss::policy {

enum class Rule { kKOfN, kConfirm };
enum class OnExhausted { kKeepServing, kHook };

struct Policy {
  // [canary]
  Millis canary_every{30 * 60'000};
  int n = 4, k = 2;
  std::vector<std::string> variants{"chat", "chat-stream", "chat-cold"};
  Rule rule = Rule::kKOfN;
  int confirm_failures = 3;  // of 2n calls, for Rule::kConfirm
  int max_confirms = 2;      // confirming runs per scheduled run
  Millis evidence_max_age{10 * 60'000};
  Millis inconclusive_alert_after{2 * 3'600'000};
  int inconclusive_alert_runs = 4;
  Millis foreign_nonce_window{24 * 3'600'000};

  // [restart]
  int budget = 2;
  Millis budget_window{6 * 3'600'000};
  Millis useful_life{3'600'000};
  OnExhausted on_exhausted = OnExhausted::kKeepServing;
  Millis drain_restart{30'000}, drain_recycle{10 * 60'000};
  Millis ready_deadline{15 * 60'000};  // R7: pages, never stops
  Millis job_deadline{10 * 60'000};
  Millis verify_deadline{10 * 60'000};
  Millis dead_grace{10'000};  // R6: systemd's own start is awaited that long
  Millis census_confirm{5'000};

  // [stall]
  Millis stall_after{300'000};

  // [recycle]
  std::optional<Millis> max_age;
  Millis recycle_check_every{3'600'000};
  Millis overdue_after{24 * 3'600'000};
  Millis quiet_for{90'000};
  std::int64_t quiet_tokens = 64;

  // other
  Millis maintenance_grace{4 * 3'600'000};
  int recurring_at = 2;
  Mode mode = Mode::kObserve;  // the configured one; the operator's word overrides it
};

// Canonical JSON text of the policy (sorted keys, integers only) and its SHA-256 in hex are kept with every
// decision.
[[nodiscard]] std::string canonical_text(const Policy& policy);

}  // namespace fireboss::policy
