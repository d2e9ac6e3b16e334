// R6 and R7 as far as the log speaks: what a signature starts, what confirms it and what does not.
#include <gmock/gmock.h>

#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> four(const std::string& result) {
  return {result, result, result, result};
}

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() { engine_.healthy("a"); }

  std::vector<std::string> dead(double t) { return said(engine_.feed(t, Signature{"engine_dead", 1, "a"})); }
  std::vector<std::string> canary(double t, std::vector<std::string> results) {
    return said(engine_.feed(t, CanaryResult{"chat", "a", std::move(results), std::nullopt}));
  }

  Engine engine_;
};

TEST_F(JournalTest, ADeathInTheLogMakesACanaryDueAtOnceAndRestartsNothing) {
  EXPECT_FALSE(canary_due(engine_.state).has_value());
  EXPECT_THAT(dead(1000), Each(StartsWith("no_action R6")));
  const auto due = canary_due(engine_.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->variant, "chat");
}

TEST_F(JournalTest, OnlyTheFirstLineOfItAsks) {
  dead(1000);
  canary(1001, four("inconclusive:busy"));
  EXPECT_THAT(said(engine_.feed(1002, Signature{"engine_dead", 2, "a"})), Each(StartsWith("no_action R6")));
  EXPECT_FALSE(canary_due(engine_.state).has_value());
}

TEST_F(JournalTest, SilenceOrFailuresAfterItAreADeadEngine) {
  for (const std::string result : {"timeout", "inconclusive:timeout", "inconclusive:refused",
                                   "inconclusive:reset", "inconclusive:no_answer", "http_error"}) {
    SCOPED_TRACE(result);
    engine_ = Engine();
    engine_.healthy("a");
    dead(1000);
    EXPECT_THAT(canary(1001, four(result)), Contains("restart R6"));
  }
}

// R8, and "inconclusive never restarts": what says nothing about the engine confirms nothing.
TEST_F(JournalTest, WhatSaysNothingAboutTheEngineConfirmsNothing) {
  for (const std::string result :
       {"inconclusive:credential", "inconclusive:own_fault", "inconclusive:busy", "inconclusive:port_in_use",
        "inconclusive:request_refused", "inconclusive:life_changed", "inconclusive:budget"}) {
    SCOPED_TRACE(result);
    engine_ = Engine();
    engine_.healthy("a");
    dead(1000);
    EXPECT_THAT(canary(1001, four(result)), Not(Contains(StartsWith("restart"))));
    EXPECT_TRUE(engine_.state.dead_roles.empty());
  }
}

TEST_F(JournalTest, ARightAnswerRefutesIt) {
  dead(1000);
  canary(1001, four("ok"));
  EXPECT_THAT(canary(1900, four("inconclusive:timeout")), Not(Contains(StartsWith("restart"))));
}

TEST_F(JournalTest, ADeathOfAnEarlierLifeIsNoneOfThisOne) {
  engine_.feed(1000, Signature{"engine_dead", 1, "z"});
  EXPECT_THAT(canary(1001, four("inconclusive:timeout")), Not(Contains(StartsWith("restart"))));
}

TEST_F(JournalTest, SilenceAloneIsNoDeath) {
  EXPECT_THAT(canary(1001, four("inconclusive:timeout")), Not(Contains(StartsWith("restart"))));
}

TEST_F(JournalTest, AHardwareFaultHoldsRestartsBackUntilARightAnswer) {
  EXPECT_THAT(said(engine_.feed(1000, Signature{"gpu_fault_hw", 1, ""})), Contains("alert R7"));
  EXPECT_THAT(canary(1001, four("leak")), Contains("no_action R7"));
  canary(1002, four("ok"));
  EXPECT_THAT(canary(1003, four("leak")), Contains("restart R2"));
}

TEST_F(JournalTest, OtherClassesAreOnlyRecorded) {
  for (const std::string word :
       {"gpu_fault_app", "oom_killed", "collective_timeout", "stall", "http_error", "busy"})
    EXPECT_THAT(said(engine_.feed(1000, Signature{word, 1, "a"})), testing::ElementsAre("no_action R6"))
        << word;
  EXPECT_FALSE(engine_.state.journal_death.has_value());
  EXPECT_FALSE(engine_.state.hardware_fault.has_value());
}

// The start may be what mended it: a key that could not be read, a prompt that was refused.
TEST(DaemonStartedTest, AsksAgainAtOnceWhatHadSaidNothing) {
  Engine engine;
  engine.healthy("a");
  const DaemonStarted again{.pending = {}, .life = "a", .boot = ""};
  engine.feed(200, again);
  EXPECT_FALSE(canary_due(engine.state).has_value());
  engine.inconclusive(1000, "a", "credential");
  EXPECT_FALSE(canary_due(engine.state).has_value());
  engine.feed(1001, again);
  const auto due = canary_due(engine.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->variant, "chat");
}

TEST(DaemonStartedTest, AsksAgainWhatItsOwnEndCutOff) {
  Engine engine;
  engine.healthy("a");
  engine.feed(1000, CanaryBegun{"chat", "a", Purpose::kConfirm});
  engine.feed(1001, DaemonStarted{.pending = {}, .life = "a", .boot = ""});
  const auto due = canary_due(engine.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->purpose, Purpose::kConfirm);
  engine.feed(1002, CanaryBegun{"chat", "a", Purpose::kConfirm});
  engine.feed(1003, DaemonStarted{.pending = {}, .life = "b", .boot = ""});
  EXPECT_FALSE(canary_due(engine.state).has_value());
}

TEST(DaemonStartedTest, ARestartThatItsEndCutOffIsDecidedAnewByFreshEvidenceWithoutAPause) {
  Engine engine;
  engine.healthy("a");
  const auto wrong = CanaryResult{"chat", "a", four("wrong_answer"), std::nullopt};
  EXPECT_THAT(said(engine.one(at(1000), wrong)), Contains(StartsWith("restart R2")));
  const PendingAction pending{.action = ActionKind::kRestart, .life = "a", .step = Step::kEvidence};
  engine.one(at(1001), DaemonStarted{.pending = pending, .life = "a", .boot = ""});
  EXPECT_FALSE(engine.state.operation.has_value());
  EXPECT_THAT(said(engine.one(at(1002), wrong)), Contains(StartsWith("restart R2")));
}

}  // namespace
}  // namespace fireboss::policy
