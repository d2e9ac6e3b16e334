// R3: what has never passed under this fingerprint, in any life, is told once and never restarted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

// A life that began at 0 and is ready at 90, of which nothing has passed.
class NeverPassed : public ::testing::Test {
 protected:
  NeverPassed() {
    engine_.policy.variants = {"chat", "chat-stream"};
    engine_.start(0, "a");
    engine_.ready(90, "a");
  }
  std::vector<std::string> fails(double t, const std::string& life = "a", const std::string& variant = "chat",
                                 const std::string& verdict = "leak") {
    return said(engine_.run(t, life, 4, variant, verdict));
  }
  void next_life(double t, const std::string& life, const std::string& fingerprint) {
    engine_.start(t, life, LifeCause::kOperator, fingerprint);
    engine_.ready(t + 1, life);
  }

  Engine engine_;
};

TEST_F(NeverPassed, IsAlertedAndNeverRestarted) {
  const auto decisions = engine_.run(100, "a", 4);
  ASSERT_THAT(said(decisions), ElementsAre("alert R3"));
  EXPECT_EQ(decisions.front().severity, Severity::kCritical);
  for (int i = 1; i < 100; ++i)
    EXPECT_THAT(fails(100 + i * 600), Not(Contains(StartsWith("restart"))));
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_F(NeverPassed, IsAlertedAtKFailures) {
  EXPECT_THAT(said(engine_.run(100, "a", 2)), ElementsAre("alert R3"));
}

TEST_F(NeverPassed, IsOverAtOneFailureFewer) {
  EXPECT_THAT(said(engine_.run(100, "a", 1)), ElementsAre("confirm R1"));
  EXPECT_THAT(said(engine_.run(101, "a", 2)), ElementsAre("restart R2")) << "1 of 4 was a pass";
}

// A call failed and the others said nothing: that is no pass.
TEST_F(NeverPassed, IsNotEndedByARunThatLeavesTheQuestionOpen) {
  engine_.feed(100, CanaryResult{"chat", "a", {"leak", "ok", "timeout", "timeout"}, {}});
  EXPECT_THAT(fails(101), ElementsAre("alert R3"));
}

TEST_F(NeverPassed, IsAlertedOncePerVariantAndVerdict) {
  EXPECT_THAT(fails(100, "a", "chat", "leak"), ElementsAre("alert R3"));
  EXPECT_THAT(fails(101, "a", "chat", "leak"), ElementsAre("no_action R3"));
  EXPECT_THAT(fails(102, "a", "chat", "empty"), ElementsAre("alert R3")) << "another verdict";
  EXPECT_THAT(fails(103, "a", "chat", "leak"), ElementsAre("no_action R3")) << "told before";
  EXPECT_THAT(fails(104, "a", "chat-stream", "leak"), ElementsAre("alert R3")) << "another variant";
  EXPECT_THAT(fails(105, "a", "chat-stream", "leak"), ElementsAre("no_action R3"));
  EXPECT_THAT(fails(106, "a", "chat", "empty"), ElementsAre("no_action R3"));
}

TEST_F(NeverPassed, IsNotAlertedAgainInTheNextLifeOfTheSameFingerprint) {
  fails(100);
  next_life(200, "b", "f");
  EXPECT_THAT(fails(300, "b"), ElementsAre("no_action R3"));
}

TEST_F(NeverPassed, IsAlertedAgainUnderAnotherFingerprintAndNotWhenTheOldOneComesBack) {
  fails(100);
  next_life(200, "b", "g");
  EXPECT_THAT(fails(300, "b"), ElementsAre("alert R3"));
  next_life(400, "c", "f");
  EXPECT_THAT(fails(500, "c"), ElementsAre("no_action R3"));
}

TEST_F(NeverPassed, IsStillKnownAfterThirtyOtherFingerprints) {
  fails(100);
  for (int i = 0; i < 30; ++i) {
    const auto life = "b" + std::to_string(i);
    next_life(200 + i * 10, life, life);
    fails(205 + i * 10, life);
  }
  next_life(1000, "z", "f");
  EXPECT_THAT(fails(1005, "z"), ElementsAre("no_action R3"));
}

TEST_F(NeverPassed, IsAlertedAgainUnderAnotherSuite) {
  engine_.feed(95, Configured{.policy_hash = "p", .suite_hash = "s", .mode = {}});
  fails(100);
  engine_.feed(110, Configured{.policy_hash = "p2", .suite_hash = "s", .mode = {}});
  EXPECT_THAT(fails(115), ElementsAre("no_action R3")) << "only the policy changed";
  engine_.feed(120, Configured{.policy_hash = "p2", .suite_hash = "s2", .mode = {}});
  EXPECT_THAT(fails(130), ElementsAre("alert R3"));
}

TEST_F(NeverPassed, BecomesR2WithTheFirstPass) {
  fails(100);
  engine_.run(200, "a", 0);
  EXPECT_FALSE(engine_.state.open_alerts.contains("R3/chat")) << "resolved by the pass";
  EXPECT_THAT(fails(300), ElementsAre("restart R2"));
}

TEST_F(NeverPassed, OfOneVariantIsNotHelpedByAPassOfAnother) {
  engine_.run(100, "a", 0, "chat-stream");
  EXPECT_THAT(fails(200, "a", "chat"), ElementsAre("alert R3"));
  EXPECT_THAT(fails(201, "a", "chat-stream"), ElementsAre("restart R2"));
}

TEST_F(NeverPassed, CountsAPassOfAnEarlierLifeUnderTheSameFingerprint) {
  engine_.run(100, "a", 0);
  next_life(200, "b", "f");
  EXPECT_THAT(fails(300, "b"), ElementsAre("restart R2"));
}

TEST_F(NeverPassed, CountsNoPassUnderAnotherFingerprint) {
  engine_.run(100, "a", 0);
  next_life(200, "b", "g");
  EXPECT_THAT(fails(300, "b"), ElementsAre("alert R3")) << "the model was swapped";
  engine_.run(400, "b", 0);
  EXPECT_THAT(fails(500, "b"), ElementsAre("restart R2"));
}

TEST_F(NeverPassed, CountsNoPassUnderAnotherSuite) {
  engine_.feed(95, Configured{.policy_hash = "p", .suite_hash = "s", .mode = {}});
  engine_.run(100, "a", 0);
  engine_.feed(110, Configured{.policy_hash = "p", .suite_hash = "s2", .mode = {}});
  EXPECT_THAT(fails(120), ElementsAre("alert R3"));
}

TEST_F(NeverPassed, GoesByTheFingerprintThatReadyBrings) {
  engine_.run(100, "a", 0);
  engine_.feed(200, LifeStarted{.life = "b", .cause = LifeCause::kOperator, .fingerprint = {}});
  engine_.feed(210, Ready{.life = "b", .fingerprint = "g"});
  EXPECT_THAT(fails(300, "b"), ElementsAre("alert R3"));
}

TEST_F(NeverPassed, TakesALifeWithoutAFingerprintForTheOneBefore) {
  engine_.run(100, "a", 0);
  engine_.feed(200, LifeStarted{.life = "b", .cause = LifeCause::kOperator, .fingerprint = {}});
  engine_.feed(210, Ready{.life = "b", .fingerprint = {}});
  EXPECT_THAT(fails(300, "b"), ElementsAre("restart R2"));
}

TEST_F(NeverPassed, ForgetsAFindingOfBeforeTheFingerprintChanged) {
  engine_.run(100, "a", 0);
  engine_.feed(150, Lease{"0", "bench", true});
  EXPECT_THAT(fails(200), Contains("defer R2"));
  engine_.feed(210, Ready{.life = "a", .fingerprint = "g"});
  EXPECT_THAT(said(engine_.feed(220, Lease{"0", "bench", false})), Not(Contains(StartsWith("restart"))));
}

TEST_F(NeverPassed, ChargesNoShadowBudgetEither) {
  engine_.policy.mode = Mode::kObserve;
  const auto decisions = engine_.run(100, "a", 4);
  EXPECT_THAT(said(decisions), ElementsAre("alert R3"));
  EXPECT_FALSE(decisions.front().would.has_value());
  EXPECT_TRUE(engine_.state.shadow_charges.empty());
}

TEST_F(NeverPassed, HoldsForAForeignNonceToo) {
  EXPECT_THAT(said(engine_.run(100, "a", 1, "chat", "foreign_nonce")), ElementsAre("alert R3"));
}

}  // namespace
}  // namespace fireboss::policy
