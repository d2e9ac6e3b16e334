#include "supervisor/app/counter_edges.h"

namespace fireboss::app {
namespace {

// One failed scrape is a hiccup, two in a row are "unknown".
constexpr int kFailuresToTell = 2;
// The first sample with unchanged counters starts the policy's clock, the second proves that they stand
// still.
constexpr int kFrozenToTell = 2;

}  // namespace

bool CounterEdges::work_present(const policy::Counters& counters) {
  return counters.running.value_or(0) > 0 || counters.waiting.value_or(0) > 0;
}

bool CounterEdges::same(const policy::Counters& a, const policy::Counters& b) {
  return a.running == b.running && a.waiting == b.waiting && a.prompt_tokens == b.prompt_tokens &&
         a.generation_tokens == b.generation_tokens;
}

std::optional<policy::Counters> CounterEdges::emit(const policy::Counters& counters) {
  emitted_ = counters;
  return counters;
}

void CounterEdges::reset() {
  *this = CounterEdges(quiet_for_);
}

std::optional<policy::Counters> CounterEdges::on_poll(const policy::Counters& poll, MonoTime now) {
  if (poll.scrape_failed) {
    frozen_told_ = 0;
    last_.reset();
    idle_since_.reset();
    return ++failures_ == kFailuresToTell ? emit(poll) : std::nullopt;
  }
  const bool was_unknown = !emitted_ || emitted_->scrape_failed;
  failures_ = 0;
  const bool standing = last_ && same(*last_, poll);
  last_ = poll;
  if (was_unknown)
    return emit(poll);

  if (work_present(poll)) {
    idle_since_.reset();
    if (standing)
      return frozen_told_ < kFrozenToTell ? (++frozen_told_, emit(poll)) : std::nullopt;
    const bool was_told_frozen = frozen_told_ > 0;
    frozen_told_ = 0;
    return was_told_frozen || !work_present(*emitted_) ? emit(poll) : std::nullopt;
  }
  const bool was_told_frozen = frozen_told_ > 0;
  frozen_told_ = 0;
  if (!standing || !idle_since_)
    idle_since_ = now;
  if (same(*emitted_, poll))
    return std::nullopt;
  // Quiet is told once it has lasted; the end of a standstill at once.
  return was_told_frozen || now - *idle_since_ >= quiet_for_ ? emit(poll) : std::nullopt;
}

}  // namespace fireboss::app
