// R5: a timeout alone never restarts; only proof of no progress does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/judge.h"
#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Counters sample(std::optional<std::int64_t> running, std::optional<std::int64_t> waiting,
                std::optional<std::int64_t> prompt, std::optional<std::int64_t> generation) {
  return {.running = running, .waiting = waiting, .prompt_tokens = prompt, .generation_tokens = generation};
}

// Two requests running at 1000, and the same counters fifteen seconds later.
class Frozen : public ::testing::Test {
 protected:
  Frozen() {
    engine_.healthy("a");
    engine_.feed(1000, sample(2, 0, 500, 900));
    engine_.feed(1015, sample(2, 0, 500, 900));
  }
  bool restarted_by(double t) {
    engine_.run_until(t);
    return engine_.state.operation.has_value();
  }

  Engine engine_;
};

TEST_F(Frozen, ForExactlyStallAfterIsAStall) {
  EXPECT_EQ(Policy{}.stall_after, seconds(300));
  EXPECT_THAT(said(engine_.run_until(1299.999)), IsEmpty());
  EXPECT_THAT(said(engine_.run_until(1300)), ElementsAre("restart R5"));
  EXPECT_EQ(engine_.state.charges.size(), 1U);
}

TEST_F(Frozen, TakesThePolicysOwnLength) {
  engine_.policy.stall_after = seconds(60);
  EXPECT_FALSE(restarted_by(1059.999));
  EXPECT_TRUE(restarted_by(1060));
}

TEST_F(Frozen, IsBrokenByAnyOneCounterThatMoves) {
  for (const auto& moved : {sample(2, 0, 501, 900), sample(2, 0, 500, 901)}) {
    engine_ = Engine();
    engine_.healthy("a");
    engine_.feed(1000, sample(2, 0, 500, 900));
    engine_.feed(1015, sample(2, 0, 500, 900));
    engine_.feed(1299.999, moved);
    EXPECT_FALSE(restarted_by(1599.998)) << "it begins anew with the counters as they are now";
    engine_.feed(1599.998, moved);
    EXPECT_TRUE(restarted_by(1599.999));
  }
}

TEST_F(Frozen, IsNotBrokenByRequestsThatComeAndGo) {
  engine_.feed(1100, sample(5, 3, 500, 900));
  engine_.feed(1200, sample(1, 0, 500, 900));
  EXPECT_FALSE(restarted_by(1299.999));
  EXPECT_TRUE(restarted_by(1300)) << "no token was read or produced for them";
}

TEST_F(Frozen, WithoutWorkIsIdle) {
  engine_.feed(1200, sample(0, 0, 500, 900));
  EXPECT_FALSE(restarted_by(5000));
}

TEST_F(Frozen, CountsAnewWhenWorkComesBack) {
  engine_.feed(1200, sample(0, 0, 500, 900));
  engine_.feed(1250, sample(1, 0, 500, 900));
  engine_.feed(1265, sample(1, 0, 500, 900));
  EXPECT_FALSE(restarted_by(1549.999));
  EXPECT_TRUE(restarted_by(1550));
}

TEST(Work, IsWhatRunsOrWaits) {
  struct Row {
    std::optional<std::int64_t> running, waiting;
    bool work;
  };
  for (const auto& row : std::vector<Row>{
           {1, 0, true}, {0, 1, true}, {0, 0, false}, {{}, 1, true}, {1, {}, true}, {{}, {}, false}}) {
    Engine engine;
    engine.healthy("a");
    engine.feed(1000, sample(row.running, row.waiting, 500, 900));
    engine.feed(1015, sample(row.running, row.waiting, 500, 900));
    engine.run_until(2000);
    EXPECT_EQ(engine.state.operation.has_value(), row.work)
        << row.running.value_or(-1) << " running, " << row.waiting.value_or(-1) << " waiting";
  }
}

TEST(OneSample, ProvesNothingUntilASecondOneAgrees) {
  Engine engine;
  engine.healthy("a");
  engine.feed(1000, sample(2, 0, 500, 900));
  EXPECT_THAT(said(engine.run_until(1400)), Not(Contains(StartsWith("restart"))));
  EXPECT_THAT(said(engine.feed(1400, sample(2, 0, 500, 900))), ElementsAre("restart R5"));
}

TEST_F(Frozen, IsRefutedByAnAnswerThatWasComputed) {
  engine_.run(1200, "a", 0);
  EXPECT_FALSE(restarted_by(1400));
  engine_.feed(1400, sample(2, 0, 500, 900));
  EXPECT_FALSE(restarted_by(1699)) << "it counts anew from the first sample after the answer";
}

TEST_F(Frozen, IsNotRefutedByATimeoutOrAnError) {
  engine_.feed(1100, CanaryResult{"chat", "a", {"timeout", "timeout", "timeout", "timeout"}, {}});
  engine_.feed(1200, CanaryResult{"chat", "a", {"http_error", "timeout", "timeout", "timeout"}, {}});
  EXPECT_TRUE(restarted_by(1300));
}

TEST_F(Frozen, IsNotProvenWhileTheScrapeFails) {
  engine_.feed(
      1100,
      Counters{
          .running = {}, .waiting = {}, .prompt_tokens = {}, .generation_tokens = {}, .scrape_failed = true});
  EXPECT_FALSE(restarted_by(1400)) << "no information";
  EXPECT_THAT(said(engine_.feed(1400, sample(2, 0, 500, 900))), ElementsAre("restart R5"))
      << "nothing moved in all that time";
}

TEST_F(Frozen, BeginsAnewWhenACounterGoesBack) {
  engine_.feed(1200, sample(2, 0, 0, 0));
  engine_.feed(1215, sample(2, 0, 0, 0));
  EXPECT_FALSE(restarted_by(1499.999));
  EXPECT_TRUE(restarted_by(1500));
}

TEST_F(Frozen, BeginsAnewWithTheNextLife) {
  engine_.start(1200, "b");
  engine_.ready(1201, "b");
  engine_.feed(1205, sample(2, 0, 500, 900));
  engine_.feed(1210, sample(2, 0, 500, 900));
  EXPECT_FALSE(restarted_by(1504.999));
  EXPECT_TRUE(restarted_by(1505));
}

TEST_F(Frozen, IsActedOnOnce) {
  engine_.policy.mode = Mode::kObserve;
  const auto decisions = engine_.run_until(1300);
  ASSERT_THAT(said(decisions), ElementsAre("no_action R5"));
  EXPECT_EQ(decisions.front().would, DecisionKind::kRestart);
  engine_.feed(1400, sample(2, 0, 500, 900));
  EXPECT_THAT(said(engine_.run_until(1800)), Not(Contains("no_action R5")));
  EXPECT_EQ(engine_.state.shadow_charges.size(), 1U) << "once an episode";
}

TEST_F(Frozen, IsTriedAgainAfterARestartThatNeverBegan) {
  engine_.one(at(1300), TimerDue{"stall"});
  ASSERT_TRUE(engine_.state.operation.has_value());
  engine_.one(at(1301), ActionOutcome{ActionKind::kRestart, Step::kEvidence, StepResult::kFailed, ""});
  ASSERT_FALSE(engine_.state.operation.has_value());
  EXPECT_FALSE(restarted_by(1360.999)) << "not at once";
  EXPECT_TRUE(restarted_by(1361));
}

TEST(Timeout, AloneNeverRestartsInAnyNumberOfRuns) {
  Engine engine;
  engine.healthy("a");
  std::int64_t tokens = 0;
  for (int i = 0; i < 100; ++i) {
    engine.counters(1000 + i * 100, 8, tokens += 10);
    EXPECT_THAT(said(engine.inconclusive(1050 + i * 100, "a")), Not(Contains(StartsWith("restart"))));
  }
}

// Without counters: two runs timed out and no byte sent on any connection of the port.
class NoCounters : public ::testing::Test {
 protected:
  NoCounters() { engine_.healthy("a"); }

  std::vector<std::string> times_out(double t, const std::string& word = "inconclusive:timeout") {
    return said(engine_.feed(t, CanaryResult{"chat", "a", {word, word, word, word}, {}}));
  }
  std::vector<std::string> bytes(double t, bool sent) { return said(engine_.feed(t, PortBytes{sent})); }
  bool restarted() const { return engine_.state.operation.has_value(); }

  Engine engine_;
};

TEST_F(NoCounters, TwoTimedOutRunsAndNoByteAreAStall) {
  for (const std::string word : {"timeout", "inconclusive:timeout"}) {
    engine_ = Engine();
    engine_.healthy("a");
    times_out(1000, word);
    bytes(1001, false);
    EXPECT_FALSE(restarted()) << "one run";
    EXPECT_THAT(times_out(1060, word), Contains("restart R5")) << word;
  }
}

TEST_F(NoCounters, TheByteCountMayComeAfterTheSecondRun) {
  times_out(1000);
  times_out(1060);
  EXPECT_FALSE(restarted()) << "of the port nothing is known";
  EXPECT_THAT(bytes(1061, false), Contains("restart R5"));
}

TEST_F(NoCounters, ALookAtThePortBeforeTheFirstRunEndedSaysNothing) {
  bytes(999.999, false);
  times_out(1000);
  times_out(1060);
  EXPECT_FALSE(restarted());
}

TEST_F(NoCounters, AByteThatWasSentIsProgress) {
  times_out(1000);
  bytes(1030, true);
  times_out(1060);
  bytes(1061, false);
  EXPECT_FALSE(restarted()) << "one timed-out run since then";
  EXPECT_THAT(times_out(1120), Contains("restart R5"));
}

TEST_F(NoCounters, ARunOfWhichOneCallDidNotTimeOutBreaksTheRow) {
  times_out(1000);
  bytes(1001, false);
  engine_.feed(1060, CanaryResult{"chat",
                                  "a",
                                  {"inconclusive:timeout", "inconclusive:timeout", "inconclusive:timeout",
                                   "inconclusive:refused"},
                                  {}});
  times_out(1120);
  bytes(1121, false);
  EXPECT_FALSE(restarted());
}

TEST_F(NoCounters, BusyRunsAreNoTimeouts) {
  bytes(1001, false);
  times_out(1000 + 2, "inconclusive:busy");
  times_out(1060, "inconclusive:busy");
  bytes(1061, false);
  EXPECT_FALSE(restarted());
}

TEST_F(NoCounters, IsNotAskedWhereCountersTell) {
  engine_.counters(1000, 3, 10);
  times_out(1001);
  engine_.counters(1030, 3, 20);
  times_out(1060);
  bytes(1061, false);
  EXPECT_FALSE(restarted());
}

TEST_F(NoCounters, IsAskedWhereTheEngineTellsNone) {
  engine_.feed(990, sample({}, {}, {}, {}));
  times_out(1000);
  times_out(1060);
  EXPECT_THAT(bytes(1061, false), Contains("restart R5"));
}

TEST_F(NoCounters, RunsOfAnEarlierLifeDoNotCount) {
  times_out(1000);
  engine_.start(1010, "b");
  engine_.ready(1011, "b");
  engine_.feed(1060, CanaryResult{"chat",
                                  "b",
                                  {"inconclusive:timeout", "inconclusive:timeout", "inconclusive:timeout",
                                   "inconclusive:timeout"},
                                  {}});
  bytes(1061, false);
  EXPECT_FALSE(restarted());
}

TEST(TimedOutRun, IsOneOfWhichEveryCallTimedOut) {
  EXPECT_TRUE(timed_out({"timeout"}));
  EXPECT_TRUE(timed_out({"timeout", "inconclusive:timeout"}));
  EXPECT_FALSE(timed_out({"timeout", "ok"}));
  EXPECT_FALSE(timed_out({"inconclusive:busy"}));
  EXPECT_FALSE(timed_out({}));
}

}  // namespace
}  // namespace fireboss::policy
