// A hold stops actions, never canaries, and ends by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class HoldTest : public ::testing::Test {
 protected:
  HoldTest() {
    engine_.healthy("a");
    engine_.feed(1000, OperatorHold{hours(2), "planned work"});
  }
  static constexpr double kEnd = 1000 + 7200;

  Engine engine_;
};

TEST_F(HoldTest, StopsEveryActionAndSaysWhatItWouldHaveBeenAndUntilWhen) {
  const auto decisions = engine_.run(1100, "a", 4);
  ASSERT_THAT(said(decisions), ElementsAre("hold R2"));
  EXPECT_EQ(decisions.front().would, DecisionKind::kRestart);
  EXPECT_EQ(decisions.front().until, at(kEnd));
  EXPECT_THAT(decisions.front().reason, HasSubstr("planned work"));
  EXPECT_TRUE(engine_.state.charges.empty());
  EXPECT_TRUE(engine_.state.open_alerts.empty()) << "no page for a planned hold";
}

TEST_F(HoldTest, StopsARecycleAStallsRestartADeadEnginesStartAndTheOperatorsWord) {
  Engine recycle = engine_;
  recycle.policy.max_age = hours(1);
  recycle.counters(3000, 0, 1);
  const auto decisions = recycle.run_until(3600);
  ASSERT_THAT(said(decisions), ElementsAre("hold recycle"));
  EXPECT_EQ(decisions.front().would, DecisionKind::kRecycle);

  Engine stall = engine_;
  stall.counters(2000, 1, 5);
  stall.counters(2015, 1, 5);
  EXPECT_THAT(said(stall.run_until(2300)), Contains("hold R5"));

  Engine dead = engine_;
  dead.died(2000, "a", false);
  EXPECT_THAT(said(dead.run_until(2010)), ElementsAre("hold R6"));

  Engine asked = engine_;
  EXPECT_THAT(said(asked.feed(2000, OperatorRestart{""})), ElementsAre("hold R4"));
}

TEST_F(HoldTest, StopsNoCanary) {
  engine_.run_until(1890);
  EXPECT_TRUE(canary_due(engine_.state).has_value());
  EXPECT_THAT(said(engine_.run(1900, "a", 1)), ElementsAre("confirm R1"));
}

TEST_F(HoldTest, EndsByItselfExactlyThenAndWhatIsFreshIsActedOn) {
  engine_.run(kEnd - 60, "a", 4);
  EXPECT_THAT(said(engine_.run_until(kEnd - 0.001)), IsEmpty());
  EXPECT_TRUE(engine_.state.hold.has_value());
  EXPECT_THAT(said(engine_.run_until(kEnd)), ElementsAre("restart R2"));
  EXPECT_FALSE(engine_.state.hold.has_value());
}

TEST_F(HoldTest, IsOverForAnEventThatComesAtItsEndWithoutATimer) {
  engine_.one(at(kEnd - 0.001), Tick{});
  EXPECT_TRUE(engine_.state.hold.has_value());
  engine_.one(at(kEnd), Tick{});
  EXPECT_FALSE(engine_.state.hold.has_value());
}

TEST_F(HoldTest, EndsAtTheOperatorsWord) {
  engine_.run(1100, "a", 4);
  EXPECT_THAT(said(engine_.feed(1200, OperatorResume{})), ElementsAre("restart R2"));
}

TEST_F(HoldTest, IsReplacedByANewerOneLongerOrShorter) {
  engine_.feed(2000, OperatorHold{seconds(60), ""});
  engine_.run_until(2059.999);
  EXPECT_TRUE(engine_.state.hold.has_value());
  engine_.run_until(2060);
  EXPECT_FALSE(engine_.state.hold.has_value());
}

TEST_F(HoldTest, IsSaidOnceAndAgainWhenItsEndChanges) {
  engine_.run(1100, "a", 4);
  EXPECT_THAT(engine_.feed(1101, Tick{}), IsEmpty());
  const auto decisions = engine_.feed(1102, OperatorHold{hours(3), "more"});
  ASSERT_THAT(said(decisions), ElementsAre("hold R2"));
  EXPECT_EQ(decisions.front().until, at(1102 + 3 * 3600));
}

TEST_F(HoldTest, LiesOverObserveToo) {
  engine_.policy.mode = Mode::kObserve;
  const auto decisions = engine_.run(1100, "a", 4);
  ASSERT_THAT(said(decisions), ElementsAre("hold R2"));
  EXPECT_TRUE(engine_.state.shadow_charges.empty());
}

TEST_F(HoldTest, DoesNotStopAnOperationThatIsUnderWay) {
  Engine engine;
  engine.healthy("a");
  engine.run(1000, "a", 4);
  engine.feed(1001, OperatorHold{hours(2), ""});
  engine.restarted(1002, "a", "b");
  EXPECT_EQ(engine.state.operation->step, Step::kVerify);
  engine.run(1020, "b", 0);
  EXPECT_FALSE(engine.state.operation.has_value());
}

TEST_F(HoldTest, IsForgottenWithTheLifeItKeptFromBeingRestarted) {
  engine_.run(1100, "a", 4);
  engine_.start(1200, "b", LifeCause::kOperator);
  engine_.ready(1290, "b");
  engine_.run(1300, "b", 0);
  EXPECT_THAT(said(engine_.run_until(kEnd + 10)), Not(Contains(StartsWith("restart"))));
}

}  // namespace
}  // namespace fireboss::policy
