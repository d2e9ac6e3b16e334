// What comes due by time alone, and the canary runs that are due: at ready, by schedule, in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> due_variants(const State& state) {
  std::vector<std::string> out;
  for (const auto& due : state.due)
    out.push_back(due.variant);
  return out;
}

class TimersTest : public ::testing::Test {
 protected:
  TimersTest() {
    engine_.policy.variants = {"chat", "chat-stream", "chat-cold"};
    engine_.start(0, "a");
  }
  void run_all(double t) {
    for (const auto& variant : engine_.policy.variants)
      engine_.run(t, "a", 0, variant);
  }
  std::optional<Timer> next() const { return next_timer(engine_.policy, engine_.state); }

  Engine engine_;
};

TEST_F(TimersTest, NothingIsDueBeforeReadyAndEveryVariantAtReady) {
  EXPECT_THAT(due_variants(engine_.state), IsEmpty());
  engine_.ready(90, "a");
  EXPECT_THAT(due_variants(engine_.state), ElementsAre("chat", "chat-stream", "chat-cold"));
  const auto due = canary_due(engine_.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->variant, "chat");
  EXPECT_EQ(due->purpose, Purpose::kScheduled);
  EXPECT_EQ(due->life, "a");
}

TEST_F(TimersTest, RunsRotateOverTheVariantsEveryHalfHour) {
  EXPECT_EQ(Policy{}.canary_every, seconds(1800));
  engine_.ready(90, "a");
  run_all(95);
  double t = 90;
  for (const auto* variant : {"chat", "chat-stream", "chat-cold", "chat"}) {
    t += 1800;
    engine_.run_until(t - 0.001);
    EXPECT_THAT(due_variants(engine_.state), IsEmpty());
    engine_.run_until(t);
    EXPECT_THAT(due_variants(engine_.state), ElementsAre(variant));
    engine_.run(t + 1, "a", 0, variant);
  }
}

TEST_F(TimersTest, ARunThatWasNotBegunIsDueOnceHoweverOftenItsTurnComes) {
  engine_.ready(90, "a");
  run_all(95);
  engine_.run_until(90 + 1800 * 9);
  EXPECT_EQ(engine_.state.due.size(), 3U);
}

TEST_F(TimersTest, ARunInFlightIsDueNoMoreAndKeepsTheNextFromBeginning) {
  engine_.ready(90, "a");
  engine_.feed(91, CanaryBegun{"chat", "a", Purpose::kScheduled});
  EXPECT_THAT(due_variants(engine_.state), ElementsAre("chat-stream", "chat-cold"));
  EXPECT_FALSE(canary_due(engine_.state).has_value());
  engine_.run(95, "a", 0, "chat");
  EXPECT_EQ(canary_due(engine_.state)->variant, "chat-stream");
}

TEST_F(TimersTest, AScheduleThatWasMissedIsNotMadeUpFor) {
  engine_.ready(90, "a");
  run_all(95);
  engine_.one(at(90 + 1800 * 5 + 1), TimerDue{"canary"});  // nobody looked for hours
  EXPECT_EQ(engine_.state.due.size(), 1U);
  EXPECT_EQ(engine_.state.next_scheduled, at(90 + 1800 * 6));
}

TEST_F(TimersTest, AScheduleChangedForAShorterOneCountsFromNow) {
  engine_.ready(90, "a");
  engine_.policy.canary_every = seconds(60);
  engine_.feed(100, Configured{.policy_hash = "q", .suite_hash = "", .mode = {}});
  EXPECT_EQ(engine_.state.next_scheduled, at(160));
}

TEST_F(TimersTest, TheNextOneIsTheFirstOfAllThatWait) {
  ASSERT_TRUE(next().has_value());
  EXPECT_EQ(next()->name, "late");
  EXPECT_EQ(next()->at, at(900));
  engine_.ready(90, "a");
  EXPECT_EQ(next()->name, "canary");
  EXPECT_EQ(next()->at, at(1890));
  engine_.feed(100, OperatorHold{seconds(60), ""});
  EXPECT_EQ(next()->name, "hold");
  EXPECT_EQ(next()->at, at(160));
}

TEST_F(TimersTest, NothingWaitsForAnEngineOfWhichNothingIsKnown) {
  Engine nothing;
  EXPECT_FALSE(next_timer(nothing.policy, nothing.state).has_value());
}

TEST_F(TimersTest, TheHourlyCheckCountsFromTheStartOfTheLife) {
  engine_.policy.max_age = hours(4);
  EXPECT_EQ(engine_.state.recycle.next_check, at(3600));
  Engine adopted;
  adopted.feed(
      10'000,
      LifeStarted{.life = "a", .cause = LifeCause::kUnknown, .fingerprint = {}, .age = seconds(5000)});
  EXPECT_EQ(adopted.state.recycle.next_check, at(5000 + 2 * 3600)) << "the next full hour of its age";
}

TEST_F(TimersTest, EveryTimerOfAnyStateLiesNotBeforeNow) {
  engine_.ready(90, "a");
  engine_.feed(100, OperatorHold{seconds(60), ""});
  engine_.one(at(5000), Tick{});  // late: nobody looked
  ASSERT_TRUE(next().has_value());
  EXPECT_EQ(next()->at, at(5000));
}

// A jump of BOOTTIME against MONOTONIC: a canary is due, nothing is late.
TEST_F(TimersTest, AMachineThatWasSuspendedIsAskedAtOnceAndNothingIsLate) {
  engine_.ready(90, "a");
  run_all(95);
  engine_.feed(200, OperatorHold{hours(2), ""});
  const auto before = engine_.state;
  EXPECT_THAT(engine_.feed(300, Suspended{hours(3)}), IsEmpty());
  EXPECT_EQ(due_variants(engine_.state).size(), 1U);
  EXPECT_EQ(engine_.state.hold, before.hold);
  EXPECT_EQ(engine_.state.next_scheduled, before.next_scheduled);
  EXPECT_EQ(engine_.state.life, before.life);
  EXPECT_TRUE(engine_.state.open_alerts.empty());
}

TEST_F(TimersTest, ASuspendedMachineAsksNothingOfAnEngineThatIsNotReady) {
  engine_.feed(50, Suspended{hours(3)});
  EXPECT_THAT(due_variants(engine_.state), IsEmpty());
}

// A variant that the configuration no longer names is asked no more, wanted no more and waited for no more.
TEST_F(TimersTest, AVariantThatIsNoLongerConfiguredIsForgottenButForItsCalibration) {
  engine_.ready(90, "a");
  run_all(95);
  engine_.feed(96, Calibrated{.variant = "chat-cold", .fingerprint = "f", .calls = 40, .failures = 1});
  engine_.feed(100, Lease{"0", "bench", true});
  engine_.run(110, "a", 4, "chat-cold");
  engine_.feed(111, DaemonStarted{.pending = {}, .life = "a", .boot = "b", .restored = true});
  for (int i = 0; i < 4; ++i)
    engine_.inconclusive(112 + i, "a", "busy", "chat-cold");
  ASSERT_TRUE(engine_.state.full_canary_owed.contains("chat-cold"));
  ASSERT_TRUE(engine_.state.variants["chat-cold"].degraded.has_value());

  engine_.policy.variants = {"chat", "chat-stream"};
  engine_.feed(120, Configured{.policy_hash = "q", .suite_hash = "", .mode = {}});
  EXPECT_THAT(due_variants(engine_.state), ElementsAre("chat", "chat-stream"));
  EXPECT_EQ(engine_.state.variants["chat-cold"].calibration->failures, 1);
  engine_.run(130, "a", 0, "chat");
  engine_.run(131, "a", 0, "chat-stream");
  EXPECT_TRUE(engine_.state.full_canary_owed.empty()) << "else nothing would ever be begun again";
  EXPECT_THAT(engine_.feed(140, Lease{"0", "bench", false}), IsEmpty());
  EXPECT_FALSE(engine_.state.operation.has_value());
  EXPECT_TRUE(engine_.state.open_alerts.empty());
}

// Mid-run events.
TEST_F(TimersTest, ARunWhoseSuiteWasReloadedMeanwhileSaysNothing) {
  engine_.feed(80, Configured{.policy_hash = "p", .suite_hash = "s", .mode = {}});
  engine_.ready(90, "a");
  run_all(95);
  engine_.feed(100, CanaryBegun{"chat", "a", Purpose::kScheduled});
  engine_.feed(101, Configured{.policy_hash = "p", .suite_hash = "s2", .mode = {}});
  EXPECT_EQ(engine_.state.due.size(), 3U) << "a baseline of its own: every variant is due";
  engine_.run(105, "a", 0, "chat");
  EXPECT_FALSE(has_passed(engine_.state, "chat"));
  EXPECT_EQ(engine_.state.due.size(), 3U);
}

TEST_F(TimersTest, ALifeThatAnswersIsReadyThoughNobodySaidSo) {
  engine_.run(50, "a", 0, "chat");
  EXPECT_TRUE(ready(engine_.state));
  EXPECT_THAT(due_variants(engine_.state), ElementsAre("chat-stream", "chat-cold"));
  Engine silent;
  silent.start(0, "a");
  silent.inconclusive(50, "a", "refused");
  EXPECT_FALSE(ready(silent.state)) << "refused while loading";
}

TEST_F(TimersTest, TheDeadAreNotAsked) {
  engine_.ready(90, "a");
  engine_.died(100, "a", true);
  EXPECT_THAT(due_variants(engine_.state), IsEmpty());
  EXPECT_FALSE(canary_due(engine_.state).has_value());
  engine_.run_until(99'999);
  EXPECT_THAT(due_variants(engine_.state), IsEmpty());
}

// Since when every variant is answered right.
TEST_F(TimersTest, AnsweringIsCountedFromTheLastVariantsFirstPassAndBrokenByAFailedRun) {
  engine_.ready(90, "a");
  engine_.run(100, "a", 0, "chat");
  engine_.run(110, "a", 0, "chat-stream");
  EXPECT_FALSE(answering_since(engine_.policy, engine_.state).has_value()) << "one was not asked yet";
  engine_.run(120, "a", 0, "chat-cold");
  engine_.run(200, "a", 0, "chat");
  EXPECT_EQ(answering_since(engine_.policy, engine_.state), at(120));
  engine_.inconclusive(210, "a", "busy", "chat");
  EXPECT_EQ(answering_since(engine_.policy, engine_.state), at(120)) << "it said nothing";
  engine_.feed(220, OperatorHold{hours(1), ""});
  engine_.run(230, "a", 4, "chat");
  EXPECT_FALSE(answering_since(engine_.policy, engine_.state).has_value());
  engine_.run(240, "a", 0, "chat");
  EXPECT_EQ(answering_since(engine_.policy, engine_.state), at(240));
}

}  // namespace
}  // namespace fireboss::policy
