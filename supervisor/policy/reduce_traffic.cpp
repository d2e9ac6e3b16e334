#include <algorithm>

#include "supervisor/policy/reduce.h"
#include "supervisor/policy/view.h"

namespace fireboss::policy {
namespace {

bool went_back(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& after) {
  return before && after && *after < *before;
}

bool moved(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& after) {
  return before != after;
}

// One kind of counter is followed: what was produced, or where only that is told, what was read.
std::optional<std::int64_t> produced(const std::optional<std::int64_t>& generation,
                                     const std::optional<std::int64_t>& prompt) {
  return generation ? generation : prompt;
}

}  // namespace

void reduce_counters(const Policy& policy, State& state, const Counters& event) {
  auto& t = state.traffic;
  if (event.scrape_failed) {
    t.scrape_failed = true;
    return;
  }
  if (t.sampled && (went_back(t.prompt_tokens, event.prompt_tokens) ||
                    went_back(t.generation_tokens, event.generation_tokens)))
    t = {};  // another process counts: what was known of the one before says nothing
  const bool first = !t.sampled;
  const auto before = produced(t.generation_tokens, t.prompt_tokens);
  const auto after = produced(event.generation_tokens, event.prompt_tokens);
  const bool any_moved = first || moved(t.prompt_tokens, event.prompt_tokens) ||
                         moved(t.generation_tokens, event.generation_tokens);

  if (first)
    t.since = state.now;
  if (!first && before && after && *after > *before)
    t.recent.push_back({.at = state.now, .tokens = *after - *before});
  std::erase_if(t.recent, [&](const TokenStep& step) { return state.now - step.at >= policy.quiet_for; });

  const bool work = event.running.value_or(0) > 0 || event.waiting.value_or(0) > 0;
  if (!work || !after) {
    t.still_since.reset();
    t.frozen = false;
    t.stall_handled = false;
  } else if (!t.still_since || any_moved) {
    t.still_since = state.now;
    t.frozen = false;
    t.stall_handled = false;
  } else {
    t.frozen = true;
  }
  t.sampled = true;
  t.scrape_failed = false;
  t.busy = event.busy;
  t.at = state.now;
  t.running = event.running;
  t.waiting = event.waiting;
  t.prompt_tokens = event.prompt_tokens;
  t.generation_tokens = event.generation_tokens;
}

void reduce_port_bytes(State& state, const PortBytes& event) {
  auto& t = state.traffic;
  t.bytes_sent = event.any_sent;
  t.bytes_at = state.now;
  if (event.any_sent) {
    t.bytes_moved = state.now;
    t.timed_out_runs = 0;
    t.stall_handled = false;
  }
}

}  // namespace fireboss::policy
