#pragma once
// What the state calls for, before anybody asks whether it may be done: the most urgent want, and what stands
// in its way.
#include <optional>
#include <string>
#include <vector>

#include "supervisor/policy/decision.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

struct Want {
  std::string about{};  // "down", "dead", "roles", "stall", "degraded", "asked", "recycle"
  ActionKind action = ActionKind::kRestart;
  std::string rule{};     // "R2", "R5", "R6", "recycle", "R4" (the operator's, not charged)
  std::string what{};     // what was seen
  std::string variant{};  // of "degraded"
  MonoTime evidence{};    // when it was seen last
  bool charged = true;
};

[[nodiscard]] std::optional<Want> wanted(const Policy& policy, const State& state);

// What is said about the want now; nothing if there is nothing new to say. The first is about the want
// itself.
[[nodiscard]] std::vector<Decision> arbitrate(const Policy& policy, const State& state);

// Remembers what was said, and marks the want as done where it is.
void settle_want(State& state, const Decision& decision);

// The text by which a decision about a want is recognised as the one that stands already.
[[nodiscard]] std::string standing_of(const Decision& decision);

}  // namespace fireboss::policy
