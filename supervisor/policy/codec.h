#pragma once
// Events, decisions, states and policies as canonical JSON and back: what is written to the record, compared
// by replay and hashed. Whole numbers only: durations and times in ms, log-likelihoods in millionths. An
// optional without a value is left out. Payloads are never rewritten; a payload of an old version is lifted
// by pure functions while it is read (lift.h).
#include <string>
#include <string_view>

#include "base/result.h"
#include "supervisor/policy/decision.h"
#include "supervisor/policy/event.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

struct Encoded {
  std::string kind;  // "canary", "life_started", ...
  int version = 1;
  std::string payload;
};

[[nodiscard]] Encoded encode(const EventBody& body);
// kUnsupported: a kind or version that this program does not know; kCorrupt: not what was written.
[[nodiscard]] Result<EventBody> decode_event(std::string_view kind, int version, std::string_view payload);

[[nodiscard]] std::string encode(const Decision& decision);
[[nodiscard]] Result<Decision> decode_decision(std::string_view payload);

// The whole state; carries its own version. As an event of this kind it is a snapshot: replay begins at the
// oldest.
inline constexpr std::string_view kSnapshotKind = "snapshot";
inline constexpr int kStateVersion = 1;
[[nodiscard]] std::string encode(const State& state);
[[nodiscard]] Result<State> decode_state(std::string_view payload);

// Reads what canonical_text() wrote.
[[nodiscard]] Result<Policy> decode_policy(std::string_view text);

// Kept with every decision: changes whenever the same events could be decided differently.
[[nodiscard]] std::string_view decider_version();

}  // namespace fireboss::policy
