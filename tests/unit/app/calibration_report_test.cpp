#include "supervisor/app/calibration_report.h"

#include <gmock/gmock.h>

namespace fireboss::app {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Measured measured(const std::string& variant, std::int64_t calls, std::int64_t failures) {
  std::vector<canary::Graded> sample(static_cast<std::size_t>(calls));
  for (std::size_t i = 0; i < sample.size(); ++i) {
    sample[i].grade = i < static_cast<std::size_t>(failures) ? canary::Grade::kFail : canary::Grade::kPass;
    sample[i].signals.latency_ms = 30 + static_cast<std::int64_t>(i);
  }
  return {variant, canary::calibrate(sample)};
}

TEST(CalibrationReport, SaysHowWideTheIntervalIsAndWhatWouldNarrowIt) {
  const auto report = report_calibration({}, {measured("chat", 12, 0)});
  EXPECT_THAT(report.lines,
              Contains(AllOf(StartsWith("chat: 0 of 12 calls wrong: a healthy error rate of 0.0 % to 24."),
                             HasSubstr("half of the calls within 35ms, the slowest 41ms"))));
  EXPECT_THAT(report.lines,
              Contains(AllOf(HasSubstr("24.2 points wide"), HasSubstr("below 1.0 % takes some 381 calls"))));
  EXPECT_TRUE(report.enforce_allowed);
}

TEST(CalibrationReport, SpeaksOf99Of100OnlyWithAHundredCalls) {
  EXPECT_THAT(report_calibration({}, {measured("chat", 99, 0)}).lines, Contains(HasSubstr("the slowest")));
  EXPECT_THAT(report_calibration({}, {measured("chat", 100, 0)}).lines,
              Contains(HasSubstr("99 of 100 within 128ms")));
}

TEST(CalibrationReport, SaysNothingOfWidthOnceTheRateIsShownToBeSmall) {
  EXPECT_THAT(report_calibration({}, {measured("chat", 380, 0)}).lines, Contains(HasSubstr("points wide")));
  EXPECT_THAT(report_calibration({}, {measured("chat", 381, 0)}).lines,
              Not(Contains(HasSubstr("points wide"))));
}

TEST(CalibrationReport, GivesAPlanForEitherRuleAndSaysWhichIsInForce) {
  policy::Policy policy;
  policy.rule = policy::Rule::kConfirm;
  const auto report = report_calibration(policy, {measured("chat", 40, 0), measured("chat-cold", 40, 1)});
  EXPECT_THAT(report.lines,
              Contains(StartsWith("plan, rule k_of_n (2 of 4 every 30m): restarts a healthy engine ")));
  EXPECT_THAT(report.lines, Contains(StartsWith("plan, rule confirm, in force (3 of 8 every 30m): ")));
  EXPECT_THAT(report.lines, Contains(StartsWith("all variants: 1 of 80 calls wrong")));
}

TEST(CalibrationReport, RefusesEnforceAboveOneInTenOfAnyVariant) {
  EXPECT_TRUE(report_calibration({}, {measured("chat", 40, 4), measured("chat-cold", 4, 0)}).enforce_allowed);
  const auto report = report_calibration({}, {measured("chat", 40, 0), measured("chat-cold", 40, 5)});
  EXPECT_FALSE(report.enforce_allowed);
  EXPECT_THAT(report.lines.back(),
              AllOf(StartsWith("enforce is refused"), HasSubstr("of chat-cold are wrong")));
  EXPECT_FALSE(report_calibration({}, {}).enforce_allowed);
}

TEST(CalibrationReport, RefusesEnforceBelowFourCallsOfAnyVariant) {
  EXPECT_TRUE(report_calibration({}, {measured("chat", 4, 0)}).enforce_allowed);
  const auto report = report_calibration({}, {measured("chat", 40, 0), measured("chat-cold", 3, 0)});
  EXPECT_FALSE(report.enforce_allowed);
  EXPECT_THAT(report.lines.back(),
              StartsWith("enforce is refused: chat-cold calibrated with fewer than 4 calls"));
}

TEST(CalibrationReport, SaysOfEachVariantWithFewCallsHowLittleTheyTell) {
  EXPECT_THAT(report_calibration({}, {measured("chat", 12, 0)}).lines, Not(Contains(StartsWith("note: "))));
  const auto report = report_calibration({}, {measured("chat", 40, 0), measured("chat-cold", 4, 0)});
  EXPECT_THAT(report.lines,
              Contains(StartsWith("note: chat-cold is calibrated with 4 calls only: its healthy "
                                  "error rate may be anything from 0.0 % to 49.0 %")));
  EXPECT_THAT(report.lines, Not(Contains(StartsWith("note: chat is"))));
  EXPECT_THAT(
      thin_calibrations({measured("chat", 1, 0)}),
      Contains(HasSubstr("with 1 call only: its healthy error rate may be anything from 0.0 % to 79.3 %")));
}

}  // namespace
}  // namespace fireboss::app
