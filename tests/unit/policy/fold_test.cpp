// What must hold in every history, tried on thousands of random ones. The seed of a failing one is printed.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/codec.h"
#include "supervisor/policy/want.h"
#include "tests/unit/policy/random_history.h"

namespace fireboss::policy {
namespace {

using testing::Contains;

bool acts(const Decision& decision) {
  return decision.kind == DecisionKind::kRestart || decision.kind == DecisionKind::kRecycle;
}

void check_round_trip(const Policy& policy, const State& state, const Event& event) {
  const auto text = encode(state);
  const auto back = decode_state(text);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(*back, state);
  ASSERT_EQ(encode(*back), text);

  const auto encoded = encode(event.body);
  const auto body = decode_event(encoded.kind, encoded.version, encoded.payload);
  ASSERT_TRUE(body) << body.error().message;
  ASSERT_EQ(encode(*body).payload, encoded.payload);

  // The same future from what was read back.
  const auto one = step(policy, state, event);
  const auto other = step(policy, *back, {.at = event.at, .body = *body});
  ASSERT_EQ(one.state, other.state);
  ASSERT_EQ(one.decisions.size(), other.decisions.size());
  for (std::size_t i = 0; i < one.decisions.size(); ++i) {
    const auto payload = encode(one.decisions[i]);
    ASSERT_EQ(payload, encode(other.decisions[i]));
    const auto decision = decode_decision(payload);
    ASSERT_TRUE(decision) << decision.error().message;
    ASSERT_EQ(encode(*decision), payload);
  }
}

void check_decision(const Policy& policy, const State& before, const State& after, const Decision& decision) {
  static const std::vector<std::string> kFirstWords{"R1",
                                                    "R2",
                                                    "R3",
                                                    "R4",
                                                    "R5",
                                                    "R6",
                                                    "R7",
                                                    "R8",
                                                    "R9",
                                                    "recycle",
                                                    "recurring",
                                                    "cusum",
                                                    "overdue",
                                                    "inconclusive",
                                                    "lease",
                                                    "own_fault",
                                                    "down_on_purpose"};
  ASSERT_THAT(kFirstWords, Contains(decision.reason.substr(0, decision.reason.find_first_of(" :"))))
      << decision.reason;
  ASSERT_TRUE(decision.kind != DecisionKind::kDefer || decision.by.has_value());
  ASSERT_TRUE(decision.kind != DecisionKind::kHold || decision.until.has_value());
  ASSERT_TRUE(decision.kind != DecisionKind::kAlert || !decision.alert_key.empty());
  if (!acts(decision))
    return;
  // Never two operations: what was open has been closed by this very event.
  ASSERT_TRUE(!before.operation || before.operation->begun != after.operation->begun ||
              (after.last_operation && after.last_operation->at == after.now));
  ASSERT_TRUE(after.leases.empty()) << decision.reason;
  ASSERT_EQ(decision.life, after.life ? after.life->id : "");
  ASSERT_FALSE(after.own_faults.contains(OwnFaultKind::kBusLost)) << decision.reason;
  if (decision.about == "down")
    return;  // the rest of an operation that was begun
  ASSERT_FALSE(blocking_fault(after).has_value()) << decision.reason;
  ASSERT_EQ(effective_mode(policy, after), Mode::kEnforce) << decision.reason;
  ASSERT_FALSE(after.hold.has_value()) << decision.reason;
  ASSERT_LE(charges_in_window(policy, after.charges, after.now), policy.budget) << decision.reason;
  ASSERT_TRUE(decision.about == "asked" || !down_on_purpose(after)) << decision.reason;
  ASSERT_TRUE(decision.about == "asked" || !after.hardware_fault) << decision.reason;
  ASSERT_TRUE(after.full_canary_owed.empty()) << decision.reason;
  if (decision.about == "degraded") {
    ASSERT_TRUE(has_passed(after, decision.variant)) << decision.reason;
    const auto& degraded = after.variants.at(decision.variant).degraded;
    ASSERT_TRUE(degraded && after.now - degraded->at <= policy.evidence_max_age) << decision.reason;
  } else if (decision.about == "dead") {
    ASSERT_GE(after.now - after.life->ended, policy.dead_grace) << decision.reason;
    ASSERT_FALSE(after.life->start_limit || after.life->auto_restart.value_or(false)) << decision.reason;
  }
}

// An engine that Fireboss takes down always comes up again: it is wanted, or was tried and paged.
void check_own_end(const Policy& policy, const State& state) {
  if (!state.life || state.life->end != LifeEnd::kOurs || state.operation)
    return;
  const auto want = wanted(policy, state);
  if (state.own_start_tried)
    ASSERT_TRUE(state.open_alerts.contains("R6/dead"));
  else
    ASSERT_TRUE(want && want->about == "down" && want->action == ActionKind::kStart);
}

// Steps through one event and everything that follows by itself.
class CheckedRun {
 public:
  explicit CheckedRun(const Policy& policy) : policy_(policy) { state.assume_calibrated = true; }

  void step_checked(const Event& event) {
    const auto before = state;
    ASSERT_NO_FATAL_FAILURE(check_round_trip(policy_, before, event));
    auto stepped = step(policy_, before, event);
    state = stepped.state;
    int actions = 0;
    for (const auto& decision : stepped.decisions) {
      ASSERT_NO_FATAL_FAILURE(check_decision(policy_, before, state, decision));
      actions += acts(decision) ? 1 : 0;
      decisions += 1;
      restarts += acts(decision) ? 1U : 0U;
    }
    ASSERT_LE(actions, 1);
    ASSERT_NO_FATAL_FAILURE(check_own_end(policy_, state));
    own_ends += state.life && state.life->end == LifeEnd::kOurs ? 1U : 0U;
    const auto due = canary_due(state);
    if (due) {
      ASSERT_TRUE(ready(state));
      ASSERT_FALSE(state.in_flight.has_value());
      ASSERT_EQ(due->life, state.life->id);
      ASSERT_TRUE(state.operation ? state.operation->step == Step::kVerify : state.leases.empty());
    }
    const auto timer = next_timer(policy_, state);
    ASSERT_TRUE(!timer || timer->at >= state.now) << timer->name;
  }

  void timers_until(MonoTime to) {
    int at_once = 0;
    for (auto timer = next_timer(policy_, state); timer && timer->at <= to;
         timer = next_timer(policy_, state)) {
      at_once = timer->at == state.now ? at_once + 1 : 0;
      ASSERT_LT(at_once, 10) << "timer " << timer->name << " does not move on";
      ASSERT_NO_FATAL_FAILURE(step_checked({.at = timer->at, .body = TimerDue{timer->name}}));
      const auto next = next_timer(policy_, state);
      ASSERT_FALSE(next && next->at == timer->at && next->name == timer->name)
          << timer->name << " fires twice";
    }
  }

  State state;
  unsigned decisions = 0, restarts = 0, own_ends = 0;

 private:
  const Policy& policy_;
};

TEST(Fold, HoldsItsInvariantsInRandomHistories) {
  // FIREBOSS_FOLD_SEEDS=5000 looks much longer than every build has time for.
  const auto* const asked = std::getenv("FIREBOSS_FOLD_SEEDS");
  const unsigned seeds = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 100;
  unsigned restarts = 0, decisions = 0, own_ends = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomHistory history(seed);
    const auto policy = history.policy();
    CheckedRun run(policy);
    for (int i = 0; i < 60; ++i) {
      auto event = history.next();
      event.at = std::max(event.at, run.state.now);
      ASSERT_NO_FATAL_FAILURE(run.timers_until(event.at));
      ASSERT_NO_FATAL_FAILURE(run.step_checked(event));
      // The shell answers the steps that are its own, mostly well.
      for (auto due = operation_step(policy, run.state); due && due->step < Step::kJob;
           due = operation_step(policy, run.state))
        ASSERT_NO_FATAL_FAILURE(run.step_checked(
            {.at = event.at, .body = ActionOutcome{due->action, due->step, StepResult::kDone, ""}}));
    }
    restarts += run.restarts;
    own_ends += run.own_ends;
    decisions += run.decisions;
  }
  // The histories do reach what is checked.
  EXPECT_GT(restarts, seeds);
  EXPECT_GT(own_ends, seeds / 10);
  EXPECT_GT(decisions, 20 * seeds);
}

}  // namespace
}  // namespace fireboss::policy
