#include <string>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "supervisor/ctl/commands.h"

namespace fireboss::ctl {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string out, errors;
};

Outcome run_plan(const std::string& arguments, bool json = false) {
  Context context;
  context.json = json;
  CLI::App app;
  app.add_subcommand("canary");
  add_plan(app, context);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  app.parse("canary plan " + arguments);
  Outcome outcome{context.exit_code, testing::internal::GetCapturedStdout(), {}};
  outcome.errors = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(PlanVerb, PrintsWhatTheRuleCosts) {
  const Outcome outcome = run_plan("--rate 1% --k 2 --n 4 --every 30m --fault-rate 25%");
  EXPECT_EQ(outcome.exit_code, kOk);
  EXPECT_NE(outcome.out.find("restart at 2 of 4 calls wrong; 1 wrong: up to 2 confirming runs, every 30m"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("false restarts  10.8 a year, 0.418 of them after a confirming run"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("56m 38s on average"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("gets 2 restarts in 6h, then serves on and pages"), std::string::npos)
      << outcome.out;
}

TEST(PlanVerb, WorksFromACalibrationAndItsInterval) {
  const Outcome outcome = run_plan("--calls 125 --failures 1");
  EXPECT_NE(outcome.out.find("healthy rate    0.8% of replies wrong (95%: 0.141% to 4.39%)"),
            std::string::npos)
      << outcome.out;
}

TEST(PlanVerb, SaysHowSoonFaultsOfSeveralSizesAreFoundUnlessOneIsNamed) {
  const auto all = run_plan("--rate 1%");
  for (const char* fault : {"time to detect  25% of", "time to detect  50% of", "time to detect  100% of"})
    EXPECT_NE(all.out.find(fault), std::string::npos) << all.out;
  const auto one = run_plan("--rate 1% --fault-rate 30%");
  EXPECT_NE(one.out.find("time to detect  30% of"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("time to detect  25% of"), std::string::npos) << one.out;
  EXPECT_NE(run_plan("--rate 1%", true).out.find(R"("detection":[{"fault_rate_ppm":250000,)"),
            std::string::npos);
}

TEST(PlanVerb, TakesNothingForGrantedOfACalibration) {
  EXPECT_EQ(run_plan("--calls 40").errors,
            "fireboss: --calls needs --failures: how many of them were wrong\n");
  EXPECT_EQ(run_plan("--failures 1").errors, "fireboss: --failures needs --calls: of how many\n");
  EXPECT_EQ(run_plan("--rate 1% --calls 40 --failures 0").errors,
            "fireboss: --rate and --calls say the same thing: give one of both\n");
  EXPECT_EQ(run_plan("--calls 40 --failures 0").exit_code, kOk);
}

TEST(PlanVerb, PrintsJson) {
  const Outcome outcome = run_plan("--rate 1% --rule confirm", true);
  EXPECT_EQ(outcome.out.substr(0, 60), R"({"rule":"confirm","n":4,"every_ms":1800000,"rate_ppm":10000,)");
}

TEST(PlanVerb, NamesTheOptionThatIsWrong) {
  EXPECT_EQ(run_plan("--rate x").errors,
            "fireboss: --rate: 'x' is no rate; write \"1%\" or \"0.01\", from 0 to 100%\n");
  EXPECT_EQ(run_plan("").errors,
            "fireboss: give --rate, or --calls and --failures of a calibration (failures from 0 to calls)\n");
  EXPECT_EQ(run_plan("--rate 1% --k 5").errors, "fireboss: k must be from 1 to n\n");
  EXPECT_EQ(run_plan("--rate 1% --rule x").errors, "fireboss: --rule must be k_of_n or confirm\n");
  EXPECT_EQ(run_plan("--rate 1% --every 5").exit_code, kUnknown);
}

}  // namespace
}  // namespace fireboss::ctl
