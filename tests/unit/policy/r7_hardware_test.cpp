// R7: hardware faults, memory held by others, a ready deadline passed: a restart is useless, a page is not.
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

class HardwareFaultTest : public ::testing::TestWithParam<std::string> {
 protected:
  HardwareFaultTest() {
    engine_.healthy("a");
    told_ = engine_.feed(900, Signature{GetParam(), 3, "a"});
  }
  void expect_withheld(const std::vector<Decision>& decisions) {
    EXPECT_THAT(said(decisions), Contains("no_action R7"));
    EXPECT_FALSE(engine_.state.operation.has_value());
    EXPECT_TRUE(engine_.state.charges.empty());
  }

  Engine engine_;
  std::vector<Decision> told_;
};

TEST_P(HardwareFaultTest, IsPagedOnceAnEpisode) {
  ASSERT_THAT(said(told_), ElementsAre("alert R7"));
  EXPECT_EQ(told_.front().severity, Severity::kCritical);
  EXPECT_THAT(told_.front().reason, HasSubstr("3 times"));
  EXPECT_THAT(engine_.feed(901, Signature{GetParam(), 4, "a"}), IsEmpty());
}

TEST_P(HardwareFaultTest, WithholdsARestartForDegradation) {
  expect_withheld(engine_.run(1000, "a", 4));
}

TEST_P(HardwareFaultTest, WithholdsARestartForAStall) {
  engine_.counters(1000, 2, 10);
  engine_.counters(1015, 2, 10);
  expect_withheld(engine_.run_until(1300));
}

TEST_P(HardwareFaultTest, WithholdsTheStartOfADeadEngine) {
  engine_.died(1000, "a", false);
  expect_withheld(engine_.run_until(1010));
}

TEST_P(HardwareFaultTest, WithholdsARestartForAMissingRole) {
  engine_.feed(1000, Census{"a", {"worker"}});
  expect_withheld(engine_.feed(1005, Census{"a", {"worker"}}));
}

TEST_P(HardwareFaultTest, WithholdsARecycle) {
  engine_.policy.max_age = hours(1);
  engine_.counters(3000, 0, 10);
  expect_withheld(engine_.run_until(3600));
}

TEST_P(HardwareFaultTest, IsNoReasonToRefuseTheOperator) {
  EXPECT_THAT(said(engine_.feed(1000, OperatorRestart{"new cable"})), ElementsAre("restart R4"));
}

TEST_P(HardwareFaultTest, EndsWithARightAnswer) {
  engine_.run(1000, "a", 0);
  EXPECT_FALSE(engine_.state.open_alerts.contains("R7/" + GetParam()));
  EXPECT_THAT(said(engine_.run(1100, "a", 4)), ElementsAre("restart R2"));
}

TEST_P(HardwareFaultTest, MakesNoRestartLoop) {
  for (int i = 0; i < 100; ++i)
    EXPECT_THAT(said(engine_.run(1000 + i * 1800, "a", 4)), Each(StartsWith("no_action R7"))) << i;
}

INSTANTIATE_TEST_SUITE_P(Classes, HardwareFaultTest, ::testing::Values("gpu_fault_hw", "vram_held"),
                         [](const auto& instance) { return instance.param; });

TEST(HardwareFaultInTheLog, OfAnotherLifeIsNoneOfThisOneAndOneOfTheHostIs) {
  Engine engine;
  engine.healthy("a");
  EXPECT_THAT(engine.feed(1000, Signature{"gpu_fault_hw", 1, "z"}), IsEmpty());
  EXPECT_FALSE(engine.state.hardware_fault.has_value());
  EXPECT_THAT(said(engine.feed(1001, Signature{"gpu_fault_hw", 1, ""})), ElementsAre("alert R7"));
}

TEST(VramHeld, IsOverWhenTheNextLifeIsReadyAndAGpuFaultIsNot) {
  for (const std::string word : {"vram_held", "gpu_fault_hw"}) {
    Engine engine;
    engine.healthy("a");
    engine.feed(900, Signature{word, 1, "a"});
    engine.died(1000, "a", true);
    engine.start(1010, "b");
    EXPECT_TRUE(engine.state.hardware_fault.has_value());
    engine.ready(1100, "b");
    EXPECT_EQ(engine.state.hardware_fault.has_value(), word == "gpu_fault_hw") << word;
  }
}

// Ready deadline passed: it pages and never stops.
TEST(ReadyDeadline, IsPagedExactlyThenOnceAndNothingIsStopped) {
  EXPECT_EQ(Policy{}.ready_deadline, seconds(900));
  Engine engine;
  engine.start(1000, "a");
  EXPECT_THAT(engine.run_until(1899.999), IsEmpty());
  EXPECT_THAT(said(engine.run_until(1900)), ElementsAre("alert R7"));
  EXPECT_THAT(engine.run_until(90'000), IsEmpty());
  EXPECT_FALSE(engine.state.operation.has_value());
  engine.ready(90'001, "a");
  EXPECT_FALSE(engine.state.open_alerts.contains("R7/late"));
}

TEST(ReadyDeadline, CountsFromTheStartOfALifeThatWasAdoptedLate) {
  Engine engine;
  const auto decisions = engine.feed(
      1000, LifeStarted{.life = "a", .cause = LifeCause::kUnknown, .fingerprint = {}, .age = seconds(900)});
  EXPECT_THAT(said(decisions), ElementsAre("alert R7"));
}

TEST(ReadyDeadline, IsNoneForALifeThatIsReady) {
  Engine engine;
  engine.start(1000, "a");
  engine.ready(1899.999, "a");
  EXPECT_THAT(engine.run_until(3000), IsEmpty());
}

TEST(ReadyDeadline, InARestartOfOursPagesAndLeavesTheOperationOpen) {
  Engine engine;
  engine.healthy("a");
  engine.run(1000, "a", 4);
  engine.feed(1001, ActionOutcome{ActionKind::kRestart, Step::kJob, StepResult::kDone, ""});
  engine.start(1002, "b", LifeCause::kFirebossd);
  ASSERT_EQ(engine.state.operation->step, Step::kReady);
  EXPECT_THAT(engine.run_until(1901.999), IsEmpty());
  EXPECT_THAT(said(engine.run_until(1902)), ElementsAre("alert R7"));
  EXPECT_EQ(engine.state.operation->step, Step::kReady);
  engine.ready(5000, "b");
  EXPECT_EQ(engine.state.operation->step, Step::kVerify);
  EXPECT_THAT(said(engine.run(5010, "b", 0)), Contains("no_action R2"));
  EXPECT_FALSE(engine.state.operation.has_value());
}

}  // namespace
}  // namespace fireboss::policy
