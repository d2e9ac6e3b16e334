#include "canary/plan/statistics.h"

#include <array>

#include <gtest/gtest.h>

#include "canary/plan/calibration.h"

namespace fireboss::canary {
namespace {

// The figures of the seed's table 5 and section 6.
TEST(Wilson, MatchesPublishedIntervals) {
  EXPECT_NEAR(wilson(1, 125).low, 0.001, 0.0005);
  EXPECT_NEAR(wilson(1, 125).high, 0.044, 0.0005);
  EXPECT_NEAR(wilson(0, 125).high, 0.030, 0.0005);
  EXPECT_EQ(wilson(0, 125).low, 0);
  EXPECT_EQ(wilson(4, 4).high, 1);
  EXPECT_EQ(wilson(0, 0).low, 0);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

TEST(Binomial, AddsUpToOne) {
  EXPECT_NEAR(binomial(2, 4, 0.5), 0.375, 1e-12);
  EXPECT_NEAR(binomial_tail(0, 1000, 0.37), 1.0, 1e-9);
  EXPECT_EQ(binomial(0, 4, 0), 1);
  EXPECT_EQ(binomial(4, 4, 1), 1);
  EXPECT_EQ(binomial(5, 4, 0.5), 0);
}

TEST(Quantile, IsTheNearestRank) {
  const std::array<Millis, 4> values = {Millis(40), Millis(10), Millis(30), Millis(20)};
  EXPECT_EQ(quantile(values, 0.5), Millis(20));
  EXPECT_EQ(quantile(values, 0.51), Millis(30));
  EXPECT_EQ(quantile(values, 0.99), Millis(40));
  EXPECT_EQ(quantile(values, 0), Millis(10));
  EXPECT_EQ(quantile({}, 0.5), Millis(0));
}

TEST(ParseRate, TakesPercentAndFractions) {
  EXPECT_DOUBLE_EQ(parse_rate("1%").value(), 0.01);
  EXPECT_DOUBLE_EQ(parse_rate("0.5 %").value(), 0.005);
  EXPECT_DOUBLE_EQ(parse_rate("0.25").value(), 0.25);
  EXPECT_DOUBLE_EQ(parse_rate("100%").value(), 1);
  for (const char* wrong : {"", "%", "1.5", "101%", "-1%", "nan", "inf", "1%%", "1 percent"}) {
    EXPECT_FALSE(parse_rate(wrong)) << wrong;
  }
  EXPECT_EQ(ppm(0.01), 10'000);
}

Graded call(Grade grade, std::int64_t latency_ms) {
  Graded graded;
  graded.grade = grade;
  graded.signals.latency_ms = latency_ms;
  return graded;
}

TEST(Calibrate, CountsOnlyWhatIsConclusive) {
  const std::array<Graded, 5> calls = {call(Grade::kPass, 100), call(Grade::kPass, 300),
                                       call(Grade::kFail, 200), call(Grade::kInconclusive, 60'000),
                                       call(Grade::kPass, 4'000)};
  const Calibration result = calibrate(calls);
  EXPECT_EQ(result.calls, 4);
  EXPECT_EQ(result.failures, 1);
  EXPECT_EQ(result.inconclusive, 1);
  EXPECT_EQ(result.p50, Millis(200));
  EXPECT_EQ(result.slowest, Millis(4'000));
  const Deadlines deadlines = deadlines_for(result.p99);
  EXPECT_EQ(deadlines.total, Millis(40'000));
  EXPECT_EQ(deadlines.first_byte, Millis(40'000));
  EXPECT_EQ(deadlines.between, Millis(20'000));
}

TEST(Calibrate, KeepsDeadlinesWithinBounds) {
  EXPECT_EQ(deadlines_for(Millis(5)).total, Millis(30'000));
  EXPECT_EQ(deadlines_for(Millis(3'600'000)).total, Millis(600'000));
  EXPECT_EQ(deadlines_for(Millis::max()).total, Millis(600'000));
}

TEST(Calibrate, WithoutCallsKnowsNothing) {
  const Calibration result = calibrate({});
  EXPECT_EQ(result.rate.high, 1);
}

}  // namespace
}  // namespace fireboss::canary
