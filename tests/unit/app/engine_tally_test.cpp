#include "supervisor/app/engine_tally.h"

#include <gmock/gmock.h>

#include "supervisor/app/wall_offset.h"

namespace fireboss::app {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class EngineTallyTest : public ::testing::Test {
 protected:
  EngineTallyTest() {
    policy_.mode = policy::Mode::kEnforce;
    policy_.variants = {"chat"};
    state_.assume_calibrated = true;
  }
  void feed(policy::EventBody body) {
    now_ += Millis{1'000};
    const policy::Event event{now_, std::move(body)};
    auto stepped = policy::step(policy_, state_, event);
    tally_.count(policy_, state_, event, stepped);
    state_ = std::move(stepped.state);
  }
  void run(std::vector<std::string> results, const std::string& variant = "chat") {
    feed(policy::CanaryResult{variant, life_, std::move(results), policy::Purpose::kScheduled});
  }
  void bring_up() {
    feed(policy::LifeStarted{life_, policy::LifeCause::kSystemd, "f", Millis{0}});
    feed(policy::Ready{life_, "f"});
    run({"ok", "ok", "ok", "ok"});
  }
  void end_step(policy::Step step, policy::StepResult result = policy::StepResult::kDone) {
    feed(policy::ActionOutcome{policy::ActionKind::kRestart, step, result, ""});
  }

  policy::Policy policy_;
  policy::State state_;
  EngineTally tally_;
  MonoTime now_{Millis{1'000'000}};
  std::string life_ = "a";
};

TEST_F(EngineTallyTest, CountsRunsCallsAndVerdictsOfAVariant) {
  bring_up();
  run({"ok", "leak", "inconclusive:busy", "ok"});
  const auto first = now_;
  run({"inconclusive:busy", "inconclusive:timeout", "inconclusive:busy", "inconclusive:busy"});
  const auto& tally = tally_.variants().at("chat");
  EXPECT_THAT(tally.runs, UnorderedElementsAre(Pair(policy::RunGrade::kPass, 2),
                                               Pair(policy::RunGrade::kInconclusive, 1)));
  EXPECT_EQ(tally.passed, 6);
  EXPECT_EQ(tally.failed, 1);
  EXPECT_EQ(tally.inconclusive, 5);
  EXPECT_THAT(tally.verdicts, UnorderedElementsAre(Pair("leak", 1), Pair("busy", 4), Pair("timeout", 1)));
  EXPECT_EQ(tally.last_run.at(policy::RunGrade::kPass), first);
  EXPECT_EQ(tally.last_run.at(policy::RunGrade::kInconclusive), now_);
}

TEST_F(EngineTallyTest, CountsAnOperationOnceByHowItEnded) {
  bring_up();
  run({"leak", "leak", "leak", "ok"});
  ASSERT_TRUE(state_.operation);
  for (const auto step :
       {policy::Step::kEvidence, policy::Step::kLease, policy::Step::kPreStop, policy::Step::kDrain})
    end_step(step);
  EXPECT_TRUE(tally_.operations().empty());
  end_step(policy::Step::kJob, policy::StepResult::kFailed);
  end_step(policy::Step::kPostReady);
  feed(policy::Tick{});
  feed(policy::Tick{});
  EXPECT_THAT(
      tally_.operations(),
      UnorderedElementsAre(Pair(Pair(policy::ActionKind::kRestart, policy::OperationEnd::kFailed), 1)));
  now_ += Millis{120'000};
  run({"leak", "leak", "leak", "ok"});
  ASSERT_TRUE(state_.operation) << "a second one is open now";
  feed(policy::Tick{});
  EXPECT_EQ(tally_.operations().size(), 1U);
  EXPECT_EQ(tally_.operations().begin()->second, 1);
  EXPECT_THAT(tally_.alerts(), UnorderedElementsAre(Pair(policy::Severity::kCritical, 1)));
  EXPECT_EQ(tally_.decisions().at(policy::DecisionKind::kRestart), 2);
}

// The same operation, its times moved to another boot's clock, is no second one.
TEST_F(EngineTallyTest, DoesNotCountAnOldOperationAgainAfterAReboot) {
  bring_up();
  run({"leak", "leak", "leak", "ok"});
  end_step(policy::Step::kEvidence, policy::StepResult::kFailed);
  feed(policy::DaemonStarted{std::nullopt, "", "boot-1", false});
  const auto counted = tally_.operations();
  feed(policy::DaemonStarted{std::nullopt, "", "boot-2", false});
  EXPECT_EQ(tally_.operations(), counted);
}

TEST_F(EngineTallyTest, KeepsTheNumberOfItsVerdictsAndVariantsBounded) {
  bring_up();
  for (int i = 0; i < 200; ++i)
    run({"ok", "inconclusive:reason" + std::to_string(i), "ok", "ok"});
  run({"ok", "ok", "ok", "ok"}, "no-such-variant");
  EXPECT_EQ(tally_.variants().size(), 1U);
  const auto& verdicts = tally_.variants().at("chat").verdicts;
  EXPECT_EQ(verdicts.size(), EngineTally::kMostVerdicts + 1);
  EXPECT_EQ(verdicts.at("other"), 200 - static_cast<std::int64_t>(EngineTally::kMostVerdicts));
}

TEST(WallOffset, KeepsAgesWhateverTheWallClockDoes) {
  const MonoTime run{Millis{10'000}};
  WallOffset wall;
  const auto age_at = [&](Millis mono, Millis wall_now) {
    wall.update(MonoTime{mono}, WallTime{wall_now});
    return WallTime{wall_now} - wall.at(run);
  };
  EXPECT_EQ(age_at(Millis{70'000}, Millis{5'000'000}), Millis{60'000});
  // An hour back, and an hour forth: the age goes on as before.
  EXPECT_EQ(age_at(Millis{80'000}, Millis{5'010'000 - 3'600'000}), Millis{70'000});
  EXPECT_EQ(age_at(Millis{90'000}, Millis{5'020'000 + 3'600'000}), Millis{80'000});
}

TEST(WallOffset, ShowsAnUnchangedTimeUnchangedWhileTheClockIsSlewed) {
  WallOffset wall;
  wall.update(MonoTime{Millis{1'000}}, WallTime{Millis{9'000'000}});
  const auto shown = wall.at(MonoTime{Millis{500}});
  wall.update(MonoTime{Millis{2'000}}, WallTime{Millis{9'001'999}});
  EXPECT_EQ(wall.at(MonoTime{Millis{500}}), shown);
  wall.update(MonoTime{Millis{3'000}}, WallTime{Millis{9'003'001}});
  EXPECT_NE(wall.at(MonoTime{Millis{500}}), shown);
}

}  // namespace
}  // namespace fireboss::app
