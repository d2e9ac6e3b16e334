#include "supervisor/app/counter_edges.h"

#include <algorithm>

#include "supervisor/policy/reduce.h"

namespace fireboss::app {
namespace {

// One failed scrape is a hiccup, two in a row are "unknown".
constexpr int kFailuresToTell = 2;
// The first sample with unchanged counters starts the policy's clock, the second proves that they stand
// still.
constexpr int kFrozenToTell = 2;

}  // namespace

bool CounterEdges::same(const policy::Counters& a, const policy::Counters& b) {
  return a.running == b.running && a.waiting == b.waiting && a.prompt_tokens == b.prompt_tokens &&
         a.generation_tokens == b.generation_tokens;
}

void CounterEdges::reset() {
  *this = CounterEdges(*policy_);
}

policy::Counters CounterEdges::without(const OwnCalls& own, policy::Counters counters) {
  auto left = own.in_flight;
  for (auto* requests : {&counters.running, &counters.waiting})
    if (*requests) {
      const auto ours = std::min(left, **requests);
      **requests -= ours;
      left -= ours;
    }
  if (!counters.generation_tokens) {
    foreign_.reset();
    return counters;
  }
  if (*counters.generation_tokens < generated_) {  // another process counts
    own_before_ = own.completion_tokens;
    foreign_.reset();
  }
  generated_ = *counters.generation_tokens;
  // What is in flight may have produced up to its limit; what others produced meanwhile is seen once it has
  // ended.
  const auto foreign = std::max<std::int64_t>(
      0, *counters.generation_tokens - (own.completion_tokens - own_before_) - own.most_tokens);
  foreign_ = std::max(foreign_.value_or(foreign), foreign);
  counters.generation_tokens = foreign_;
  return counters;
}

std::optional<policy::Counters> CounterEdges::on_poll(const policy::Counters& poll, const OwnCalls& own,
                                                      MonoTime now) {
  if (poll.scrape_failed) {
    frozen_told_ = 0;
    last_.reset();
    if (++failures_ != kFailuresToTell)
      return std::nullopt;
    told_.reset();
    return poll;
  }
  failures_ = 0;
  const bool standing = last_ && same(*last_, poll);
  last_ = poll;
  seen_.now = now;
  policy::reduce_counters(*policy_, seen_, without(own, poll));
  const auto traffic = policy::traffic(*policy_, seen_, now);

  bool edge = told_ != traffic;
  // Whoever's request it is: one of ours that hangs shows a stall as well.
  if (standing && (poll.running.value_or(0) > 0 || poll.waiting.value_or(0) > 0)) {
    edge = edge || frozen_told_ < kFrozenToTell;
    frozen_told_ = std::min(frozen_told_ + 1, kFrozenToTell);
  } else {
    edge = edge || frozen_told_ > 0;
    frozen_told_ = 0;
  }
  if (!edge)
    return std::nullopt;
  told_ = traffic;
  auto event = poll;
  if (traffic != policy::Traffic::kUnknown)
    event.busy = traffic == policy::Traffic::kBusy;
  return event;
}

}  // namespace fireboss::app
