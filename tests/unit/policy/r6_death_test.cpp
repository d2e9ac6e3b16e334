// R6: how a life ended is told by the job that ended it, never by an exit status; who starts what is down.
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

LifeEnded ended(const std::string& life, std::optional<bool> stop_job, std::optional<bool> restart_job = {},
                std::optional<bool> auto_restart = {}) {
  return {.life = life,
          .result = "success",
          .exit_status = {},
          .stop_job = stop_job,
          .restart_job = restart_job,
          .auto_restart = auto_restart};
}

class EndOfLife : public ::testing::Test {
 protected:
  EndOfLife() { engine_.healthy("a"); }
  bool starting() const {
    return engine_.state.operation && engine_.state.operation->action == ActionKind::kStart;
  }

  Engine engine_;
};

TEST_F(EndOfLife, IsOnPurposeOnlyByAStopJobThatIsNoRestart) {
  struct Row {
    std::optional<bool> stop_job, restart_job;
    LifeEnd end;
  };
  for (const auto& row : std::vector<Row>{{true, {}, LifeEnd::kOnPurpose},
                                          {true, false, LifeEnd::kOnPurpose},
                                          {true, true, LifeEnd::kReplaced},
                                          {false, {}, LifeEnd::kDeath},
                                          {false, false, LifeEnd::kDeath},
                                          {{}, {}, LifeEnd::kDeath},
                                          {{}, true, LifeEnd::kDeath}}) {
    engine_ = Engine();
    engine_.healthy("a");
    engine_.feed(1000, ended("a", row.stop_job, row.restart_job));
    EXPECT_EQ(engine_.state.life->end, row.end);
  }
}

TEST_F(EndOfLife, IsNotToldByTheExitStatusOrTheResult) {
  for (const int status : {0, 1, 9, 137, 143})
    for (const std::string result : {"success", "exit-code", "signal", "oom-kill", "watchdog", ""})
      for (const bool stop : {false, true}) {
        Engine engine;
        engine.healthy("a");
        auto event = ended("a", stop, false, false);
        event.exit_status = status;
        event.result = result;
        engine.feed(1000, event);
        EXPECT_EQ(engine.state.life->end, stop ? LifeEnd::kOnPurpose : LifeEnd::kDeath)
            << status << " " << result;
        engine.run_until(1010);
        EXPECT_EQ(engine.state.operation.has_value(), !stop) << status << " " << result;
      }
}

TEST_F(EndOfLife, ByDeathIsStartedAfterDeadGraceAndNotAMillisecondBefore) {
  EXPECT_EQ(Policy{}.dead_grace, seconds(10));
  for (const auto restarts : {std::optional<bool>(), std::optional<bool>(false)}) {
    engine_ = Engine();
    engine_.healthy("a");
    EXPECT_THAT(said(engine_.died(1000, "a", restarts)), ElementsAre("no_action R6"));
    EXPECT_THAT(engine_.run_until(1009.999), IsEmpty());
    const auto decisions = engine_.run_until(1010);
    ASSERT_THAT(said(decisions), ElementsAre("restart R6"));
    EXPECT_EQ(decisions.front().action, ActionKind::kStart);
    EXPECT_TRUE(decisions.front().charged) << "charged to R4";
    EXPECT_EQ(engine_.state.charges.size(), 1U);
  }
}

TEST_F(EndOfLife, IsLeftToSystemdWhereItHasScheduledAStart) {
  engine_.died(1000, "a", true);
  engine_.run_until(1000 + 24 * 3600);
  EXPECT_FALSE(engine_.state.operation.has_value());
}

TEST_F(EndOfLife, IsLeftToSystemdWhereThatIsToldWithinTheGrace) {
  engine_.died(1000, "a", {});
  engine_.died(1009.999, "a", true);
  engine_.run_until(1200);
  EXPECT_FALSE(engine_.state.operation.has_value());
}

TEST_F(EndOfLife, IsOverWhenTheNextLifeBeginsWithinTheGrace) {
  engine_.died(1000, "a", {});
  engine_.start(1009.999, "b");
  engine_.run_until(1200);
  EXPECT_FALSE(engine_.state.operation.has_value());
}

TEST_F(EndOfLife, IsPagedWhereSystemdsScheduledStartDoesNotComeWithinTheReadyDeadline) {
  engine_.died(1000, "a", true);
  EXPECT_THAT(said(engine_.run_until(1000 + 899.999)), IsEmpty());
  EXPECT_THAT(said(engine_.run_until(1000 + 900)), ElementsAre("alert R7"));
  EXPECT_FALSE(engine_.state.operation.has_value());
}

TEST_F(EndOfLife, ToldTwiceStaysWhatAndWhenItWas) {
  engine_.died(1000, "a", {});
  engine_.died(1005, "a", {});
  EXPECT_EQ(engine_.state.life->end, LifeEnd::kDeath);
  EXPECT_EQ(engine_.state.life->ended, at(1000));
  engine_.run_until(1010);
  EXPECT_TRUE(starting());
}

TEST_F(EndOfLife, OfAnotherLifeIsNoneOfThisOne) {
  engine_.start(1000, "b");
  engine_.ready(1001, "b");
  engine_.died(1002, "a", false);
  engine_.run_until(1100);
  EXPECT_TRUE(alive(engine_.state));
  EXPECT_FALSE(engine_.state.operation.has_value());
}

TEST_F(EndOfLife, ByARestartJobThatIsNotOursIsStartedWhenItsOwnStartDoesNotCome) {
  engine_.feed(1000, ended("a", true, true, false));
  EXPECT_THAT(engine_.run_until(1009.999), IsEmpty());
  EXPECT_THAT(said(engine_.run_until(1010)), ElementsAre("restart R6"));
}

TEST_F(EndOfLife, OnPurposeIsNeverRepairedAndRemindedOfAfterTheGrace) {
  EXPECT_EQ(Policy{}.maintenance_grace, hours(4));
  EXPECT_THAT(said(engine_.feed(1000, ended("a", true))), ElementsAre("no_action down_on_purpose"));
  EXPECT_THAT(engine_.run_until(1000 + 4 * 3600 - 0.001), IsEmpty());
  EXPECT_THAT(said(engine_.run_until(1000 + 4 * 3600)), ElementsAre("alert down_on_purpose"));
  EXPECT_THAT(engine_.run_until(1000 + 48 * 3600), IsEmpty()) << "once";
  EXPECT_FALSE(engine_.state.operation.has_value());
  EXPECT_FALSE(canary_due(engine_.state).has_value()) << "it rests";
  engine_.start(200'000, "b", LifeCause::kOperator);
  EXPECT_FALSE(engine_.state.open_alerts.contains("down_on_purpose"));
}

TEST_F(EndOfLife, OnPurposeIsUndoneByTheOperatorsWord) {
  engine_.feed(1000, ended("a", true));
  EXPECT_THAT(said(engine_.feed(1100, OperatorRestart{""})), ElementsAre("restart R4"));
  EXPECT_TRUE(starting());
}

TEST_F(EndOfLife, AtAStartLimitNotOfOurMakingIsPagedAndNeverStarted) {
  for (const bool by_result : {false, true}) {
    engine_ = Engine();
    engine_.healthy("a");
    auto event = ended("a", false, false, false);
    (by_result ? event.result = "start-limit-hit" : event.result = "exit-code");
    event.start_limit = !by_result;
    EXPECT_THAT(said(engine_.feed(1000, event)), Contains("alert R6"));
    EXPECT_THAT(engine_.run_until(1000 + 48 * 3600), IsEmpty());
    EXPECT_FALSE(engine_.state.operation.has_value());
    engine_.start(200'000, "b", LifeCause::kOperator);
    EXPECT_FALSE(engine_.state.open_alerts.contains("R6/limit"));
  }
}

TEST_F(EndOfLife, SixTimesAnHourWithRestartNoIsStartedWithinTheBudgetThenPaged) {
  int starts = 0;
  std::string life = "a";
  double t = 1000;
  for (int i = 0; i < 6; ++i) {
    engine_.died(t, life, false);
    const auto decisions = engine_.run_until(t + 60);
    for (const auto& decision : decisions)
      starts += decision.kind == DecisionKind::kRestart ? 1 : 0;
    if (!starting())
      break;
    const auto next = "n" + std::to_string(i);
    engine_.feed(t + 61, ActionOutcome{ActionKind::kStart, Step::kJob, StepResult::kDone, ""});
    engine_.start(t + 62, life = next, LifeCause::kFirebossd);
    engine_.ready(t + 70, life);
    engine_.run(t + 80, life, 0);
    t += 600;
  }
  EXPECT_EQ(starts, 2);
  EXPECT_TRUE(engine_.state.open_alerts.contains("R4/dead"));
}

TEST_F(EndOfLife, IsTriedAgainAGraceAfterAStartThatFailed) {
  engine_.policy.budget = 10;
  engine_.died(1000, "a", false);
  engine_.run_until(1010);
  ASSERT_TRUE(starting());
  engine_.feed(1020, ActionOutcome{ActionKind::kStart, Step::kJob, StepResult::kFailed, ""});
  EXPECT_FALSE(engine_.state.operation.has_value());
  engine_.run_until(1029.999);
  EXPECT_FALSE(starting());
  engine_.run_until(1030);
  EXPECT_TRUE(starting());
  EXPECT_EQ(engine_.state.charges.size(), 2U) << "each is charged";
}

// What our own restart job took down.
class OurOwnEnd : public EndOfLife {
 protected:
  OurOwnEnd() {
    engine_.run(1000, "a", 4);
    engine_.feed(1001, ended("a", true, true, false));
  }
  std::vector<Decision> job_failed(double t) {
    return engine_.feed(t, ActionOutcome{ActionKind::kRestart, Step::kJob, StepResult::kFailed, ""});
  }
};

TEST_F(OurOwnEnd, IsStartedAgainAtOnceAndAtNoCharge) {
  EXPECT_EQ(engine_.state.life->end, LifeEnd::kOurs);
  const auto charges = engine_.state.charges.size();
  const auto decisions = job_failed(1010);
  EXPECT_THAT(said(decisions), Contains("restart R6"));
  EXPECT_TRUE(starting());
  EXPECT_EQ(engine_.state.charges.size(), charges);
}

TEST_F(OurOwnEnd, IsStartedAgainUnderAHoldInObserveAndWithoutBudget) {
  engine_.policy.budget = 0;
  engine_.feed(1002, OperatorHold{hours(2), "wait"});
  engine_.feed(1003, OperatorMode{Mode::kObserve});
  job_failed(1010);
  EXPECT_TRUE(starting()) << "it is the rest of what was begun, no new action";
}

TEST_F(OurOwnEnd, IsStartedOnceMoreAndThenPaged) {
  job_failed(1010);
  const auto decisions =
      engine_.feed(1020, ActionOutcome{ActionKind::kStart, Step::kJob, StepResult::kFailed, ""});
  EXPECT_THAT(said(decisions), Contains("alert R6"));
  EXPECT_FALSE(engine_.state.operation.has_value());
  EXPECT_THAT(said(engine_.run_until(90'000)), Not(Contains(StartsWith("restart"))));
}

TEST_F(OurOwnEnd, AtAStartLimitIsResetAndStartedOnce) {
  auto event = ended("a", true, true, false);
  event.start_limit = true;
  EXPECT_THAT(said(engine_.feed(1010, event)), Contains("restart R6"));
  EXPECT_TRUE(starting());
  EXPECT_FALSE(engine_.state.open_alerts.contains("R6/limit"));
}

TEST_F(OurOwnEnd, GivesItsNextOneAnotherStartOfItsOwn) {
  job_failed(1010);
  engine_.feed(1015, ActionOutcome{ActionKind::kStart, Step::kJob, StepResult::kDone, ""});
  engine_.start(1016, "b", LifeCause::kFirebossd);
  engine_.ready(1020, "b");
  engine_.run(1030, "b", 0);
  engine_.run(1040, "b", 4);
  engine_.feed(1041, ended("b", true, true, false));
  job_failed(1050);
  EXPECT_TRUE(starting()) << "it has been up in between";
}

// A required process role missing in two censuses five seconds apart.
class MissingRole : public EndOfLife {
 protected:
  std::vector<std::string> census(double t, std::vector<std::string> missing, const std::string& life = "a") {
    return said(engine_.feed(t, Census{life, std::move(missing)}));
  }
};

TEST_F(MissingRole, InTwoLooksFiveSecondsApartIsADeadEngine) {
  EXPECT_EQ(Policy{}.census_confirm, seconds(5));
  EXPECT_THAT(census(1000, {"worker"}), ElementsAre("no_action R6"));
  EXPECT_THAT(census(1004.999, {"worker"}), ElementsAre("no_action R6"));
  EXPECT_THAT(census(1005, {"worker"}), ElementsAre("restart R6"));
  EXPECT_EQ(engine_.state.operation->action, ActionKind::kRestart) << "the unit is up";
}

TEST_F(MissingRole, InOneLookIsNoneHoweverLongAgo) {
  census(1000, {"worker"});
  EXPECT_THAT(said(engine_.run_until(5000)), Not(Contains(StartsWith("restart"))));
}

TEST_F(MissingRole, ThatCameBackInBetweenCountsAnew) {
  census(1000, {"worker"});
  census(1003, {});
  EXPECT_THAT(census(1006, {"worker"}), ElementsAre("no_action R6"));
  EXPECT_THAT(census(1011, {"worker"}), ElementsAre("restart R6"));
}

TEST_F(MissingRole, AndAnotherMissingRoleAreTwoThatAreSeenOnce) {
  census(1000, {"worker"});
  EXPECT_THAT(census(1006, {"core"}), ElementsAre("no_action R6"));
  EXPECT_THAT(census(1012, {"core", "worker"}), ElementsAre("restart R6"));
}

TEST_F(MissingRole, OfAnotherLifeOrBeforeReadyIsNotCounted) {
  census(1000, {"worker"}, "z");
  EXPECT_THAT(census(1006, {"worker"}, "z"), IsEmpty());
  engine_.start(1010, "b");
  census(1011, {"worker"}, "b");
  EXPECT_THAT(census(1017, {"worker"}, "b"), IsEmpty()) << "it is still loading";
  engine_.ready(1018, "b");
  EXPECT_THAT(census(1019, {"worker"}, "b"), ElementsAre("no_action R6")) << "the first look";
}

TEST_F(MissingRole, IsActedOnOnceInObserve) {
  engine_.policy.mode = Mode::kObserve;
  census(1000, {"worker"});
  EXPECT_THAT(census(1005, {"worker"}), ElementsAre("no_action R6"));
  EXPECT_THAT(census(1010, {"worker"}), IsEmpty());
  EXPECT_EQ(engine_.state.shadow_charges.size(), 1U);
  census(1015, {});
  census(1020, {"worker"});
  EXPECT_THAT(census(1025, {"worker"}), ElementsAre("no_action R6")) << "another episode";
  EXPECT_EQ(engine_.state.shadow_charges.size(), 2U);
}

// How a crash loop is ended by hand: the stop comes after the death, while systemd or we are about to start
// it again.
TEST(StopAfterDeathTest, IsTheOperatorsWord) {
  for (const bool auto_restart : {false, true}) {
    Engine engine;
    engine.healthy("a");
    engine.died(1000, "a", auto_restart);
    EXPECT_EQ(engine.state.life->end, LifeEnd::kDeath);
    const LifeEnded stop{.life = "a",
                         .result = "success",
                         .exit_status = 0,
                         .stop_job = true,
                         .restart_job = false,
                         .auto_restart = false};
    EXPECT_THAT(said(engine.feed(1002, stop)), Contains(StartsWith("no_action down_on_purpose")));
    EXPECT_EQ(engine.state.life->end, LifeEnd::kOnPurpose);
    engine.run_until(2000);
    EXPECT_FALSE(engine.state.operation.has_value());
  }
}

}  // namespace
}  // namespace fireboss::policy
