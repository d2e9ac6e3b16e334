// Another's lease blocks canary and recycle; degraded or dead under it, the engine waits and its people are
// told at once by whom.
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

class LeaseTest : public ::testing::Test {
 protected:
  LeaseTest() { engine_.healthy("a"); }
  std::vector<std::string> take(double t, const std::string& holder = "bench", const std::string& gpu = "0") {
    return said(engine_.feed(t, Lease{gpu, holder, true}));
  }
  std::vector<std::string> release(double t, const std::string& holder = "bench",
                                   const std::string& gpu = "0") {
    return said(engine_.feed(t, Lease{gpu, holder, false}));
  }
  bool canary_may_run() const { return canary_due(engine_.state).has_value(); }

  Engine engine_;
};

TEST_F(LeaseTest, KeepsACanaryThatIsDueFromBeginningUntilItIsReleased) {
  engine_.run_until(1890);
  ASSERT_TRUE(canary_may_run());
  take(1891);
  EXPECT_FALSE(canary_may_run());
  release(1900);
  EXPECT_TRUE(canary_may_run());
}

TEST_F(LeaseTest, DefersARestartAndPagesItsHolderAtOnce) {
  take(1000, "nightly-bench");
  const auto decisions = engine_.run(1100, "a", 4);
  ASSERT_THAT(said(decisions), ElementsAre("defer R2", "alert lease"));
  EXPECT_EQ(decisions[0].by, "lease:nightly-bench");
  EXPECT_EQ(decisions[1].severity, Severity::kCritical);
  EXPECT_THAT(decisions[1].reason, HasSubstr("nightly-bench"));
  EXPECT_THAT(said(engine_.run(1200, "a", 4)), ElementsAre("defer R2")) << "paged once";
}

TEST_F(LeaseTest, LetsTheRestartGoWhenItIsReleased) {
  take(1000);
  engine_.run(1100, "a", 4);
  EXPECT_THAT(release(1200), ElementsAre("restart R2"));
  EXPECT_FALSE(engine_.state.open_alerts.contains("lease/engine"));
}

TEST_F(LeaseTest, IsHeldUntilTheLastHolderOfTheLastGpuLetsGo) {
  take(1000, "bench", "0");
  take(1000, "bench", "1");
  take(1000, "train", "1");
  engine_.run(1100, "a", 4);
  EXPECT_THAT(release(1101, "bench", "0"), Not(Contains(StartsWith("restart"))));
  EXPECT_THAT(release(1102, "bench", "1"), Not(Contains(StartsWith("restart"))));
  EXPECT_EQ(lease_holder(engine_.state), "train");
  EXPECT_THAT(release(1103, "train", "1"), ElementsAre("restart R2"));
}

TEST_F(LeaseTest, NamesEveryHolderOnceAndAnUnknownOneAsSuch) {
  EXPECT_EQ(lease_holder(engine_.state), "");
  take(1000, "train", "0");
  take(1000, "bench", "1");
  take(1000, "bench", "2");
  EXPECT_EQ(lease_holder(engine_.state), "bench, train");
  release(1001, "train", "0");
  release(1001, "bench", "1");
  release(1001, "bench", "2");
  take(1002, "", "0");
  EXPECT_EQ(lease_holder(engine_.state), "unknown holder");
  release(1003, "", "0");
  EXPECT_EQ(lease_holder(engine_.state), "");
}

TEST_F(LeaseTest, ReleasedWithoutAHolderFreesThatGpuAlone) {
  take(1000, "bench", "1");
  take(1000, "train", "10");
  release(1001, "", "1");
  EXPECT_EQ(lease_holder(engine_.state), "train");
}

TEST_F(LeaseTest, TakenAnewByAnotherIsANewsOfItsOwn) {
  take(1000, "bench");
  engine_.run(1100, "a", 4);
  take(1150, "train");
  const auto decisions = engine_.feed(1151, Lease{"0", "bench", false});
  ASSERT_THAT(said(decisions), ElementsAre("defer R2"));
  EXPECT_EQ(decisions.front().by, "lease:train");
}

TEST_F(LeaseTest, DefersARecycleWithoutAPage) {
  engine_.policy.max_age = hours(1);
  engine_.counters(3000, 0, 1);
  take(3100);
  EXPECT_THAT(said(engine_.run_until(3600)), ElementsAre("defer recycle"));
  EXPECT_THAT(release(3700), ElementsAre("recycle recycle"));
}

TEST_F(LeaseTest, KeepsADeadEngineThatNobodyStartsWaitingAndPages) {
  take(900);
  engine_.died(1000, "a", false);
  EXPECT_THAT(said(engine_.run_until(1010)), ElementsAre("defer R6", "alert lease"));
  EXPECT_THAT(release(1100), ElementsAre("restart R6"));
}

TEST_F(LeaseTest, IsPagedAtOnceWhereSystemdsOwnRestartWaitsForIt) {
  take(900);
  const auto decisions = engine_.died(1000, "a", true);
  ASSERT_THAT(said(decisions), ElementsAre("no_action R6", "alert lease"));
  EXPECT_THAT(decisions[1].reason, HasSubstr("bench"));
  EXPECT_THAT(engine_.run_until(90'000), Not(Contains(::testing::Field(&Decision::alert_key, "R7/late"))))
      << "it is not late while the lease keeps it";
}

TEST_F(LeaseTest, LetsSystemdsRestartBeLateOnlyFromItsRelease) {
  take(900);
  engine_.died(1000, "a", true);
  release(5000);
  EXPECT_THAT(said(engine_.run_until(5899.999)), IsEmpty());
  EXPECT_THAT(said(engine_.run_until(5900)), ElementsAre("alert R7"));
}

TEST_F(LeaseTest, StopsAStallsRestartToo) {
  engine_.counters(1000, 1, 5);
  engine_.counters(1015, 1, 5);
  take(1020);
  EXPECT_THAT(said(engine_.run_until(1300)), ElementsAre("defer R5", "alert lease"));
}

TEST_F(LeaseTest, StopsTheOperatorsRestartWhichLapsesAfterTenMinutes) {
  take(1000);
  EXPECT_THAT(said(engine_.feed(1100, OperatorRestart{""})), ElementsAre("defer R4", "alert lease"));
  Engine late = engine_;
  EXPECT_THAT(release(1700), ElementsAre("restart R4")) << "exactly ten minutes later";
  EXPECT_THAT(said(late.feed(1700.001, Lease{"0", "bench", false})), IsEmpty());
}

TEST_F(LeaseTest, DoesNotEndAnOperationThatIsUnderWay) {
  engine_.run(1000, "a", 4);
  take(1001);
  engine_.restarted(1002, "a", "b");
  EXPECT_TRUE(canary_may_run()) << "the verification uses the operation's own lock";
  EXPECT_THAT(said(engine_.run(1020, "b", 0)), ElementsAre("no_action R2"));
}

// A canary blocked too long alerts by itself: after 2 h, or the time of 4 runs where that is shorter.
TEST_F(LeaseTest, ThatKeptACanaryWaitingForTwoHoursIsAlerted) {
  take(1000);
  engine_.run_until(1890);  // a run comes due, and is kept waiting
  EXPECT_THAT(said(engine_.run_until(1890 + 7199.999)), Not(Contains("alert lease")));
  EXPECT_THAT(said(engine_.run_until(1890 + 7200)), ElementsAre("alert lease"));
  EXPECT_THAT(said(engine_.run_until(1890 + 90'000)), Not(Contains("alert lease"))) << "once";
  release(200'000);
  EXPECT_FALSE(engine_.state.open_alerts.contains("lease/canary"));
}

TEST_F(LeaseTest, ThatKeptACanaryWaitingForTheTimeOfFourRunsIsAlerted) {
  Engine engine;
  engine.policy.canary_every = seconds(300);
  engine.healthy("a");
  engine.feed(200, Lease{"0", "bench", true});
  engine.run_until(390);
  EXPECT_THAT(said(engine.run_until(390 + 1199.999)), Not(Contains("alert lease")));
  EXPECT_THAT(said(engine.run_until(390 + 1200)), ElementsAre("alert lease"));
}

TEST_F(LeaseTest, BlocksNothingWhileNoCanaryIsDue) {
  engine_.policy.canary_every = hours(24);
  engine_ = Engine();
  engine_.policy.canary_every = hours(24);
  engine_.healthy("a");
  take(1000);
  EXPECT_THAT(said(engine_.run_until(20 * 3600)), IsEmpty());
}

}  // namespace
}  // namespace fireboss::policy
