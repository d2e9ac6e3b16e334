#pragma once
// Runs a written history through the policy: the same step() as the daemon's, with the world around it
// played. Timers that are due at t fire before the event at t. Steps of an operation before `job`, and hooks,
// count as done at once. The engine counts as calibrated.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "supervisor/policy/decision.h"
#include "supervisor/policy/event.h"
#include "supervisor/policy/history.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

struct SimulatedDecision {
  MonoTime at;
  Decision decision;
};

struct Simulation {
  std::vector<SimulatedDecision> decisions;  // every one, in order
  std::vector<Event> events;                 // all that were fed, timers and steps included
  State state;                               // at the end
};

// `on_progress`, if given, is told now and then how many of all written events have been played.
[[nodiscard]] Simulation simulate(
    const History& history, const std::function<void(std::int64_t done, std::int64_t all)>& on_progress = {});

// One line a decision, consecutive identical ones once: {"t", "decision", "reason", "until"?, "by"?,
// "would"?}. Times in seconds from the history's start, whole where they are.
[[nodiscard]] std::vector<std::string> lines_of(const Simulation& simulation);

// The policy that a history begins with: the defaults, but enforce.
[[nodiscard]] Policy simulated_policy();

}  // namespace fireboss::policy
