// R1 and R2: what one run says, when a confirming one is due, what degrades, and how long a finding counts.
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
using ::testing::StartsWith;

std::vector<std::string> calls(int ok, int failed, int unknown, bool foreign = false) {
  std::vector<std::string> out(static_cast<std::size_t>(ok), "ok");
  out.insert(out.end(), static_cast<std::size_t>(failed), "leak");
  out.insert(out.end(), static_cast<std::size_t>(unknown), "inconclusive:busy");
  if (foreign)
    out.emplace_back("foreign_nonce");
  return out;
}

std::optional<Purpose> due_purpose(const Engine& engine) {
  const auto due = canary_due(engine.state);
  return due ? std::optional(due->purpose) : std::nullopt;
}

TEST(Run, IsGradedByFailuresFirstAndNothingMeasuredIsNeverSuccess) {
  struct Row {
    int ok, failed, unknown;
    bool foreign;
    RunGrade grade;
  };
  for (const auto& row : std::vector<Row>{{4, 0, 0, false, RunGrade::kPass},
                                          {3, 1, 0, false, RunGrade::kPass},
                                          {2, 2, 0, false, RunGrade::kFail},
                                          {0, 4, 0, false, RunGrade::kFail},
                                          {3, 0, 1, false, RunGrade::kPass},
                                          {2, 0, 2, false, RunGrade::kInconclusive},
                                          {0, 0, 4, false, RunGrade::kInconclusive},
                                          {2, 1, 1, false, RunGrade::kPass},
                                          {1, 1, 2, false, RunGrade::kSuspect},
                                          {0, 1, 3, false, RunGrade::kSuspect},
                                          {0, 2, 2, false, RunGrade::kFail},
                                          {0, 0, 0, false, RunGrade::kInconclusive},
                                          {3, 0, 0, true, RunGrade::kFail},
                                          {0, 0, 3, true, RunGrade::kFail}}) {
    const auto run =
        count_run(calls(row.ok, row.failed, row.unknown, row.foreign), Purpose::kScheduled, at(0));
    EXPECT_EQ(grade_run(Policy{}, run), row.grade)
        << row.ok << " ok, " << row.failed << " failed, " << row.unknown << " unknown";
  }
}

TEST(Run, IsNamedAfterItsMostFrequentFailureAndOfEqualsAfterTheOneThatIsGradedFirst) {
  const auto verdict = [](std::vector<std::string> results) {
    return count_run(results, Purpose::kScheduled, at(0)).verdict;
  };
  EXPECT_EQ(verdict({"leak", "empty", "empty", "ok"}), "empty");
  EXPECT_EQ(verdict({"leak", "empty", "ok", "ok"}), "leak");
  EXPECT_EQ(verdict({"empty", "leak", "ok", "ok"}), "leak");
  EXPECT_EQ(verdict({"wrong_answer", "encoding", "encoding", "wrong_answer"}), "encoding");
  EXPECT_EQ(verdict({"inconclusive:busy", "inconclusive:busy", "inconclusive:busy", "leak"}), "leak");
  EXPECT_EQ(verdict({"timeout", "inconclusive:busy", "inconclusive:busy", "ok"}), "busy");
  EXPECT_EQ(verdict({"leak", "foreign_nonce", "repetition", "leak"}), "leak");
  EXPECT_EQ(verdict({"foreign_nonce", "wrong_answer", "ok", "ok"}), "wrong_answer");
  EXPECT_EQ(verdict({"foreign_nonce", "foreign_nonce", "leak", "ok"}), "foreign_nonce");
  EXPECT_EQ(verdict({"inconclusive:reset", "inconclusive:busy", "ok", "ok"}), "reset");
  EXPECT_EQ(verdict({"ok", "ok"}), "");
}

TEST(OneFailedCall, RestartsNothingAndMakesAConfirmingRunDueAtOnce) {
  Engine engine;
  engine.policy.variants = {"chat", "chat-stream"};
  engine.healthy();
  engine.run(100, "a", 0, "chat-stream");
  engine.run_until(1890);  // a scheduled run is due as well
  ASSERT_EQ(due_purpose(engine), Purpose::kScheduled);
  EXPECT_THAT(said(engine.run(1900, "a", 1)), ElementsAre("confirm R1"));
  const auto due = canary_due(engine.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->variant, "chat") << "the confirming run is of the variant that failed";
  EXPECT_EQ(due->purpose, Purpose::kConfirm) << "it goes before what is due by schedule";
  EXPECT_FALSE(engine.state.operation.has_value());
}

TEST(DegradedIsKOfN, AtKFailuresAndNotAtOneFewer) {
  struct Row {
    int n, k;
  };
  for (const auto& [n, k] : std::vector<Row>{{4, 2}, {8, 3}, {4, 4}, {4, 1}, {1, 1}}) {
    SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(n));
    Engine engine;
    engine.policy.n = n;
    engine.policy.k = k;
    engine.healthy();
    EXPECT_THAT(said(engine.run(1000, "a", k - 1)), Not(Contains(StartsWith("restart"))));
    EXPECT_FALSE(engine.state.operation.has_value());
    EXPECT_THAT(said(engine.run(1010, "a", k)), ElementsAre("restart R2"));
    ASSERT_TRUE(engine.state.operation.has_value());
    EXPECT_EQ(engine.state.operation->life, "a");
    EXPECT_EQ(engine.state.operation->variant, "chat");
  }
}

TEST(DegradedIsKOfN, WhateverTheFailingVerdictsAre) {
  for (const std::string verdict : {"http_error", "encoding", "leak", "repetition", "truncated", "empty",
                                    "tool_call_malformed", "json_malformed", "wrong_answer"}) {
    Engine engine;
    engine.healthy();
    EXPECT_THAT(said(engine.run(1000, "a", 2, "chat", verdict)), ElementsAre("restart R2")) << verdict;
  }
}

TEST(DegradedIsKOfN, RestartsUnderTrafficToo) {
  Engine engine;
  engine.healthy();
  engine.counters(990, 7, 100'000);
  EXPECT_THAT(said(engine.run(1000, "a", 2)), ElementsAre("restart R2"));
}

TEST(ConfirmingRun, ComesAtMostTwicePerScheduledRunThenTheFindingStands) {
  for (const int most : {0, 1, 2, 3}) {
    SCOPED_TRACE(most);
    Engine engine;
    engine.policy.max_confirms = most;
    engine.healthy();
    double t = 1000;
    for (int scheduled = 0; scheduled < 3; ++scheduled) {
      int asked = 0;
      auto decisions = said(engine.run(t, "a", 1, "chat", "leak", Purpose::kScheduled));
      while (decisions.front() == "confirm R1") {
        ++asked;
        ASSERT_LE(asked, most);
        ASSERT_EQ(due_purpose(engine), Purpose::kConfirm);
        decisions = said(engine.run(t += 1, "a", 1));
      }
      EXPECT_EQ(asked, most);
      EXPECT_THAT(decisions, Contains("no_action R1")) << "the finding stands";
      EXPECT_FALSE(due_purpose(engine).has_value());
      t += 1;
    }
  }
}

TEST(ConfirmingRun, IsJudgedByItself) {
  Engine engine;
  engine.healthy();
  engine.run(1000, "a", 1);
  engine.run(1001, "a", 1);
  EXPECT_FALSE(engine.state.operation.has_value()) << "1 and 1 of 4 are not 2 of 4";
  EXPECT_THAT(said(engine.run(1002, "a", 2)), ElementsAre("restart R2"));
}

TEST(ConfirmingRun, ThatIsRightEndsTheMatter) {
  Engine engine;
  engine.healthy();
  engine.run(1000, "a", 1);
  EXPECT_THAT(said(engine.run(1001, "a", 0)), ElementsAre("no_action R2"));
  EXPECT_FALSE(due_purpose(engine).has_value());
  // The next scheduled one has its two again.
  EXPECT_THAT(said(engine.run(1900, "a", 1)), ElementsAre("confirm R1"));
  EXPECT_THAT(said(engine.run(1901, "a", 1)), ElementsAre("confirm R1"));
}

TEST(ConfirmingRun, ThatSaidNothingIsAskedForAgainWithinTheTwo) {
  Engine engine;
  engine.healthy();
  engine.run(1000, "a", 1);
  EXPECT_THAT(said(engine.inconclusive(1001, "a", "busy")), ElementsAre("confirm R1"));
  EXPECT_THAT(said(engine.inconclusive(1002, "a", "busy")), ElementsAre("no_action inconclusive"));
  EXPECT_FALSE(due_purpose(engine).has_value());
}

TEST(ConfirmingRun, OfOneVariantSaysNothingAboutAnother) {
  Engine engine;
  engine.policy.variants = {"chat", "chat-stream"};
  engine.healthy();
  engine.run(96, "a", 0, "chat-stream");
  engine.run(1000, "a", 1, "chat");
  EXPECT_THAT(said(engine.run(1001, "a", 1, "chat-stream")), ElementsAre("confirm R1"));
  EXPECT_EQ(engine.state.variants["chat"].confirms, 1);
  EXPECT_EQ(engine.state.variants["chat-stream"].confirms, 1);
}

TEST(InconclusiveRun, RestartsNothingHoweverOften) {
  Engine engine;
  engine.healthy();
  for (int i = 0; i < 50; ++i)
    EXPECT_THAT(said(engine.inconclusive(1000 + i * 60, "a", "busy")), Not(Contains(StartsWith("restart"))));
}

// Rule "confirm": a failed call makes one confirming run due, 3 failures of the 8 are degraded.
class RuleConfirm : public ::testing::Test {
 protected:
  RuleConfirm() {
    engine_.policy.rule = Rule::kConfirm;
    engine_.healthy();
  }
  bool restarted() const { return engine_.state.operation.has_value(); }

  Engine engine_;
};

TEST_F(RuleConfirm, DegradesAtThreeFailuresOfTheTwoRunsTogether) {
  for (int first = 1; first <= 4; ++first)
    for (int second = 0; second <= 4; ++second) {
      SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(second));
      engine_ = Engine();
      engine_.policy.rule = Rule::kConfirm;
      engine_.healthy();
      EXPECT_THAT(said(engine_.run(1000, "a", first)), ElementsAre("confirm R1"));
      EXPECT_FALSE(restarted()) << "one run alone degrades nothing";
      engine_.run(1010, "a", second);
      EXPECT_EQ(restarted(), first + second >= 3);
      EXPECT_NE(due_purpose(engine_), Purpose::kConfirm) << "one confirming run, no more";
    }
}

TEST_F(RuleConfirm, AsksForNoConfirmationOfAnotherRunThanTheFailedOne) {
  engine_.run(1000, "a", 2);
  engine_.run(1010, "a", 0);  // 2 of 8: no
  engine_.run(2800, "a", 1);
  engine_.run(2810, "a", 1);  // 2 of 8 again; the 2 of before are spent
  EXPECT_FALSE(restarted());
}

TEST_F(RuleConfirm, JudgesTogetherUpToTenMinutesApart) {
  engine_.run(1000, "a", 2);
  EXPECT_THAT(said(engine_.run(1600, "a", 1)), ElementsAre("restart R2")) << "exactly ten minutes later";
}

TEST_F(RuleConfirm, BeginsAnewWhenTheConfirmingRunCameLaterThanThat) {
  engine_.run(1000, "a", 2);
  EXPECT_THAT(said(engine_.run(1600.001, "a", 2)), ElementsAre("confirm R1")) << "the first is too old";
  EXPECT_FALSE(restarted());
  EXPECT_THAT(said(engine_.run(1610, "a", 1)), ElementsAre("restart R2")) << "2 and 1";
}

TEST_F(RuleConfirm, IsNotDegradedByAConfirmingRunThatSaidNothing) {
  engine_.run(1000, "a", 4);
  engine_.inconclusive(1010, "a", "busy");
  EXPECT_FALSE(restarted());
  EXPECT_EQ(due_purpose(engine_), Purpose::kConfirm) << "its question is still open";
  engine_.run(1020, "a", 0);
  EXPECT_TRUE(restarted()) << "4 and 0 of the 8";
}

TEST(ForeignNonce, IsDegradedByItselfUnderEitherRule) {
  for (const auto rule : {Rule::kKOfN, Rule::kConfirm}) {
    Engine engine;
    engine.policy.rule = rule;
    engine.healthy();
    const auto decisions = engine.run(1000, "a", 1, "chat", "foreign_nonce");
    EXPECT_THAT(said(decisions), ElementsAre("restart R2"));
    EXPECT_THAT(decisions.front().reason, HasSubstr("nonce of another call"));

    Engine mixed;
    mixed.policy.rule = rule;
    mixed.healthy();
    const auto told = mixed.feed(
        1000,
        CanaryResult{"chat", "a", {"leak", "foreign_nonce", "repetition", "leak"}, Purpose::kScheduled});
    ASSERT_THAT(said(told), ElementsAre("restart R2"));
    EXPECT_THAT(told.front().reason,
                HasSubstr("4 of 4 calls of chat failed (leak), one reply carried the nonce of another call"));
  }
}

TEST(ForeignNonce, IsRecognisedForTwentyFourHours) {
  EXPECT_EQ(Policy{}.foreign_nonce_window, hours(24));
}

// Evidence older than 10 minutes only makes a canary due. A lease, a hold or a fault of ours is what may let
// it grow old.
class OldEvidence : public ::testing::Test {
 protected:
  OldEvidence() {
    engine_.healthy();
    engine_.feed(3500, Lease{"0", "bench", true});
    engine_.run(3600, "a", 3);
  }
  Engine engine_;
};

TEST_F(OldEvidence, RestartsAtExactlyTenMinutes) {
  EXPECT_THAT(said(engine_.feed(4200, Lease{"0", "bench", false})), ElementsAre("restart R2"));
}

TEST_F(OldEvidence, OnlyMakesACanaryDueOneMillisecondLater) {
  EXPECT_THAT(said(engine_.feed(4200.001, Lease{"0", "bench", false})), ElementsAre("confirm R2"));
  EXPECT_FALSE(engine_.state.operation.has_value());
  const auto due = canary_due(engine_.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->variant, "chat");
}

TEST_F(OldEvidence, IsSaidOnceAndOnlyFreshEvidenceCountsAgain) {
  engine_.feed(4201, Lease{"0", "bench", false});
  EXPECT_THAT(engine_.feed(4202, Tick{}), ::testing::IsEmpty());
  EXPECT_THAT(said(engine_.run(4210, "a", 2)), ElementsAre("restart R2"));
}

TEST_F(OldEvidence, IsRefutedByARightAnswer) {
  engine_.feed(4201, Lease{"0", "bench", false});
  EXPECT_THAT(said(engine_.run(4210, "a", 0)), ElementsAre("no_action R2"));
  EXPECT_FALSE(engine_.state.variants["chat"].degraded.has_value());
}

TEST_F(OldEvidence, AfterAHoldIsJudgedByTheSameAge) {
  for (const bool old : {false, true}) {
    Engine engine;
    engine.healthy();
    engine.feed(3500, OperatorHold{old ? Millis{700'001} : Millis{700'000}, "planned"});
    EXPECT_THAT(said(engine.run(3600, "a", 3)), ElementsAre("hold R2"));
    EXPECT_THAT(said(engine.run_until(4200.001)), ElementsAre(old ? "confirm R2" : "restart R2"));
  }
}

TEST(FailedRun, OfALifeThatIsOverIsToldAndBlamesNobody) {
  Engine engine;
  engine.healthy("a");
  engine.start(1000, "b");
  engine.ready(1090, "b");
  engine.run(1095, "b", 0);
  EXPECT_THAT(said(engine.run(1100, "a", 4)), ElementsAre("no_action inconclusive"));
  EXPECT_FALSE(engine.state.operation.has_value());
  EXPECT_FALSE(engine.state.variants["chat"].degraded.has_value());
}

TEST(FailedRun, ComingTwiceOpensOneOperation) {
  Engine engine;
  engine.healthy();
  engine.run(1000, "a", 3);
  const auto begun = engine.state.operation->begun;
  EXPECT_THAT(said(engine.run(1001, "a", 3)), ElementsAre("defer R2")) << "waits for the open restart";
  EXPECT_EQ(engine.state.operation->begun, begun);
  EXPECT_EQ(engine.state.charges.size(), 1U);
}

TEST(FailedRun, OfTwoVariantsIsRestartedForTheNewestEvidence) {
  Engine engine;
  engine.policy.variants = {"chat", "chat-stream"};
  engine.healthy();
  engine.run(96, "a", 0, "chat-stream");
  engine.feed(900, Lease{"0", "bench", true});
  engine.run(1000, "a", 3, "chat-stream");
  engine.run(1001, "a", 3, "chat");
  engine.feed(1002, Lease{"0", "bench", false});
  ASSERT_TRUE(engine.state.operation.has_value());
  EXPECT_EQ(engine.state.operation->variant, "chat");
}

TEST(FailedRun, IsForgottenWhenTheVariantPassesBeforeItWasActedOn) {
  Engine engine;
  engine.healthy();
  engine.feed(900, Lease{"0", "bench", true});
  engine.run(1000, "a", 3);
  engine.run(1001, "a", 0);
  EXPECT_THAT(engine.feed(1002, Lease{"0", "bench", false}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace fireboss::policy
