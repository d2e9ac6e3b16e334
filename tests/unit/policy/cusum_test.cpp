// The CUSUM over all calls of a variant that has passed: p0 = max(1 %, calibrated), p1 = 10 p0 (at most 0.5),
// h = 8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/judge.h"
#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Calibration with(std::int64_t failures, std::int64_t calls) {
  return {.fingerprint = "f", .calls = calls, .failures = failures};
}

// Log-likelihood ratios worked out by hand, in millionths.
TEST(CusumSteps, ComeFromTheCalibratedRateWithinItsBounds) {
  struct Row {
    std::optional<Calibration> calibration;
    std::int64_t up, down;
  };
  for (const auto& row :
       std::vector<Row>{{{}, 2'302'585, 95'310},           // 1 % against 10 %
                        {with(0, 40), 2'302'585, 95'310},  // never below 1 %
                        {with(1, 100), 2'302'585, 95'310},
                        {with(2, 100), 2'302'585, 202'941},   // 2 % against 20 %
                        {with(5, 100), 2'302'585, 641'854},   // 5 % against 50 %
                        {with(10, 100), 1'609'438, 587'787},  // 10 % against 50 %, not 100 %
                        {with(0, 0), 2'302'585, 95'310}}) {
    const auto steps = cusum_steps(row.calibration);
    EXPECT_EQ(steps.up, row.up);
    EXPECT_EQ(steps.down, row.down);
  }
  EXPECT_EQ(kCusumAlarm, 8'000'000);
}

class Cusum : public ::testing::Test {
 protected:
  Cusum() { engine_.healthy("a"); }
  // A scheduled run with that many failures; true if it raised the alert.
  bool alarmed(double t, int bad, const std::string& variant = "chat") {
    return !::testing::Matcher<std::vector<std::string>>(Not(Contains("alert cusum")))
                .Matches(said(engine_.run(t, "a", bad, variant, "wrong_answer", Purpose::kScheduled)));
  }
  std::int64_t level() { return engine_.state.variants["chat"].cusum_unats; }

  Engine engine_;
};

TEST_F(Cusum, IsToldAtTheFourthRunOfWhichOneCallInFourFails) {
  // 2.302585 - 3 x 0.095310 = 2.016655 a run; h = 8 is passed by the fourth.
  EXPECT_FALSE(alarmed(1000, 1));
  EXPECT_FALSE(alarmed(2000, 1));
  EXPECT_FALSE(alarmed(3000, 1));
  EXPECT_EQ(level(), 3 * 2'016'655);
  EXPECT_TRUE(alarmed(4000, 1));
  EXPECT_FALSE(engine_.state.operation.has_value()) << "it alerts, and restarts nothing";
}

TEST_F(Cusum, IsToldAtHExactlyAndNotAMicroNatBelow) {
  for (const std::int64_t start : {kCusumAlarm - 2'016'655 - 1, kCusumAlarm - 2'016'655}) {
    engine_ = Engine();
    engine_.healthy("a");
    engine_.state.variants["chat"].cusum_unats = start;
    EXPECT_EQ(alarmed(1000, 1), start + 2'016'655 >= 8'000'000) << start;
  }
}

TEST_F(Cusum, NamesTheVariantAndIsToldOnceAnEpisode) {
  for (int i = 0; i < 3; ++i)
    alarmed(1000 + i, 1);
  const auto decisions = engine_.run(1010, "a", 1);
  ASSERT_THAT(said(decisions), Contains("alert cusum"));
  EXPECT_EQ(decisions.back().alert_key, "cusum/chat");
  EXPECT_THAT(decisions.back().reason, HasSubstr("chat"));
  for (int i = 0; i < 20; ++i)
    EXPECT_FALSE(alarmed(2000 + i, 1));
}

TEST_F(Cusum, FallsWithRightAnswersNeverBelowZero) {
  alarmed(1000, 1);
  for (int i = 0; i < 5; ++i)
    alarmed(1100 + i, 0);
  EXPECT_EQ(level(), 2'016'655 - 5 * 4 * 95'310);
  alarmed(1200, 0);
  EXPECT_EQ(level(), 0);
  alarmed(1300, 0);
  EXPECT_EQ(level(), 0);
}

TEST_F(Cusum, IsAnotherEpisodeOnceItHasFallenToZero) {
  for (int i = 0; i < 4; ++i)
    alarmed(1000 + i, 1);
  int right = 0;
  while (level() > 0) {
    EXPECT_TRUE(engine_.state.open_alerts.contains("cusum/chat"));
    alarmed(2000 + right++, 0);
  }
  EXPECT_FALSE(engine_.state.open_alerts.contains("cusum/chat"));
  EXPECT_FALSE(alarmed(9000, 1));
  EXPECT_FALSE(alarmed(9001, 1));
  EXPECT_FALSE(alarmed(9002, 1));
  EXPECT_TRUE(alarmed(9003, 1));
}

TEST_F(Cusum, CountsConfirmingRunsToo) {
  engine_.run(1000, "a", 1);
  engine_.run(1001, "a", 1);
  engine_.run(1002, "a", 1);
  EXPECT_EQ(level(), 3 * 2'016'655);
}

TEST_F(Cusum, DoesNotCountCallsThatSaidNothing) {
  engine_.inconclusive(1000, "a", "busy");
  EXPECT_EQ(level(), 0);
  engine_.feed(1001, CanaryResult{"chat", "a", {"leak", "ok", "ok", "timeout"}, {}});
  EXPECT_EQ(level(), 2'302'585 - 2 * 95'310);
}

TEST_F(Cusum, DoesNotCountWhatIsDegradedByItself) {
  engine_.feed(999, OperatorHold{hours(9), ""});
  alarmed(1000, 4);
  EXPECT_EQ(level(), 0) << "that is R2's";
}

TEST_F(Cusum, IsOfAVariantThatHasPassedOnly) {
  Engine engine;
  engine.policy.n = 8;
  engine.start(0, "a");
  engine.ready(90, "a");
  // Two calls failed, six said nothing: neither a pass nor a fail of 3 of 8.
  engine.policy.k = 3;
  engine.feed(100,
              CanaryResult{"chat", "a", {"leak", "leak", "timeout", "timeout", "timeout", "timeout"}, {}});
  EXPECT_EQ(engine.state.variants["chat"].cusum_unats, 0);
}

TEST_F(Cusum, IsKeptPerVariant) {
  engine_.policy.variants = {"chat", "chat-stream"};
  engine_.run(500, "a", 0, "chat-stream");
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(alarmed(1000 + i, 1, "chat"));
    EXPECT_FALSE(alarmed(1100 + i, 0, "chat-stream"));
  }
  EXPECT_EQ(engine_.state.variants["chat-stream"].cusum_unats, 0);
  EXPECT_TRUE(alarmed(1200, 1, "chat"));
}

TEST_F(Cusum, BeginsAtZeroInEveryLife) {
  for (int i = 0; i < 4; ++i)
    alarmed(1000 + i, 1);
  engine_.start(2000, "b");
  EXPECT_EQ(level(), 0);
  EXPECT_FALSE(engine_.state.open_alerts.contains("cusum/chat"));
}

TEST_F(Cusum, OfAnEngineThatWasCalibratedAtTwoPercentIsSlower) {
  engine_.feed(500, Calibrated{.variant = "chat", .fingerprint = "f", .calls = 100, .failures = 2});
  // 2.302585 - 3 x 0.202941 = 1.693762 a run: the fifth.
  for (int i = 0; i < 4; ++i)
    EXPECT_FALSE(alarmed(1000 + i, 1));
  EXPECT_TRUE(alarmed(1010, 1));
}

TEST_F(Cusum, FindsAFaultOfAQuarterWithinFortyTwoCalls) {
  // One failing call in four: four runs are sixteen calls.
  int calls = 0;
  for (double t = 1000;; ++t) {
    calls += 4;
    if (alarmed(t, 1))
      break;
    ASSERT_LT(calls, 42);
  }
  EXPECT_EQ(calls, 16);
}

}  // namespace
}  // namespace fireboss::policy
