#include <algorithm>
#include <vector>

#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/operation.h"
#include "supervisor/policy/view.h"

namespace fireboss::policy {
namespace {

// An overdue recycle is told that often at most, however short overdue_after is.
constexpr Millis kDay{24 * 3'600'000};

// Two sorts of timers. One is consumed by reduce() and may be overdue (then it fires at once): `fires`. The
// other only marks the moment from which on the state reads differently; once that has passed it is no timer
// any more: `marks`.
class Timers {
 public:
  explicit Timers(MonoTime now) : now_(now) {}

  void fires(MonoTime at, const char* name) { offer(std::max(at, now_), name); }
  void marks(MonoTime at, const char* name) {
    if (at > now_)
      offer(at, name);
  }
  [[nodiscard]] std::optional<Timer> next() const { return next_; }

 private:
  void offer(MonoTime at, const char* name) {
    if (!next_ || at < next_->at)
      next_ = Timer{at, name};
  }

  MonoTime now_;
  std::optional<Timer> next_;
};

void life_timers(const Policy& policy, const State& state, Timers& timers) {
  const auto& life = *state.life;
  switch (life.end) {  // no default: a new end needs its timers
    case LifeEnd::kAlive:
      if (!life.ready)
        timers.marks(life.started + policy.ready_deadline, "late");
      break;
    case LifeEnd::kOnPurpose:
      timers.marks(life.ended + policy.maintenance_grace, "maintenance");
      break;
    case LifeEnd::kOurs:
      break;
    case LifeEnd::kDeath:
    case LifeEnd::kReplaced:
      timers.marks(start_due_at(policy, state), "dead");
      if (const auto since = start_awaited_since(state))
        timers.marks(*since + policy.ready_deadline, "late");
      break;
  }
  for (const auto& [role, since] : state.missing_roles)
    timers.marks(since + policy.census_confirm, "census");
  if (const auto still = standstill(policy, state); still && !state.traffic.stall_handled)
    timers.marks(still->due, "stall");
}

void canary_timers(const Policy& policy, const State& state, Timers& timers) {
  if (state.next_scheduled && ready(state))
    timers.fires(*state.next_scheduled, "canary");
  if (state.blocked_since)
    timers.marks(*state.blocked_since + blocked_alert_after(policy), "blocked");
  const auto lasting = [&](std::int64_t runs, const std::optional<MonoTime>& since) {
    if (runs >= 2 && since)
      timers.marks(*since + policy.inconclusive_alert_after, "inconclusive");
  };
  lasting(state.inconclusive_runs, state.inconclusive_since);
  for (const auto& [name, variant] : state.variants)
    lasting(variant.inconclusive_runs, variant.inconclusive_since);
}

void recycle_timers(const Policy& policy, const State& state, Timers& timers) {
  if (!alive(state))
    return;
  if (policy.max_age && state.recycle.next_check)
    timers.fires(*state.recycle.next_check, "recycle_check");
  if (state.recycle.due_since)
    timers.fires(*state.recycle.due_since + policy.overdue_after + kDay * state.recycle.overdue_told,
                 "overdue");
  const bool waits = state.recycle.due_since || (state.asked && state.asked->action == ActionKind::kRecycle);
  if (waits && traffic(policy, state, state.now) != Traffic::kQuiet)
    if (const auto quiet = quiet_at(policy, state, state.now))
      timers.marks(*quiet, "quiet");
}

void budget_timers(const Policy& policy, const State& state, Timers& timers) {
  const auto& charges =
      effective_mode(policy, state) == Mode::kObserve ? state.shadow_charges : state.charges;
  if (charges_in_window(policy, charges, state.now) >= policy.budget && policy.budget > 0)
    timers.marks(budget_free_at(policy, charges, state.now), "budget");
  for (const auto& charge : state.charges)
    if (charge.clean_at && !charge.spoiled && alive(state) && charge.life == state.life->id)
      timers.fires(*charge.clean_at + policy.useful_life, "useful_life");
}

}  // namespace

std::optional<Timer> next_timer(const Policy& policy, const State& state) {
  Timers timers(state.now);
  if (state.hold)
    timers.fires(state.hold->until, "hold");
  if (state.life)
    life_timers(policy, state, timers);
  canary_timers(policy, state, timers);
  recycle_timers(policy, state, timers);
  budget_timers(policy, state, timers);
  if (const auto at = operation_timer(policy, state))
    timers.fires(*at, "operation");
  if (const auto pause = pause_until(state))
    timers.marks(*pause, "pause");
  if (state.operation && !state.operation->outcome && state.operation->verify_again)
    timers.fires(*state.operation->verify_again, "verify");
  return timers.next();
}

std::optional<CanaryDue> canary_due(const State& state) {
  if (!ready(state) || state.in_flight || state.due.empty())
    return std::nullopt;
  const auto run = [&](const DueRun& due) {
    return CanaryDue{.variant = due.variant, .purpose = due.purpose, .life = state.life->id};
  };
  if (state.operation) {
    // The new life is being verified under the operation's own lock; whatever else is due waits for its end.
    if (state.operation->outcome || state.operation->step != Step::kVerify || state.operation->verify_again)
      return std::nullopt;
    return run(state.due.front());
  }
  if (!state.leases.empty())
    return std::nullopt;
  return run(state.due.front());
}

std::optional<StepDue> operation_step(const Policy& policy, const State& state) {
  if (!state.operation)
    return std::nullopt;
  const auto& operation = *state.operation;
  return StepDue{.action = operation.action,
                 .step = operation.step,
                 .life = operation.life,
                 .deadline = step_deadline(policy, operation)};
}

}  // namespace fireboss::policy
