// R8: the monitor's own trouble never looks like the engine's. Nothing begins while it lasts; what was begun
// is brought to its end.
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

class BlockingFault : public ::testing::TestWithParam<OwnFaultKind> {
 protected:
  BlockingFault() { engine_.healthy("a"); }
  std::vector<std::string> begins(double t) { return said(engine_.feed(t, OwnFault{GetParam(), false})); }
  std::vector<std::string> ends(double t) { return said(engine_.feed(t, OwnFault{GetParam(), true})); }

  Engine engine_;
};

TEST_P(BlockingFault, IsToldOnceAnEpisode) {
  EXPECT_THAT(begins(1000), ElementsAre("alert own_fault"));
  EXPECT_THAT(begins(1001), IsEmpty());
  EXPECT_THAT(ends(1002), IsEmpty());
  EXPECT_TRUE(engine_.state.open_alerts.empty());
  EXPECT_THAT(begins(1003), ElementsAre("alert own_fault"));
}

TEST_P(BlockingFault, RefusesEverythingThatIsWanted) {
  begins(1000);
  EXPECT_THAT(said(engine_.run(1001, "a", 4)), ElementsAre("refuse R8"));
  engine_.run(1002, "a", 0);
  EXPECT_THAT(said(engine_.feed(1003, OperatorRestart{""})), ElementsAre("refuse R8")) << "whoever asks";
  engine_.died(1010, "a", false);
  EXPECT_THAT(said(engine_.run_until(1020)), ElementsAre("refuse R8"));
  EXPECT_FALSE(engine_.state.operation.has_value());
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_P(BlockingFault, RefusesARecycle) {
  engine_.policy.max_age = hours(1);
  begins(1000);
  engine_.counters(3000, 0, 1);
  EXPECT_THAT(said(engine_.run_until(3600)), ElementsAre("refuse R8"));
}

TEST_P(BlockingFault, IsWaitedForAndTheEvidenceActedOnWhileItIsFresh) {
  begins(1000);
  engine_.run(1001, "a", 4);
  EXPECT_THAT(said(engine_.feed(1100, Tick{})), IsEmpty()) << "said once";
  EXPECT_THAT(ends(1601), ElementsAre("restart R2")) << "ten minutes old";
}

TEST_P(BlockingFault, LeavesOldEvidenceForANewCanary) {
  begins(1000);
  engine_.run(1001, "a", 4);
  EXPECT_THAT(ends(1601.001), ElementsAre("confirm R2"));
}

TEST_P(BlockingFault, StopsNoCanary) {
  begins(1000);
  engine_.run_until(1890);
  EXPECT_TRUE(canary_due(engine_.state).has_value());
}

TEST_P(BlockingFault, DoesNotStopWhatWasBegun) {
  engine_.run(1000, "a", 4);
  begins(1001);
  ASSERT_TRUE(operation_step(engine_.policy, engine_.state).has_value());
  engine_.restarted(1002, "a", "b");
  EXPECT_EQ(engine_.state.operation->step, Step::kVerify);
  EXPECT_THAT(said(engine_.run(1020, "b", 0)), ElementsAre("no_action R2"));
  EXPECT_FALSE(engine_.state.operation.has_value());
}

INSTANTIATE_TEST_SUITE_P(Kinds, BlockingFault,
                         ::testing::Values(OwnFaultKind::kDatabaseLocked, OwnFaultKind::kDiskFull,
                                           OwnFaultKind::kBusLost),
                         [](const auto& instance) { return std::string(to_string(instance.param)); });

// "Finished, rows written late; never left stopped": the rest of a restart needs the bus, not the record.
TEST(EngineThatOurRestartLeftDown, IsStartedAgainWhateverBecameOfTheRecord) {
  for (const auto kind : {OwnFaultKind::kDatabaseLocked, OwnFaultKind::kDiskFull, OwnFaultKind::kBusLost}) {
    SCOPED_TRACE(to_string(kind));
    Engine engine;
    engine.healthy("a");
    engine.run(1000, "a", 4);
    engine.feed(1001, OwnFault{kind, false});
    engine.feed(1002, LifeEnded{.life = "a",
                                .result = "success",
                                .exit_status = {},
                                .stop_job = true,
                                .restart_job = true,
                                .auto_restart = false});
    const auto decisions =
        said(engine.feed(1010, ActionOutcome{ActionKind::kRestart, Step::kJob, StepResult::kFailed, ""}));
    if (kind == OwnFaultKind::kBusLost) {
      EXPECT_THAT(decisions, Contains("refuse R8")) << "there is no way to ask systemd";
      EXPECT_THAT(said(engine.feed(2000, OwnFault{kind, true})), Contains("restart R6"));
    } else {
      EXPECT_THAT(decisions, Contains("restart R6"));
    }
    ASSERT_TRUE(engine.state.operation.has_value());
    EXPECT_EQ(engine.state.operation->action, ActionKind::kStart);
  }
}

TEST(TwoFaults, AreBothWaitedFor) {
  Engine engine;
  engine.healthy("a");
  engine.feed(1000, OwnFault{OwnFaultKind::kDatabaseLocked, false});
  engine.feed(1000, OwnFault{OwnFaultKind::kDiskFull, false});
  engine.run(1001, "a", 4);
  EXPECT_THAT(said(engine.feed(1002, OwnFault{OwnFaultKind::kDatabaseLocked, true})),
              Not(Contains(StartsWith("restart"))));
  EXPECT_THAT(said(engine.feed(1003, OwnFault{OwnFaultKind::kDiskFull, true})), ElementsAre("restart R2"));
}

TEST(BlockedInspection, IsToldAndKeepsNothingFromBeginning) {
  Engine engine;
  engine.healthy("a");
  const auto decisions = engine.feed(1000, OwnFault{OwnFaultKind::kInspectionBlocked, false});
  ASSERT_THAT(said(decisions), ElementsAre("alert own_fault"));
  EXPECT_THAT(decisions.front().reason, Not(HasSubstr("nothing is begun")));
  EXPECT_THAT(said(engine.run(1001, "a", 4)), ElementsAre("restart R2"));
}

TEST(BlockedInspection, MakesACensusWorthless) {
  Engine engine;
  engine.healthy("a");
  engine.feed(1000, OwnFault{OwnFaultKind::kInspectionBlocked, false});
  engine.feed(1001, Census{"a", {"worker"}});
  EXPECT_THAT(said(engine.feed(1010, Census{"a", {"worker"}})), IsEmpty());
  engine.feed(1020, OwnFault{OwnFaultKind::kInspectionBlocked, true});
  EXPECT_THAT(said(engine.feed(1021, Census{"a", {"worker"}})), ElementsAre("no_action R6"))
      << "the first look that counts";
  EXPECT_THAT(said(engine.feed(1026, Census{"a", {"worker"}})), ElementsAre("restart R6"));
}

}  // namespace
}  // namespace fireboss::policy
