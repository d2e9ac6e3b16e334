#include "supervisor/app/metrics_page.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

namespace fireboss::app {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Millis kWallOfZero{1'786'431'458'000};

class MetricsPageTest : public ::testing::Test {
 protected:
  MetricsPageTest() {
    policy_.mode = policy::Mode::kEnforce;
    policy_.variants = {"chat", "chat-cold"};
    state_.assume_calibrated = true;
    wall_.update(MonoTime{Millis{0}}, WallTime{kWallOfZero});
  }
  void feed(policy::EventBody body) {
    now_ += Millis{1'000};
    const policy::Event event{now_, std::move(body)};
    auto stepped = policy::step(policy_, state_, event);
    tally_.count(policy_, state_, event, stepped);
    state_ = std::move(stepped.state);
  }
  void run(std::vector<std::string> results, const std::string& variant = "chat") {
    feed(policy::CanaryResult{variant, "a", std::move(results), policy::Purpose::kScheduled});
  }
  void bring_up() {
    feed(policy::LifeStarted{"a", policy::LifeCause::kSystemd, "f", Millis{0}});
    feed(policy::Ready{"a", "f"});
    run({"ok", "ok", "ok", "ok"});
    run({"ok", "ok", "ok", "ok"}, "chat-cold");
  }
  std::string page(const std::string& name = "e") {
    const EngineFacts engine{.name = name,
                             .unit = "vllm.service",
                             .policy = policy_,
                             .state = state_,
                             .tally = tally_,
                             .watched = watched_,
                             .records_waiting = 0,
                             .last_progress = now_ - Millis{250}};
    return metrics_page({.version = "1.2.3",
                         .decider_version = "d7",
                         .grader_version = "g2",
                         .started = WallTime{kWallOfZero},
                         .cpu = Millis{1'234},
                         .resident_bytes = 4096,
                         .loop_lag = Millis{2},
                         .loop_lag_most = Millis{30},
                         .database_bytes = 65536,
                         .wal_bytes = {}},
                        {engine}, now_, wall_);
  }
  std::vector<std::string> lines() {
    std::vector<std::string> out;
    std::istringstream in(page());
    for (std::string line; std::getline(in, line);)
      out.push_back(line);
    return out;
  }
  // Unix seconds as the page writes them.
  static std::string unix_of(MonoTime at) {
    const auto ms = (at.time_since_epoch() + kWallOfZero).count();
    const auto rest = std::to_string(ms % 1000);
    return std::to_string(ms / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
  }

  policy::Policy policy_;
  policy::State state_;
  EngineTally tally_;
  WallOffset wall_;
  MonoTime now_{Millis{1'000'000}};
  bool watched_ = true;
};

TEST_F(MetricsPageTest, TellsWhenEachVariantWasLastAskedAndHowItWent) {
  bring_up();
  const auto passed = now_;
  run({"leak", "ok", "inconclusive:busy", "inconclusive:busy"}, "chat-cold");
  const auto suspect = now_;
  run({"inconclusive:busy", "inconclusive:busy", "inconclusive:busy", "inconclusive:busy"}, "chat-cold");
  const std::string series = "fireboss_canary_last_run_timestamp_seconds{engine=\"e\",variant=\"chat-cold\",";
  const auto all = lines();
  EXPECT_THAT(all, Contains(series + "outcome=\"pass\"} " + unix_of(passed)));
  EXPECT_THAT(all, Contains(series + "outcome=\"suspect\"} " + unix_of(suspect)));
  EXPECT_THAT(all, Contains(series + "outcome=\"inconclusive\"} " + unix_of(now_)));
  EXPECT_THAT(page(), Not(HasSubstr(series + "outcome=\"fail\"")));
  EXPECT_THAT(all,
              Contains("fireboss_canary_calls_total{engine=\"e\",variant=\"chat-cold\",grade=\"pass\"} 5"));
  EXPECT_THAT(
      all,
      Contains("fireboss_canary_not_passed_total{engine=\"e\",variant=\"chat-cold\",verdict=\"busy\"} 6"));
}

// firebossd was started anew: its counters begin at 0, what the record remembers of the runs is shown.
TEST_F(MetricsPageTest, RemembersTheLastPassOfAPredecessor) {
  bring_up();
  const auto passed = now_;
  run({"leak", "ok", "inconclusive:busy", "inconclusive:busy"}, "chat-cold");
  run({"leak", "leak", "leak", "ok"}, "chat-cold");
  tally_ = {};
  EXPECT_THAT(lines(),
              Contains("fireboss_canary_last_run_timestamp_seconds{engine=\"e\",variant=\"chat-cold\","
                       "outcome=\"pass\"} " +
                       unix_of(passed)));
  EXPECT_THAT(lines(),
              Contains("fireboss_canary_calls_total{engine=\"e\",variant=\"chat-cold\",grade=\"pass\"} 0"));
}

// Until the unit has been looked at, the state's times may be of another boot's clock.
TEST_F(MetricsPageTest, ShowsNoTimesOfTheRecordBeforeTheUnitWasLookedAt) {
  bring_up();
  tally_ = {};
  watched_ = false;
  EXPECT_THAT(page(), Not(HasSubstr("fireboss_canary_last_run_timestamp_seconds{")));
  EXPECT_THAT(page(), Not(HasSubstr("fireboss_engine_life_start_time_seconds{")));
  EXPECT_THAT(lines(), Contains("fireboss_engine_state{engine=\"e\",state=\"unknown\"} 1"));
}

TEST_F(MetricsPageTest, ShowsDegradedOperationAndWhatItCosts) {
  bring_up();
  EXPECT_THAT(lines(), Contains("fireboss_engine_degraded{engine=\"e\"} 0"));
  EXPECT_THAT(lines(), Contains("fireboss_restart_budget_left{engine=\"e\"} 2"));
  EXPECT_THAT(lines(), Contains("fireboss_engine_state{engine=\"e\",state=\"serving\"} 1"));
  run({"leak", "leak", "leak", "ok"});
  const auto all = lines();
  EXPECT_THAT(all, Contains("fireboss_engine_degraded{engine=\"e\"} 1"));
  EXPECT_THAT(all, Contains("fireboss_canary_degraded{engine=\"e\",variant=\"chat\"} 1"));
  EXPECT_THAT(all, Contains("fireboss_operation_open{engine=\"e\"} 1"));
  EXPECT_THAT(all, Contains("fireboss_operation_step{engine=\"e\",action=\"restart\",step=\"evidence\"} 1"));
  EXPECT_THAT(all, Contains("fireboss_restart_budget_left{engine=\"e\"} 1"));
  EXPECT_THAT(page(), Not(HasSubstr("fireboss_engine_answering_since_timestamp_seconds{")));
}

TEST_F(MetricsPageTest, ShowsWhatHoldsARestartBack) {
  bring_up();
  EXPECT_EQ(blocker(policy_, state_), "");
  feed(policy::Lease{"GPU-1", "jane's \"job\"\n", true});
  run({"leak", "leak", "leak", "ok"});
  EXPECT_EQ(blocker(policy_, state_), "lease");
  EXPECT_THAT(lines(), Contains("fireboss_blocked{engine=\"e\",by=\"lease\"} 1"));
  EXPECT_THAT(lines(), Contains("fireboss_lease_held{engine=\"e\"} 1"));
  EXPECT_THAT(lines(), Contains("fireboss_alerts_open{engine=\"e\",severity=\"critical\"} 1"));
  EXPECT_THAT(page(), Not(HasSubstr("jane"))) << "what others wrote is no label";
  feed(policy::OperatorHold{Millis{3'600'000}, "a \"why\""});
  EXPECT_EQ(blocker(policy_, state_), "hold");
  EXPECT_THAT(lines(), Contains("fireboss_hold_until_timestamp_seconds{engine=\"e\"} " +
                                unix_of(now_ + Millis{3'600'000})));
  EXPECT_THAT(page(), Not(HasSubstr("a \\\"why")));
  feed(policy::OwnFault{policy::OwnFaultKind::kDiskFull, false});
  EXPECT_EQ(blocker(policy_, state_), "own_fault");
  EXPECT_THAT(lines(), Contains("fireboss_own_fault{engine=\"e\",kind=\"disk_full\"} 1"));
}

TEST_F(MetricsPageTest, ShowsTheBudgetAndTheModeAsBlockersOfWhatTheyAnswered) {
  bring_up();
  policy_.budget = 0;
  run({"leak", "leak", "leak", "ok"});
  EXPECT_EQ(blocker(policy_, state_), "budget");
  policy_.budget = 2;
  feed(policy::OperatorMode{policy::Mode::kObserve});
  run({"leak", "leak", "leak", "ok"});
  EXPECT_EQ(blocker(policy_, state_), "observe");
  EXPECT_THAT(lines(), Contains("fireboss_engine_mode{engine=\"e\",mode=\"observe\"} 1"));
}

// Scraped by promtool in tests/prometheus as well; this needs none.
TEST_F(MetricsPageTest, IsInThePrometheusTextFormat) {
  bring_up();
  run({"leak", "leak", "leak", "ok"});
  static const std::regex kSample(
      R"(([a-z_]+)(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? -?[0-9]+(\.[0-9]+)?)");
  std::set<std::string> seen, series;
  std::string family, type;
  for (const auto& line : lines()) {
    std::smatch match;
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(seen.insert(family).second) << family << " stands there twice";
    } else if (line.starts_with("# TYPE ")) {
      ASSERT_EQ(line.substr(7, family.size()), family);
      type = line.substr(8 + family.size());
      EXPECT_EQ(type == "counter", family.ends_with("_total")) << family;
    } else {
      ASSERT_TRUE(std::regex_match(line, match, kSample)) << line;
      EXPECT_EQ(match[1], family);
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  }
  EXPECT_GT(series.size(), 80U);
  EXPECT_LT(series.size(), 200U) << "of one engine with two variants";
}

TEST_F(MetricsPageTest, EscapesLabels) {
  EXPECT_THAT(page("a\"b\\c\nd"), HasSubstr("fireboss_engine_degraded{engine=\"a\\\"b\\\\c\\nd\"} 0\n"));
}

}  // namespace
}  // namespace fireboss::app
