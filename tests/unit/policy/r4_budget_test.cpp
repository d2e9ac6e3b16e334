// R4: what a restart costs, when it is refunded, and what happens when the budget is used up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

bool restarts(const std::vector<Decision>& decisions) {
  return !said(decisions).empty() && said(decisions).back().starts_with("restart ");
}

class Budget : public ::testing::Test {
 protected:
  Budget() { engine_.healthy("a"); }

  std::string next_name() { return "l" + std::to_string(++lives_); }
  // The life degrades at t; if it is restarted, the new one is ready eleven seconds later.
  bool degrade_and_restart(double t) {
    if (!restarts(engine_.run(t, life_, 4)))
      return false;
    const auto next = next_name();
    engine_.restarted(t + 1, life_, next);
    life_ = next;
    return true;
  }

  Engine engine_;
  std::string life_ = "a";
  int lives_ = 0;
};

TEST_F(Budget, IsTwoInSixHoursAndALifeOfUsefulLengthIsAnHour) {
  EXPECT_EQ(Policy{}.budget, 2);
  EXPECT_EQ(Policy{}.budget_window, hours(6));
  EXPECT_EQ(Policy{}.useful_life, hours(1));
}

TEST_F(Budget, AllowsThatManyRestartsThatDoNotHelpAndNotOneMore) {
  for (int budget = 0; budget <= 3; ++budget) {
    SCOPED_TRACE(budget);
    engine_ = Engine();
    engine_.policy.budget = budget;
    engine_.healthy(life_ = "a");
    int done = 0;
    for (double t = 1000; t < 10'000; t += 100)
      done += degrade_and_restart(t) ? 1 : 0;
    EXPECT_EQ(done, budget);
    EXPECT_TRUE(alive(engine_.state)) << "it serves on";
    EXPECT_FALSE(engine_.state.operation.has_value());
    EXPECT_TRUE(engine_.state.open_alerts.contains("R4/chat"));
  }
}

TEST_F(Budget, PagesOnceAndThenSaysSo) {
  degrade_and_restart(1000);
  degrade_and_restart(1100);
  const auto page = engine_.run(1200, life_, 4);
  ASSERT_THAT(said(page), Contains("alert R4"));
  EXPECT_EQ(page.back().severity, Severity::kCritical);
  EXPECT_THAT(page.back().reason, HasSubstr("2 restarts within 6h did not help"));
  EXPECT_THAT(page.back().reason, HasSubstr("serves on"));
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(said(engine_.run(1300 + i * 100, life_, 4)), Each(StartsWith("no_action R4")));
}

TEST_F(Budget, IsFreeAgainExactlyAWindowAfterTheCharge) {
  degrade_and_restart(1000);
  degrade_and_restart(1100);
  engine_.run(1200, life_, 4);
  const double free = 1000 + 6 * 3600;
  EXPECT_FALSE(degrade_and_restart(free - 0.001));
  EXPECT_TRUE(degrade_and_restart(free));
  EXPECT_FALSE(degrade_and_restart(free + 99.999)) << "the second charge of 1100 still counts";
  EXPECT_TRUE(degrade_and_restart(free + 100));
}

TEST_F(Budget, CountsChargesByTheirAge) {
  Policy policy;
  const std::vector<Charge> charges{{.at = at(0)}, {.at = at(100)}};
  EXPECT_EQ(charges_in_window(policy, charges, at(21'599.999)), 2);
  EXPECT_EQ(charges_in_window(policy, charges, at(21'600)), 1);
  EXPECT_EQ(charges_in_window(policy, charges, at(21'700)), 0);
  EXPECT_EQ(budget_free_at(policy, charges, at(200)), at(21'600));
  EXPECT_EQ(budget_free_at(policy, charges, at(21'600)), at(21'600)) << "free already";
  policy.budget = 1;
  EXPECT_EQ(budget_free_at(policy, charges, at(200)), at(21'700));
  policy.budget = 3;
  EXPECT_EQ(budget_free_at(policy, charges, at(200)), at(200));
  policy.budget = 0;
  EXPECT_EQ(budget_free_at(policy, charges, at(200)), MonoTime::max());
}

TEST_F(Budget, IsNotSpentByEvidenceOfBeforeWhenItComesBack) {
  degrade_and_restart(1000);
  degrade_and_restart(1100);
  engine_.run(1200, life_, 4);
  EXPECT_FALSE(engine_.state.operation.has_value());
  engine_.run_until(1000 + 6 * 3600 + 600);
  EXPECT_FALSE(engine_.state.operation.has_value()) << "six hours old: only a new run decides";
}

TEST_F(Budget, KeepsADeadEngineDownAndStartsItWhenItComesBack) {
  degrade_and_restart(1000);
  degrade_and_restart(1100);
  engine_.died(1200, life_, false);
  const auto page = engine_.run_until(1210);
  ASSERT_THAT(said(page), ElementsAre("alert R4"));
  EXPECT_THAT(page.front().reason, HasSubstr("stays down"));
  EXPECT_THAT(said(engine_.run_until(1000 + 6 * 3600 - 0.001)), IsEmpty());
  EXPECT_THAT(said(engine_.run_until(1000 + 6 * 3600)), ElementsAre("restart R6"));
  EXPECT_EQ(engine_.state.operation->action, ActionKind::kStart);
}

// A clean verification at 1020 and useful_life after it: that restart has helped.
class Refund : public Budget {
 protected:
  Refund() {
    degrade_and_restart(1000);
    engine_.run(1020, life_, 0);
  }
  static constexpr double kEarned = 1020 + 3600;
};

TEST_F(Refund, ComesExactlyAUsefulLifeAfterTheCleanVerification) {
  engine_.run_until(kEarned - 0.001);
  EXPECT_EQ(engine_.state.charges.size(), 1U);
  EXPECT_EQ(engine_.state.recurring, 0);
  engine_.run_until(kEarned);
  EXPECT_TRUE(engine_.state.charges.empty());
  EXPECT_EQ(engine_.state.recurring, 1);
}

TEST_F(Refund, IsLostWhenTheLifeDegradesAMillisecondEarlier) {
  const auto decisions = engine_.run(kEarned - 0.001, life_, 4);
  ASSERT_THAT(said(decisions), ElementsAre("restart R2"));
  EXPECT_THAT(decisions.front().reason, HasSubstr("2 of 2 in 6h"));
  EXPECT_EQ(engine_.state.recurring, 0);
}

TEST_F(Refund, IsKeptWhenTheLifeDegradesAtThatMoment) {
  const auto decisions = engine_.run(kEarned, life_, 4);
  ASSERT_THAT(said(decisions), ElementsAre("restart R2"));
  EXPECT_THAT(decisions.front().reason, HasSubstr("1 of 2 in 6h"));
}

TEST_F(Refund, IsLostForGoodByAFindingInBetween) {
  engine_.feed(2000, OperatorHold{hours(1), "look at it"});
  engine_.run(2100, life_, 4);  // degraded, and held
  engine_.run(2200, life_, 0);  // right again
  engine_.run_until(kEarned + 3600);
  EXPECT_EQ(engine_.state.recurring, 0);
  EXPECT_EQ(engine_.state.charges.size(), 1U);
}

TEST_F(Refund, IsLostWhenTheLifeEndsBefore) {
  engine_.died(kEarned - 1, life_, true);
  engine_.start(kEarned - 0.5, "z");
  engine_.ready(kEarned + 10, "z");
  engine_.run(kEarned + 20, "z", 0);
  engine_.run_until(kEarned + 7200);
  EXPECT_EQ(engine_.state.recurring, 0);
  EXPECT_EQ(engine_.state.charges.size(), 1U);
}

TEST_F(Refund, CountsFromTheCleanRunNotFromTheRestart) {
  Engine engine;
  engine.healthy("a");
  engine.run(1000, "a", 4);
  engine.restarted(1001, "a", "b");
  engine.inconclusive(1020, "b", "busy");
  engine.run(1500, "b", 0);
  engine.run_until(1500 + 3599.999);
  EXPECT_EQ(engine.state.recurring, 0);
  engine.run_until(1500 + 3600);
  EXPECT_EQ(engine.state.recurring, 1);
}

TEST_F(Refund, NeedsAPassOfTheVariantThatFailed) {
  Engine engine;
  engine.policy.variants = {"chat", "chat-stream"};
  engine.healthy("a");
  engine.run(1000, "a", 4);
  engine.restarted(1001, "a", "b");
  engine.run(1020, "b", 0, "chat-stream");
  engine.run_until(1500);
  EXPECT_TRUE(engine.state.operation.has_value()) << "not verified yet";
  EXPECT_FALSE(engine.state.charges.front().clean_at.has_value());
  engine.run(1501, "b", 0, "chat");
  EXPECT_EQ(engine.state.charges.front().clean_at, at(1501));
}

TEST_F(Refund, ReachesBeyondTheWindow) {
  Engine engine;
  engine.policy.useful_life = engine.policy.budget_window;
  engine.healthy("a");
  engine.run(1000, "a", 4);
  engine.restarted(1001, "a", "b");
  engine.run(1020, "b", 0);
  engine.run_until(1020 + 6 * 3600);
  EXPECT_EQ(engine.state.recurring, 1) << "the charge of 1000 is older than the window by then";
  EXPECT_TRUE(engine.state.charges.empty());
}

TEST_F(Refund, MakesARecurringAlertAtTheSecondWithTheMedianTimeToDegrade) {
  engine_.run_until(kEarned);
  EXPECT_FALSE(engine_.state.open_alerts.contains("recurring")) << "once is no habit";
  // The life of 1002 degrades at 10'000 and its successor is clean for an hour.
  degrade_and_restart(10'000);
  engine_.run(10'020, life_, 0);
  EXPECT_THAT(said(engine_.run_until(10'020 + 3599.999)), Not(Contains("alert recurring")));
  const auto decisions = engine_.run_until(10'020 + 3600);
  ASSERT_THAT(said(decisions), ElementsAre("alert recurring"));
  // 1000 s and 8998 s: the lower one of two.
  EXPECT_THAT(decisions.front().reason, HasSubstr("2 restarts"));
  EXPECT_THAT(decisions.front().reason, HasSubstr("recycle.max_age"));
  EXPECT_THAT(decisions.front().reason, HasSubstr(humane_duration(seconds(1000))));
}

TEST_F(Refund, DegradesEveryThreeHoursForADayAndIsNeverLeftServingGarbage) {
  double t = 1020;
  int done = 0;
  for (int i = 0; i < 8; ++i) {
    t += 3 * 3600;
    ASSERT_TRUE(degrade_and_restart(t)) << i;
    engine_.run(t + 20, life_, 0);
    ++done;
  }
  EXPECT_EQ(done, 8);
  EXPECT_FALSE(engine_.state.open_alerts.contains("R4/chat"));
  EXPECT_TRUE(engine_.state.open_alerts.contains("recurring"));
}

TEST_F(Budget, IsUsedUpByAnEngineThatDegradesSoonerThanAUsefulLifeAndThePageSaysSo) {
  int done = 0;
  double t = 1000;
  std::string page;
  for (; t < 20'000; t += 2400) {
    const auto decisions = engine_.run(t, life_, 4);
    if (restarts(decisions)) {
      ++done;
      const auto next = next_name();
      engine_.restarted(t + 1, life_, next);
      life_ = next;
      engine_.run(t + 20, life_, 0);
    } else if (page.empty()) {
      page = decisions.back().reason;
    }
  }
  EXPECT_EQ(done, 2);
  EXPECT_THAT(page, StartsWith("R4 budget used up"));
  EXPECT_THAT(page, HasSubstr("a life counts as useful from 1h"));
}

// What is charged at all.
TEST_F(Budget, ChargesNoOperationThatEndedBeforeItsJob) {
  for (const auto step : {Step::kEvidence, Step::kLease, Step::kPreStop}) {
    SCOPED_TRACE(to_string(step));
    engine_ = Engine();
    engine_.healthy("a");
    engine_.one(at(1000), CanaryResult{"chat", "a", {"leak", "leak", "leak", "leak"}, {}});
    while (engine_.state.operation->step != step)
      engine_.one(at(1000),
                  ActionOutcome{ActionKind::kRestart, engine_.state.operation->step, StepResult::kDone, ""});
    ASSERT_EQ(engine_.state.charges.size(), 1U);
    engine_.one(at(1001), ActionOutcome{ActionKind::kRestart, step, StepResult::kFailed, ""});
    EXPECT_TRUE(engine_.state.charges.empty());
  }
}

TEST_F(Budget, ChargesAJobThatFailedAndNoneThatWasCanceled) {
  for (const auto result : {StepResult::kFailed, StepResult::kTimeout, StepResult::kCanceled}) {
    engine_ = Engine();
    engine_.healthy("a");
    engine_.run(1000, "a", 4);
    engine_.feed(1001, ActionOutcome{ActionKind::kRestart, Step::kJob, result, ""});
    EXPECT_EQ(engine_.state.charges.size(), result == StepResult::kCanceled ? 0U : 1U) << to_string(result);
  }
}

TEST_F(Budget, DoesNotLimitTheOperatorNorIsItSpentByThem) {
  engine_.policy.budget = 0;
  const auto decisions = engine_.feed(1000, OperatorRestart{"new driver"});
  EXPECT_THAT(said(decisions), ElementsAre("restart R4"));
  EXPECT_FALSE(decisions.front().charged);
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_F(Budget, IsTheRealOneAndNotTheShadowsInEnforce) {
  degrade_and_restart(1000);
  EXPECT_EQ(engine_.state.charges.size(), 1U);
  EXPECT_TRUE(engine_.state.shadow_charges.empty());
}

TEST_F(Budget, IsNotSpentByARecycle) {
  engine_.policy.budget = 0;
  engine_.feed(990, Counters{.running = 0, .waiting = 0, .prompt_tokens = 1, .generation_tokens = 1});
  EXPECT_THAT(said(engine_.feed(1100, OperatorRecycle{})), ElementsAre("recycle recycle"));
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_F(Budget, IsSpentByStallsDeathsAndRolesAsByDegradation) {
  engine_.counters(1000, 1, 5);
  engine_.counters(1015, 1, 5);
  EXPECT_THAT(said(engine_.run_until(1300)), ElementsAre("restart R5"));
  EXPECT_EQ(engine_.state.charges.size(), 1U);
  engine_.restarted(1301, "a", "b");
  engine_.run(1320, "b", 0);
  engine_.feed(1400, Census{"b", {"worker"}});
  EXPECT_THAT(said(engine_.feed(1405, Census{"b", {"worker"}})), ElementsAre("restart R6"));
  EXPECT_EQ(engine_.state.charges.size(), 2U);
  engine_.restarted(1406, "b", "c");
  engine_.run(1420, "c", 0);
  engine_.died(1500, "c", false);
  EXPECT_THAT(said(engine_.run_until(1510)), ElementsAre("alert R4"));
}

TEST(Median, IsTheMiddleOneAndTheLowerOfTwo) {
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(median({seconds(5)}), seconds(5));
  EXPECT_EQ(median({seconds(9), seconds(5)}), seconds(5));
  EXPECT_EQ(median({seconds(9), seconds(1), seconds(5)}), seconds(5));
  EXPECT_EQ(median({seconds(9), seconds(1), seconds(5), seconds(7)}), seconds(5));
}

}  // namespace
}  // namespace fireboss::policy
