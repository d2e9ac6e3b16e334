// Observe and enforce: one decision path, what would have been done, the shadow budget, calibration; and
// lasting inconclusiveness.
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

class Observe : public ::testing::Test {
 protected:
  Observe() {
    engine_.policy.mode = Mode::kObserve;
    engine_.healthy("a");
  }
  Engine engine_;
};

TEST_F(Observe, IsHowAnEngineStarts) {
  EXPECT_EQ(Policy{}.mode, Mode::kObserve);
}

TEST_F(Observe, DecidesWhatItWouldDoChargesTheShadowBudgetAndTouchesNothing) {
  const auto decisions = engine_.run(1000, "a", 4);
  ASSERT_THAT(said(decisions), ElementsAre("no_action R2"));
  EXPECT_EQ(decisions.front().would, DecisionKind::kRestart);
  EXPECT_THAT(decisions.front().reason, HasSubstr("observe: would restart life a"));
  EXPECT_FALSE(engine_.state.operation.has_value());
  EXPECT_TRUE(engine_.state.charges.empty());
  EXPECT_EQ(engine_.state.shadow_charges.size(), 1U);
}

TEST_F(Observe, SaysItOnceAnEpisodeWhichARightAnswerEnds) {
  engine_.run(1000, "a", 4);
  for (int i = 1; i < 5; ++i) {
    const auto again = engine_.run(1000 + i, "a", 4);
    EXPECT_THAT(said(again), Each(StartsWith("no_action R2")));
    for (const auto& decision : again)
      EXPECT_FALSE(decision.would.has_value());
  }
  EXPECT_EQ(engine_.state.shadow_charges.size(), 1U);
  engine_.run(1100, "a", 0);
  EXPECT_EQ(engine_.run(1200, "a", 4).front().would, DecisionKind::kRestart);
  EXPECT_EQ(engine_.state.shadow_charges.size(), 2U);
}

TEST_F(Observe, PagesWhenTheShadowBudgetIsUsedUpAndAWindowLaterNoMore) {
  for (const double t : {1000.0, 1200.0}) {
    engine_.run(t, "a", 4);
    engine_.run(t + 100, "a", 0);
  }
  EXPECT_THAT(said(engine_.run(1400, "a", 4)), ElementsAre("alert R4"));
  engine_.run(1500, "a", 0);
  EXPECT_THAT(said(engine_.run(1000 + 6 * 3600 - 0.001, "a", 4)), ElementsAre("alert R4"));
  engine_.run(1000 + 6 * 3600 - 0.001, "a", 0);
  EXPECT_EQ(engine_.run(1000 + 6 * 3600, "a", 4).front().would, DecisionKind::kRestart);
}

TEST_F(Observe, SaysADeathARecycleAndTheOperatorsWordTheSameWay) {
  Engine dead = engine_;
  dead.died(1000, "a", false);
  auto decisions = dead.run_until(1010);
  ASSERT_THAT(said(decisions), ElementsAre("no_action R6"));
  EXPECT_EQ(decisions.front().would, DecisionKind::kRestart);
  EXPECT_THAT(said(dead.run_until(5000)), IsEmpty()) << "once";

  Engine recycle = engine_;
  recycle.policy.max_age = hours(1);
  recycle.counters(3000, 0, 1);
  decisions = recycle.run_until(3600);
  ASSERT_THAT(said(decisions), ElementsAre("no_action recycle"));
  EXPECT_EQ(decisions.front().would, DecisionKind::kRecycle);
  EXPECT_TRUE(recycle.state.shadow_charges.empty()) << "a recycle is not charged";
  for (const auto& decision : recycle.run_until(9 * 3600))
    EXPECT_FALSE(decision.would.has_value()) << "once a life";

  Engine asked = engine_;
  decisions = asked.feed(1000, OperatorRestart{""});
  ASSERT_THAT(said(decisions), ElementsAre("no_action R4"));
  EXPECT_EQ(decisions.front().would, DecisionKind::kRestart);
  EXPECT_FALSE(asked.state.asked.has_value());
}

TEST_F(Observe, ActsOnNothingOldWhenItBecomesEnforce) {
  engine_.run(1000, "a", 4);
  EXPECT_THAT(said(engine_.feed(1001, OperatorMode{Mode::kEnforce})), IsEmpty());
  EXPECT_FALSE(engine_.state.operation.has_value()) << "only fresh evidence";
  EXPECT_TRUE(engine_.state.shadow_charges.empty()) << "what was only wished costs nothing";
  EXPECT_THAT(said(engine_.run(1010, "a", 4)), ElementsAre("restart R2"));
}

TEST(Enforce, BecomesObserveAtTheOperatorsWordAndFollowsWhatWasBegunToItsEnd) {
  Engine engine;
  engine.healthy("a");
  engine.run(1000, "a", 4);
  engine.feed(1001, OperatorMode{Mode::kObserve});
  ASSERT_TRUE(engine.state.operation.has_value());
  engine.restarted(1002, "a", "b");
  engine.run(1020, "b", 0);
  EXPECT_FALSE(engine.state.operation.has_value());
  EXPECT_EQ(engine.run(1030, "b", 4).front().would, DecisionKind::kRestart);
  EXPECT_FALSE(engine.state.operation.has_value());
}

// Enforce is refused until calibrated.
class Uncalibrated : public ::testing::Test {
 protected:
  Uncalibrated() {
    engine_.state.assume_calibrated = false;
    engine_.policy.variants = {"chat", "chat-stream"};
    engine_.healthy("a");
    engine_.run(96, "a", 0, "chat-stream");
  }
  void calibrate(const std::string& variant, std::int64_t failures, std::int64_t calls = 40) {
    engine_.feed(200,
                 Calibrated{.variant = variant, .fingerprint = "f", .calls = calls, .failures = failures});
  }

  Engine engine_;
};

TEST_F(Uncalibrated, ObservesWhateverTheConfigurationSays) {
  EXPECT_EQ(effective_mode(engine_.policy, engine_.state), Mode::kObserve);
  const auto decisions = engine_.run(1000, "a", 4);
  ASSERT_THAT(said(decisions), ElementsAre("no_action R2"));
  EXPECT_THAT(decisions.front().reason, HasSubstr("observe until calibrated"));
  EXPECT_FALSE(engine_.state.operation.has_value());
}

TEST_F(Uncalibrated, RefusesTheOperatorsEnforceAndRemembersNoneOfIt) {
  engine_.policy.mode = Mode::kObserve;
  EXPECT_THAT(said(engine_.feed(100, OperatorMode{Mode::kEnforce})), ElementsAre("refuse R3"));
  calibrate("chat", 0);
  calibrate("chat-stream", 0);
  EXPECT_EQ(effective_mode(engine_.policy, engine_.state), Mode::kObserve);
  EXPECT_THAT(said(engine_.feed(300, OperatorMode{Mode::kEnforce})), IsEmpty());
  EXPECT_EQ(effective_mode(engine_.policy, engine_.state), Mode::kEnforce);
}

TEST_F(Uncalibrated, NeedsEveryVariant) {
  calibrate("chat", 0);
  EXPECT_FALSE(calibrated(engine_.policy, engine_.state));
  EXPECT_EQ(effective_mode(engine_.policy, engine_.state), Mode::kObserve);
  calibrate("chat-stream", 0);
  EXPECT_EQ(effective_mode(engine_.policy, engine_.state), Mode::kEnforce);
}

TEST_F(Uncalibrated, IsAVariantThatFailedMoreThanATenthOfItsCallsWhileHealthy) {
  EXPECT_TRUE(few_enough_failures(0, 40));
  EXPECT_TRUE(few_enough_failures(4, 40)) << "exactly a tenth";
  EXPECT_FALSE(few_enough_failures(5, 40));
  EXPECT_FALSE(few_enough_failures(0, 0)) << "nothing measured is never success";
  EXPECT_FALSE(few_enough_failures(101, 1000));
  calibrate("chat", 5);
  calibrate("chat-stream", 0);
  EXPECT_FALSE(calibrated(engine_.policy, engine_.state));
  calibrate("chat", 4);
  EXPECT_TRUE(calibrated(engine_.policy, engine_.state));
}

TEST_F(Uncalibrated, IsAVariantOfWhichFewerThanFourCallsAreKnown) {
  calibrate("chat", 0);
  calibrate("chat-stream", 0, 3);
  EXPECT_FALSE(calibrated(engine_.policy, engine_.state));
  EXPECT_THAT(said(engine_.feed(300, OperatorMode{Mode::kEnforce})), ElementsAre("refuse R3"));
  calibrate("chat-stream", 0, 4);
  EXPECT_TRUE(calibrated(engine_.policy, engine_.state));
}

// Lasting inconclusiveness alerts: after 4 runs, or after 2 h of them.
class Inconclusive : public ::testing::Test {
 protected:
  Inconclusive() {
    engine_.policy.variants = {"chat", "chat-stream"};
    engine_.policy.canary_every = hours(24);
    engine_.healthy("a");
    engine_.run(96, "a", 0, "chat-stream");
  }
  bool alerted(double t, const std::string& variant = "chat") {
    return ::testing::Matcher<std::vector<std::string>>(Contains("alert inconclusive"))
        .Matches(said(engine_.inconclusive(t, "a", "busy", variant)));
  }
  Engine engine_;
};

TEST_F(Inconclusive, IsAlertedAtTheFourthRunInARow) {
  EXPECT_FALSE(alerted(1000));
  EXPECT_FALSE(alerted(1001));
  EXPECT_FALSE(alerted(1002));
  EXPECT_TRUE(alerted(1003));
  EXPECT_FALSE(alerted(1004)) << "once an episode";
}

TEST_F(Inconclusive, CountsRunsOfWhateverVariant) {
  EXPECT_FALSE(alerted(1000, "chat"));
  EXPECT_FALSE(alerted(1001, "chat-stream"));
  EXPECT_FALSE(alerted(1002, "chat"));
  EXPECT_TRUE(alerted(1003, "chat-stream"));
}

TEST_F(Inconclusive, CountsAVariantByItselfThoughAnotherAnswers) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(alerted(1000 + i, "chat"), i == 3);
    engine_.run(1000.5 + i, "a", 0, "chat-stream");
  }
  EXPECT_TRUE(engine_.state.open_alerts.contains("inconclusive/chat"));
}

TEST_F(Inconclusive, IsAlertedTwoHoursAfterTheFirstOfTwo) {
  alerted(1000);
  alerted(1100);
  EXPECT_THAT(said(engine_.run_until(1000 + 7199.999)), Not(Contains("alert inconclusive")));
  EXPECT_THAT(said(engine_.run_until(1000 + 7200)), Contains("alert inconclusive"));
}

TEST_F(Inconclusive, IsEndedByARunThatSaysSomethingBeItRightOrWrong) {
  for (const int bad : {0, 1, 4}) {
    for (int i = 0; i < 3; ++i)
      alerted(1000 + i);
    engine_.run(1010, "a", bad);
    EXPECT_FALSE(alerted(1011)) << bad;
    engine_ = Engine();
    engine_.healthy("a");
  }
}

TEST_F(Inconclusive, IsResolvedByARightAnswer) {
  for (int i = 0; i < 4; ++i)
    alerted(1000 + i);
  ASSERT_TRUE(engine_.state.open_alerts.contains("inconclusive"));
  engine_.run(1010, "a", 0);
  EXPECT_FALSE(engine_.state.open_alerts.contains("inconclusive"));
}

TEST_F(Inconclusive, IsNotAlertedOfAnEngineThatIsDownOnPurpose) {
  for (int i = 0; i < 3; ++i)
    alerted(1000 + i);
  engine_.feed(1100, LifeEnded{.life = "a",
                               .result = "success",
                               .exit_status = {},
                               .stop_job = true,
                               .restart_job = false,
                               .auto_restart = false});
  EXPECT_THAT(said(engine_.run_until(1000 + 3 * 3600)), Not(Contains("alert inconclusive")));
}

// R9: a guard not loaded, stale or mismatched alerts once; the policy has no word for more.
TEST(GuardVerdict, AlertsOncePerGuardAndProcessAndIsResolvedByProof) {
  for (const std::string verdict : {"not_loaded", "stale", "mismatch"}) {
    Engine engine;
    engine.healthy("a");
    EXPECT_THAT(said(engine.feed(1000, Guard{"stop", verdict, "worker"})), ElementsAre("alert R9"))
        << verdict;
    EXPECT_THAT(said(engine.feed(1001, Guard{"stop", verdict, "worker"})), IsEmpty());
    EXPECT_THAT(said(engine.feed(1002, Guard{"stop", verdict, "api"})), ElementsAre("alert R9"));
    EXPECT_THAT(said(engine.feed(1003, Guard{"stop", "proven", "worker"})), ElementsAre("no_action R9"));
    EXPECT_FALSE(engine.state.open_alerts.contains("R9/stop/worker"));
    EXPECT_TRUE(engine.state.open_alerts.contains("R9/stop/api"));
    EXPECT_FALSE(engine.state.operation.has_value());
  }
}

TEST(GuardVerdict, ThatIsUnreachableIsNoProofAndNoAlarm) {
  Engine engine;
  engine.healthy("a");
  EXPECT_THAT(said(engine.feed(1000, Guard{"stop", "unreachable", "worker"})), ElementsAre("no_action R9"));
}

// The answer is the same, the wish is another: a wish that stays open would be carried out by a later
// `enforce`.
TEST(ObserveTest, ARestartAskedForTwiceIsRefusedTwiceAndNotKept) {
  Engine engine;
  engine.policy.mode = Mode::kObserve;
  engine.healthy("a");
  for (const double t : {100.0, 150.0}) {
    engine.feed(t, OperatorRestart{"new weights"});
    EXPECT_FALSE(engine.state.asked.has_value()) << t;
  }
  engine.feed(200, OperatorMode{Mode::kEnforce});
  EXPECT_FALSE(engine.state.operation.has_value());
}

}  // namespace
}  // namespace fireboss::policy
