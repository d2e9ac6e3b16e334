#include "canary/plan/plan.h"

#include <gtest/gtest.h>

namespace fireboss::canary {
namespace {

TEST(Plan, TwoOfFourAtOnePercentIsAboutTenFalseRestartsAYear) {
  const Plan plan = make_plan({.rate = 0.01, .fault_rate = {}}).value();
  EXPECT_DOUBLE_EQ(plan.runs_per_year, 17'520);
  EXPECT_NEAR(plan.false_by_scheduled, 10.37, 0.01);
  EXPECT_NEAR(plan.false_by_confirming, 0.42, 0.01);
  EXPECT_NEAR(plan.confirming_per_year, 706.4, 0.1);
}

TEST(Plan, ThreeOfEightOverAConfirmingRunIsUnderOne) {
  const Plan plan = make_plan({.rate = 0.01, .rule = PlanRule::kConfirm, .fault_rate = {}}).value();
  EXPECT_NEAR(plan.false_per_year, 0.878, 0.001);
}

TEST(Plan, WithoutConfirmingRunsOnlyTheScheduledOneCounts) {
  const Plan plan = make_plan({.rate = 0.01, .max_confirms = 0, .fault_rate = {}}).value();
  EXPECT_EQ(plan.false_by_confirming, 0);
  EXPECT_EQ(plan.confirming_per_year, 0);
}

TEST(Plan, AFaultThatIsAlwaysSeenIsFoundByTheNextRun) {
  const Plan plan = make_plan({.rate = 0, .variants = 3, .fault_rate = 1.0}).value();
  ASSERT_TRUE(plan.detection);
  EXPECT_EQ(plan.detection->per_run, 1);
  EXPECT_EQ(plan.detection->mean, Millis(15 * 60'000));
  EXPECT_EQ(plan.detection->p95, Millis(30 * 60'000));
  EXPECT_EQ(plan.detection->mean_one_variant, Millis(45 * 60'000));
  EXPECT_EQ(plan.false_per_year, 0);
}

TEST(Plan, ARarerFaultTakesLonger) {
  // A run of 4 has at least 2 wrong with probability 0.26172, exactly one with 0.42188; two confirming runs.
  const Plan plan = make_plan({.rate = 0.01, .fault_rate = 0.25}).value();
  EXPECT_NEAR(plan.detection->per_run, 0.26172 * (1 + 0.42188 + 0.42188 * 0.42188), 1e-4);
  EXPECT_EQ(plan.detection->p95, Millis(6 * 30 * 60'000));
}

TEST(Plan, ABetterConfirmingRuleNeedsLonger) {
  const PlanInput k_of_n{.rate = 0.01, .fault_rate = 0.25};
  PlanInput confirm = k_of_n;
  confirm.rule = PlanRule::kConfirm;
  EXPECT_LT(make_plan(k_of_n)->detection->mean, make_plan(confirm)->detection->mean);
}

TEST(Plan, AnAlmostInvisibleFaultDoesNotOverflow) {
  const Plan plan = make_plan({.rate = 0, .fault_rate = 1e-12}).value();
  EXPECT_GT(plan.detection->mean.count(), 0);
  EXPECT_GT(plan.detection->p95.count(), 0);
}

TEST(Plan, RefusesWhatCannotBe) {
  const auto message = [](const PlanInput& input) { return make_plan(input).error().message; };
  EXPECT_EQ(message({.n = 0, .fault_rate = {}}), "n must be from 1 to 1000");
  EXPECT_EQ(message({.k = 5, .fault_rate = {}}), "k must be from 1 to n");
  EXPECT_EQ(message({.k = 0, .fault_rate = {}}), "k must be from 1 to n");
  EXPECT_EQ(message({.rule = PlanRule::kConfirm, .confirm_failures = 9, .fault_rate = {}}),
            "confirm-failures must be from 1 to 2n");
  EXPECT_EQ(message({.every = Millis(0), .fault_rate = {}}), "every must be longer than nothing");
  EXPECT_EQ(message({.variants = 0, .fault_rate = {}}), "variants must be from 1 to 1000");
  EXPECT_EQ(message({.rate = 1.5, .fault_rate = {}}), "a rate must be from 0 to 100%");
}

}  // namespace
}  // namespace fireboss::canary
