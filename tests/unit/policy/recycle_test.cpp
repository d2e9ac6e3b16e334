// Recycle: when it comes due, at which moment it goes, what counts as traffic, and who is named when it is
// overdue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// max_age 4 h; the engine has been watched without traffic for an hour before that.
class Recycle : public ::testing::Test {
 protected:
  Recycle() {
    engine_.policy.max_age = hours(4);
    engine_.healthy("a");
  }
  void quiet_from(double t) { engine_.counters(t, 0, 1000); }
  bool recycling() const {
    return engine_.state.operation && engine_.state.operation->action == ActionKind::kRecycle;
  }
  static std::vector<std::string> only(const std::string& word, const std::vector<Decision>& decisions) {
    std::vector<std::string> out;
    for (const auto& text : said(decisions))
      if (text.find(word) != std::string::npos)
        out.push_back(text);
    return out;
  }

  Engine engine_;
};

TEST_F(Recycle, ComesDueAtTheHourlyCheckAtWhichTheLifeIsMaxAgeOld) {
  quiet_from(100);
  engine_.run_until(4 * 3600 - 0.001);
  EXPECT_FALSE(recycling());
  EXPECT_THAT(said(engine_.run_until(4 * 3600)), Contains("recycle recycle"));
  EXPECT_TRUE(recycling());
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_F(Recycle, IsNotDueAtTheCheckAMillisecondShort) {
  engine_.policy.max_age = hours(4) + Millis{1};
  quiet_from(100);
  engine_.run_until(5 * 3600 - 0.001);
  EXPECT_FALSE(recycling());
  engine_.run_until(5 * 3600);
  EXPECT_TRUE(recycling());
}

TEST_F(Recycle, IsCheckedByTheNewConfigurationAtOnce) {
  quiet_from(100);
  engine_.policy.max_age = Millis{60'000};
  engine_.policy.recycle_check_every = Millis{10'000};
  engine_.feed(301, Configured{.policy_hash = "q", .suite_hash = "", .mode = {}});
  engine_.run_until(309.999);
  EXPECT_FALSE(recycling());
  engine_.run_until(310);
  EXPECT_TRUE(recycling());
}

TEST_F(Recycle, IsNoLongerDueOnceTheConfigurationKnowsNoMaxAge) {
  engine_.counters(4 * 3600 - 100, 3, 1000);
  engine_.run_until(4 * 3600);
  EXPECT_TRUE(engine_.state.recycle.due_since);
  engine_.policy.max_age.reset();
  engine_.feed(4 * 3600 + 1, Configured{.policy_hash = "q", .suite_hash = "", .mode = {}});
  EXPECT_FALSE(engine_.state.recycle.due_since);
  quiet_from(4 * 3600 + 2);
  engine_.run_until(6 * 3600);
  EXPECT_FALSE(recycling());
}

TEST_F(Recycle, IsNeverDueWithoutAMaxAge) {
  engine_.policy.max_age.reset();
  quiet_from(100);
  engine_.run_until(40 * 3600);
  EXPECT_FALSE(engine_.state.operation.has_value());
}

TEST_F(Recycle, CountsFromTheStartOfTheLifeNotFromReady) {
  engine_ = Engine();
  engine_.policy.max_age = hours(4);
  engine_.start(1000, "a");
  engine_.ready(4000, "a");
  engine_.run(4001, "a", 0);
  quiet_from(4002);
  engine_.run_until(1000 + 4 * 3600 - 0.001);
  EXPECT_FALSE(recycling());
  engine_.run_until(1000 + 4 * 3600);
  EXPECT_TRUE(recycling());
}

TEST_F(Recycle, WaitsForAnEngineThatIsNotReady) {
  engine_ = Engine();
  engine_.policy.max_age = hours(1);
  engine_.start(0, "a");
  quiet_from(100);
  engine_.run_until(3600);
  EXPECT_FALSE(recycling());
  engine_.ready(4000, "a");
  EXPECT_TRUE(recycling());
}

TEST_F(Recycle, WaitsForTheEndOfACanaryRun) {
  quiet_from(100);
  engine_.feed(4 * 3600 - 1, CanaryBegun{"chat", "a", Purpose::kScheduled});
  const auto decisions = engine_.run_until(4 * 3600);
  EXPECT_THAT(said(decisions), Contains("defer recycle"));
  EXPECT_FALSE(recycling());
  EXPECT_THAT(said(engine_.run(4 * 3600 + 5, "a", 0)), Contains("recycle recycle"));
}

TEST_F(Recycle, GoesByItselfTheMomentTheTrafficEnds) {
  engine_.counters(14'000, 0, 1000);
  engine_.counters(14'200, 0, 1100);  // a hundred tokens since
  engine_.counters(14'399, 1, 2000);
  const auto decisions = engine_.run_until(14'400);
  ASSERT_THAT(said(decisions), Contains("defer recycle"));
  EXPECT_EQ(decisions.back().by, "traffic");
  EXPECT_FALSE(decisions.back().until.has_value()) << "nobody knows when a request ends";
  engine_.counters(14'500, 0, 3000);
  EXPECT_FALSE(recycling()) << "its last tokens are fresh";
  engine_.run_until(14'589.999);
  EXPECT_FALSE(recycling());
  engine_.run_until(14'590);
  EXPECT_TRUE(recycling());
}

TEST_F(Recycle, IsTriedAgainOnlyAtTheNextCheckAfterOneThatFailed) {
  quiet_from(100);
  engine_.run_until(4 * 3600);
  ASSERT_TRUE(recycling());
  engine_.feed(4 * 3600 + 1, ActionOutcome{ActionKind::kRecycle, Step::kJob, StepResult::kFailed, ""});
  ASSERT_FALSE(engine_.state.operation.has_value());
  engine_.run_until(5 * 3600 - 0.001);
  EXPECT_FALSE(recycling());
  engine_.run_until(5 * 3600);
  EXPECT_TRUE(recycling());
}

TEST_F(Recycle, GivesWayToWhatIsMoreUrgent) {
  engine_.counters(14'399, 1, 2000);
  engine_.run_until(14'400);
  EXPECT_THAT(said(engine_.run(14'401, "a", 4)), ElementsAre("restart R2"));
}

TEST_F(Recycle, OfTheNextLifeIsCheckedByItsOwnAge) {
  quiet_from(100);
  engine_.run_until(14'400);
  engine_.restarted(14'401, "a", "b");
  engine_.run(14'420, "b", 0);
  quiet_from(14'500);
  engine_.run_until(14'402 + 4 * 3600 - 0.001);
  EXPECT_FALSE(recycling());
  engine_.run_until(14'402 + 4 * 3600);
  EXPECT_TRUE(recycling());
}

TEST_F(Recycle, AskedForByTheOperatorGoesAtTheNextQuietMomentWhateverTheAge) {
  engine_.counters(1000, 1, 10);
  EXPECT_THAT(said(engine_.feed(1001, OperatorRecycle{})), ElementsAre("defer recycle"));
  engine_.counters(1010, 0, 11);
  engine_.run_until(1089.999);
  EXPECT_FALSE(recycling());
  engine_.run_until(1090);
  EXPECT_TRUE(recycling());
}

// Past overdue_after an alert, daily at most, names the blocker.
TEST_F(Recycle, IsOverdueADayAfterItCameDueAndToldOnceADay) {
  EXPECT_EQ(Policy{}.overdue_after, hours(24));
  engine_.counters(14'000, 3, 1);
  const double due = 4 * 3600;
  EXPECT_THAT(only("overdue", engine_.run_until(due + 24 * 3600 - 0.001)), IsEmpty());
  auto decisions = engine_.run_until(due + 24 * 3600);
  ASSERT_THAT(only("overdue", decisions), ElementsAre("alert overdue"));
  EXPECT_THAT(only("overdue", engine_.run_until(due + 48 * 3600 - 0.001)), IsEmpty());
  EXPECT_THAT(only("overdue", engine_.run_until(due + 48 * 3600)), ElementsAre("alert overdue"));
  EXPECT_FALSE(recycling()) << "nothing is forced";
}

TEST_F(Recycle, IsToldOnceADayHoweverShortOrLongOverdueAfterIs) {
  for (const auto after : {hours(1), hours(36)}) {
    engine_ = Engine();
    engine_.policy.max_age = hours(4);
    engine_.policy.overdue_after = after;
    engine_.healthy("a");
    engine_.counters(14'000, 3, 1);
    const double first = 4 * 3600 + static_cast<double>(after.count()) / 1000;
    EXPECT_THAT(only("overdue", engine_.run_until(first - 0.001)), IsEmpty());
    EXPECT_THAT(only("overdue", engine_.run_until(first)), ElementsAre("alert overdue"));
    EXPECT_THAT(only("overdue", engine_.run_until(first + 24 * 3600 - 0.001)), IsEmpty());
    EXPECT_THAT(only("overdue", engine_.run_until(first + 24 * 3600)), ElementsAre("alert overdue"));
  }
}

TEST_F(Recycle, IsOverdueNoMoreOnceTheLifeIsOver) {
  engine_.counters(14'000, 3, 1);
  engine_.run_until(30 * 3600);
  ASSERT_TRUE(engine_.state.open_alerts.contains("overdue"));
  engine_.start(31 * 3600, "b");
  EXPECT_FALSE(engine_.state.open_alerts.contains("overdue"));
}

TEST_F(Recycle, NamesWhatBlocksIt) {
  struct Row {
    const char* name;
    void (*block)(Engine&);
  };
  for (const auto& row :
       std::vector<Row>{{"traffic (3 running, 0 waiting)", [](Engine& e) { e.counters(14'000, 3, 1); }},
                        {"traffic (nothing is known", [](Engine&) {}},
                        {"the lease of bench",
                         [](Engine& e) {
                           e.feed(14'000, Lease{"0", "bench", true});
                         }},
                        {"a hold (planned)",
                         [](Engine& e) {
                           e.feed(14'000, OperatorHold{hours(100), "planned"});
                         }},
                        {"disk_full",
                         [](Engine& e) {
                           e.feed(14'000, OwnFault{OwnFaultKind::kDiskFull, false});
                         }},
                        {"gpu_fault_hw",
                         [](Engine& e) {
                           e.feed(14'000, Signature{"gpu_fault_hw", 1, "a"});
                         }},
                        {"observe", [](Engine& e) {
                           e.policy.mode = Mode::kObserve;
                           e.counters(14'000, 0, 1);
                         }}}) {
    engine_ = Engine();
    engine_.policy.max_age = hours(4);
    engine_.healthy("a");
    row.block(engine_);
    std::string reason;
    for (const auto& decision : engine_.run_until((4 + 24) * 3600))
      if (decision.alert_key == "overdue")
        reason = decision.reason;
    EXPECT_THAT(reason, HasSubstr(row.name));
    EXPECT_FALSE(recycling()) << row.name;
  }
}

// The engine has traffic while a request is in flight or tokens were produced within quiet_for; unknown is
// traffic; under quiet_tokens in the window the pings of others do not count.
class TrafficTest : public ::testing::Test {
 protected:
  TrafficTest() { engine_.healthy("a"); }
  Traffic now(double t) const { return traffic(engine_.policy, engine_.state, at(t)); }
  void sample(double t, std::optional<std::int64_t> running, std::optional<std::int64_t> waiting,
              std::optional<std::int64_t> generation) {
    engine_.feed(
        t, Counters{
               .running = running, .waiting = waiting, .prompt_tokens = {}, .generation_tokens = generation});
  }

  Engine engine_;
};

TEST_F(TrafficTest, IsUnknownBeforeTheFirstSampleAndUntilAWindowHasBeenWatched) {
  EXPECT_EQ(now(500), Traffic::kUnknown);
  sample(1000, 0, 0, 5);
  EXPECT_EQ(now(1089.999), Traffic::kUnknown) << "what was produced before the first sample is not known";
  EXPECT_EQ(now(1090), Traffic::kQuiet);
}

TEST_F(TrafficTest, IsARequestInFlight) {
  sample(1000, 0, 0, 5);
  for (const auto& [running, waiting] : std::vector<std::pair<int, int>>{{1, 0}, {0, 1}}) {
    sample(2000, running, waiting, 5);
    EXPECT_EQ(now(9000), Traffic::kBusy);
  }
  sample(9001, 0, 0, 5);
  EXPECT_EQ(now(9001), Traffic::kQuiet) << "when the last request arrived does not matter";
}

TEST_F(TrafficTest, IsSixtyFourTokensInTheWindowAndNotOneFewer) {
  EXPECT_EQ(Policy{}.quiet_tokens, 64);
  EXPECT_EQ(Policy{}.quiet_for, seconds(90));
  for (const auto& [tokens, busy] : std::vector<std::pair<int, bool>>{{63, false}, {64, true}, {65, true}}) {
    engine_ = Engine();
    engine_.healthy("a");
    sample(1000, 0, 0, 100);
    sample(2000, 0, 0, 100 + tokens);
    EXPECT_EQ(now(2000), busy ? Traffic::kBusy : Traffic::kQuiet) << tokens;
  }
}

TEST_F(TrafficTest, LastsExactlyQuietForAfterTheTokens) {
  sample(1000, 0, 0, 100);
  sample(2000, 0, 0, 200);
  EXPECT_EQ(now(2089.999), Traffic::kBusy);
  EXPECT_EQ(now(2090), Traffic::kQuiet);
  EXPECT_EQ(quiet_at(engine_.policy, engine_.state, at(2000)), at(2090));
}

TEST_F(TrafficTest, AddsUpWithinTheWindowOnly) {
  sample(1000, 0, 0, 0);
  sample(2000, 0, 0, 40);
  sample(2089.999, 0, 0, 80);
  EXPECT_EQ(now(2089.999), Traffic::kBusy) << "40 and 40";
  EXPECT_EQ(quiet_at(engine_.policy, engine_.state, at(2089.999)), at(2090));
  EXPECT_EQ(now(2090), Traffic::kQuiet) << "the first 40 are out of the window";
}

TEST_F(TrafficTest, CountsEveryTokenWhereQuietTokensIsZero) {
  engine_.policy.quiet_tokens = 0;
  sample(1000, 0, 0, 100);
  sample(2000, 0, 0, 100);
  EXPECT_EQ(now(2000), Traffic::kQuiet) << "none was produced";
  sample(2001, 0, 0, 101);
  EXPECT_EQ(now(2001), Traffic::kBusy);
}

TEST_F(TrafficTest, IsUnknownWhileTheScrapeFails) {
  sample(1000, 0, 0, 100);
  engine_.feed(
      2000,
      Counters{
          .running = {}, .waiting = {}, .prompt_tokens = {}, .generation_tokens = {}, .scrape_failed = true});
  EXPECT_EQ(now(9000), Traffic::kUnknown);
  sample(9001, 0, 0, 100);
  EXPECT_EQ(now(9001), Traffic::kQuiet);
}

TEST_F(TrafficTest, IsUnknownWhereNothingIsToldOfRequests) {
  sample(1000, {}, {}, 100);
  EXPECT_EQ(now(9000), Traffic::kUnknown);
}

TEST_F(TrafficTest, IsWatchedAnewWhenACounterGoesBack) {
  sample(1000, 0, 0, 100);
  sample(2000, 0, 0, 5);
  EXPECT_EQ(now(2089.999), Traffic::kUnknown);
  EXPECT_EQ(now(2090), Traffic::kQuiet);
}

TEST_F(TrafficTest, WithoutTokenCountersIsTheBytesOnThePort) {
  sample(1000, 0, 0, {});
  EXPECT_EQ(now(9000), Traffic::kUnknown) << "of the port nothing is known either";
  engine_.feed(2000, PortBytes{true});
  EXPECT_EQ(now(2089.999), Traffic::kBusy);
  EXPECT_EQ(now(2090), Traffic::kQuiet);
}

TEST_F(TrafficTest, OfTheLifeBeforeSaysNothing) {
  sample(1000, 0, 0, 100);
  engine_.start(5000, "b");
  EXPECT_EQ(now(5000), Traffic::kUnknown);
}

TEST_F(TrafficTest, IsToldInWords) {
  const auto text = [&](double t) { return traffic_text(engine_.policy, engine_.state, at(t)); };
  EXPECT_EQ(text(999), "nothing is known of the engine's traffic");
  sample(1000, 0, 0, 100);
  EXPECT_EQ(text(1000), "watched for less than 1m30s");
  EXPECT_EQ(text(1090), "no traffic");
  sample(2000, 2, 1, 100);
  EXPECT_EQ(text(2000), "2 running, 1 waiting");
  sample(2010, 0, 0, 300);
  EXPECT_EQ(text(2010), "200 tokens in the last 1m30s");
  sample(2500, 0, 0, {});
  EXPECT_EQ(text(2500), "the engine tells no counters");
}

}  // namespace
}  // namespace fireboss::policy
