// The restart as a state machine: every step with every result, its deadline reached exactly and a
// millisecond before, events of other lives, and events that come twice.
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

// How an operation comes about; each is open at 1000, at its first step.
enum class Why { kDegraded, kStalled, kRoleMissing, kRecycle, kDead };

const std::vector<Why> kEveryWhy{Why::kDegraded, Why::kStalled, Why::kRoleMissing, Why::kRecycle, Why::kDead};

class OperationTest : public ::testing::Test {
 protected:
  void open(Why why = Why::kDegraded) {
    engine_ = Engine();
    engine_.healthy("a");
    switch (why) {
      case Why::kDegraded:
        one(1000, CanaryResult{"chat", "a", {"leak", "leak", "leak", "leak"}, {}});
        break;
      case Why::kStalled:
        engine_.counters(700, 2, 10);
        engine_.counters(715, 2, 10);
        one(1000, TimerDue{"stall"});
        break;
      case Why::kRoleMissing:
        one(995, Census{"a", {"worker"}});
        one(1000, Census{"a", {"worker"}});
        break;
      case Why::kRecycle:
        engine_.counters(800, 0, 10);
        one(1000, OperatorRecycle{});
        break;
      case Why::kDead:
        engine_.died(990, "a", false);
        one(1000, TimerDue{"dead"});
        break;
    }
    ASSERT_TRUE(engine_.state.operation.has_value());
    ASSERT_EQ(step(), Step::kEvidence);
  }
  // All done, all at 1000, until the operation is at that step.
  void open_at(Step target, Why why = Why::kDegraded) {
    ASSERT_NO_FATAL_FAILURE(open(why));
    while (step() != target)
      ASSERT_NO_FATAL_FAILURE(next(1000));
  }
  // Ends the step as it should end.
  void next(double t) {
    const auto before = step();
    if (before == Step::kReady) {
      one(t, LifeStarted{.life = "b", .cause = LifeCause::kFirebossd, .fingerprint = "f"});
      one(t, Ready{.life = "b", .fingerprint = {}});
    } else if (before == Step::kVerify) {
      one(t, CanaryResult{"chat", "b", {"ok", "ok", "ok", "ok"}, {}});
    } else {
      outcome(t, before, StepResult::kDone);
    }
    ASSERT_TRUE(!engine_.state.operation || step() != before) << to_string(before);
  }
  std::vector<Decision> one(double t, EventBody body) { return engine_.one(at(t), std::move(body)); }
  std::vector<Decision> outcome(double t, Step step, StepResult result, const std::string& detail = "") {
    return one(t, ActionOutcome{engine_.state.operation->action, step, result, detail});
  }
  [[nodiscard]] bool is_open() const { return engine_.state.operation.has_value(); }
  [[nodiscard]] Step step() const { return engine_.state.operation->step; }
  // Timers only: nothing that the shell would do.
  std::vector<Decision> timers_until(double t) {
    std::vector<Decision> out;
    for (auto timer = next_timer(engine_.policy, engine_.state); timer && timer->at <= at(t);
         timer = next_timer(engine_.policy, engine_.state))
      for (auto& decision : engine_.one(timer->at, TimerDue{timer->name}))
        out.push_back(std::move(decision));
    return out;
  }
  [[nodiscard]] OperationEnd end() const {
    return is_open() ? engine_.state.operation->outcome.value_or(OperationEnd::kClean)
                     : engine_.state.last_operation->end;
  }
  static bool paged(const std::vector<Decision>& decisions) {
    for (const auto& decision : decisions)
      if (decision.alert_key == "operation" && decision.severity == Severity::kCritical)
        return true;
    return false;
  }

  Engine engine_;
};

TEST_F(OperationTest, GoesThroughItsStepsInOrderAndSkipsWhatItsKindDoesNotNeed) {
  const std::vector<Step> all{Step::kEvidence, Step::kLease, Step::kPreStop, Step::kDrain,
                              Step::kJob,      Step::kReady, Step::kVerify,  Step::kPostReady};
  // None is drained of a stall or a death.
  const std::vector<Step> no_drain{Step::kEvidence, Step::kLease,  Step::kPreStop,  Step::kJob,
                                   Step::kReady,    Step::kVerify, Step::kPostReady};
  const std::vector<Step> start{Step::kEvidence, Step::kLease,  Step::kJob,
                                Step::kReady,    Step::kVerify, Step::kPostReady};
  for (const auto why : kEveryWhy) {
    ASSERT_NO_FATAL_FAILURE(open(why));
    std::vector<Step> seen;
    while (is_open()) {
      seen.push_back(step());
      ASSERT_NO_FATAL_FAILURE(next(1000));
    }
    EXPECT_EQ(seen, why == Why::kDead                                  ? start
                    : why == Why::kStalled || why == Why::kRoleMissing ? no_drain
                                                                       : all);
    EXPECT_EQ(end(), OperationEnd::kClean);
    EXPECT_EQ(engine_.state.last_operation->operation.new_life, "b");
  }
}

TEST_F(OperationTest, TellsTheShellItsStepLifeAndDeadline) {
  open_at(Step::kDrain);
  const auto due = operation_step(engine_.policy, engine_.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->action, ActionKind::kRestart);
  EXPECT_EQ(due->step, Step::kDrain);
  EXPECT_EQ(due->life, "a");
  EXPECT_EQ(due->deadline, at(1030));
  Engine idle;
  EXPECT_FALSE(operation_step(idle.policy, idle.state).has_value());
}

// What each step's answer leads to: the step after it, or post_ready, or the end at once.
TEST_F(OperationTest, EndsEachStepAsItsResultSays) {
  struct Row {
    Step step;
    StepResult result;
    std::optional<Step> leads_to;  // nullopt: closed
    std::optional<OperationEnd> end;
    bool charged;
  };
  const auto none = std::optional<OperationEnd>();
  const auto closed = std::optional<Step>();
  for (const auto& row : std::vector<Row>{
           {Step::kEvidence, StepResult::kDone, Step::kLease, none, true},
           {Step::kEvidence, StepResult::kFailed, closed, OperationEnd::kFailed, false},
           {Step::kEvidence, StepResult::kTimeout, closed, OperationEnd::kFailed, false},
           {Step::kEvidence, StepResult::kCanceled, closed, OperationEnd::kAbandoned, false},
           {Step::kLease, StepResult::kDone, Step::kPreStop, none, true},
           {Step::kLease, StepResult::kFailed, closed, OperationEnd::kFailed, false},
           {Step::kLease, StepResult::kTimeout, closed, OperationEnd::kFailed, false},
           {Step::kLease, StepResult::kCanceled, closed, OperationEnd::kAbandoned, false},
           {Step::kPreStop, StepResult::kDone, Step::kDrain, none, true},
           {Step::kPreStop, StepResult::kFailed, Step::kPostReady, OperationEnd::kFailed, false},
           {Step::kPreStop, StepResult::kTimeout, Step::kPostReady, OperationEnd::kFailed, false},
           {Step::kPreStop, StepResult::kCanceled, Step::kPostReady, OperationEnd::kAbandoned, false},
           {Step::kDrain, StepResult::kDone, Step::kJob, none, true},
           {Step::kDrain, StepResult::kFailed, Step::kPostReady, OperationEnd::kFailed, false},
           {Step::kDrain, StepResult::kTimeout, Step::kPostReady, OperationEnd::kFailed, false},
           {Step::kDrain, StepResult::kCanceled, Step::kPostReady, OperationEnd::kAbandoned, false},
           {Step::kJob, StepResult::kDone, Step::kReady, none, true},
           {Step::kJob, StepResult::kFailed, Step::kPostReady, OperationEnd::kFailed, true},
           {Step::kJob, StepResult::kTimeout, Step::kPostReady, OperationEnd::kFailed, true},
           {Step::kJob, StepResult::kCanceled, Step::kPostReady, OperationEnd::kAbandoned, false},
           {Step::kReady, StepResult::kFailed, Step::kPostReady, OperationEnd::kFailed, true},
           {Step::kReady, StepResult::kTimeout, Step::kPostReady, OperationEnd::kFailed, true},
           {Step::kVerify, StepResult::kFailed, Step::kPostReady, OperationEnd::kFailed, true},
           {Step::kVerify, StepResult::kTimeout, Step::kPostReady, OperationEnd::kFailed, true},
           {Step::kPostReady, StepResult::kDone, closed, OperationEnd::kClean, true},
           {Step::kPostReady, StepResult::kFailed, closed, OperationEnd::kFailed, true},
           {Step::kPostReady, StepResult::kTimeout, closed, OperationEnd::kFailed, true},
           {Step::kPostReady, StepResult::kCanceled, closed, OperationEnd::kFailed, true}}) {
    SCOPED_TRACE(std::string(to_string(row.step)) + " " + std::string(to_string(row.result)));
    ASSERT_NO_FATAL_FAILURE(open_at(row.step));
    const auto decisions = outcome(1001, row.step, row.result, "why");
    EXPECT_EQ(is_open(), row.leads_to.has_value());
    if (is_open() && row.leads_to) {
      EXPECT_EQ(step(), *row.leads_to);
    }
    if (row.end)
      EXPECT_EQ(end(), *row.end);
    else
      EXPECT_FALSE(engine_.state.operation->outcome.has_value());
    EXPECT_EQ(paged(decisions), row.end == OperationEnd::kFailed) << "each failure pages";
    EXPECT_EQ(engine_.state.charges.size(), row.charged ? 1U : 0U);
  }
}

TEST_F(OperationTest, SaysItsEndOnce) {
  open_at(Step::kJob);
  EXPECT_TRUE(paged(outcome(1001, Step::kJob, StepResult::kFailed, "why")));
  EXPECT_FALSE(paged(outcome(1002, Step::kPostReady, StepResult::kDone)));
  EXPECT_FALSE(is_open());
}

TEST_F(OperationTest, PagesAPostReadyHookThatFailedOnlyWhereAllElseWasWell) {
  open_at(Step::kJob);
  outcome(1001, Step::kJob, StepResult::kCanceled);
  EXPECT_FALSE(paged(outcome(1002, Step::kPostReady, StepResult::kFailed)));
  EXPECT_EQ(end(), OperationEnd::kAbandoned) << "the first end stands";
}

TEST_F(OperationTest, RunsPostReadyOnceThePreStopHookMayHaveRunAndNotBefore) {
  for (const auto target : {Step::kEvidence, Step::kLease, Step::kPreStop, Step::kDrain, Step::kJob}) {
    ASSERT_NO_FATAL_FAILURE(open_at(target));
    one(1001, LifeStarted{.life = "z", .cause = LifeCause::kOperator, .fingerprint = "f"});
    EXPECT_EQ(end(), OperationEnd::kAbandoned) << to_string(target);
    EXPECT_EQ(is_open() && step() == Step::kPostReady, target >= Step::kPreStop) << to_string(target);
  }
}

TEST_F(OperationTest, MakesTheVariantDueAtOnceWhenItCameToNothing) {
  open_at(Step::kLease);
  outcome(1001, Step::kLease, StepResult::kFailed);
  const auto due = canary_due(engine_.state);
  ASSERT_TRUE(due.has_value()) << "fresh evidence decides anew";
  EXPECT_EQ(due->variant, "chat");
}

TEST_F(OperationTest, IsTriedAgainAMinuteAfterItCameToNothingBeforeItsJob) {
  open_at(Step::kLease);
  outcome(1001, Step::kLease, StepResult::kFailed);
  const auto early = one(1060.999, CanaryResult{"chat", "a", {"leak", "leak", "leak", "leak"}, {}});
  ASSERT_THAT(said(early), ElementsAre("defer R2"));
  EXPECT_EQ(early.front().until, at(1061));
  EXPECT_THAT(said(timers_until(1061)), ElementsAre("restart R2"));
}

TEST_F(OperationTest, PausesAfterAJobThatLeftTheLifeAsItWas) {
  open_at(Step::kJob);
  outcome(1001, Step::kJob, StepResult::kFailed);
  outcome(1001, Step::kPostReady, StepResult::kDone);
  EXPECT_THAT(said(one(1002, CanaryResult{"chat", "a", {"leak", "leak", "leak", "leak"}, {}})),
              ElementsAre("defer R2"));
  EXPECT_THAT(said(one(1061, CanaryResult{"chat", "a", {"leak", "leak", "leak", "leak"}, {}})),
              ElementsAre("restart R2"));
}

// Deadlines.
struct Deadline {
  Why why;
  Step step;
  double after;
  std::optional<Step> leads_to;
  bool pages;
};

TEST_F(OperationTest, LeavesEachStepAtItsDeadlineAndNotAMillisecondBefore) {
  const auto closed = std::optional<Step>();
  for (const auto& row : std::vector<Deadline>{{Why::kDegraded, Step::kEvidence, 30, Step::kLease, false},
                                               {Why::kDegraded, Step::kLease, 10, closed, true},
                                               {Why::kDegraded, Step::kPreStop, 120, Step::kPostReady, true},
                                               {Why::kDegraded, Step::kDrain, 30, Step::kJob, false},
                                               {Why::kRecycle, Step::kDrain, 600, Step::kJob, false},
                                               {Why::kDegraded, Step::kJob, 600, Step::kPostReady, true},
                                               {Why::kDegraded, Step::kReady, 900, Step::kPostReady, true},
                                               {Why::kDegraded, Step::kVerify, 600, Step::kPostReady, true},
                                               {Why::kDegraded, Step::kPostReady, 120, closed, false}}) {
    SCOPED_TRACE(to_string(row.step));
    ASSERT_NO_FATAL_FAILURE(open_at(row.step, row.why));
    EXPECT_EQ(operation_step(engine_.policy, engine_.state)->deadline, at(1000 + row.after));
    auto decisions = timers_until(1000 + row.after - 0.001);
    EXPECT_FALSE(paged(decisions));
    ASSERT_TRUE(is_open());
    EXPECT_EQ(step(), row.step);
    decisions = timers_until(1000 + row.after);
    EXPECT_EQ(paged(decisions), row.pages);
    EXPECT_EQ(is_open(), row.leads_to.has_value());
    if (is_open() && row.leads_to) {
      EXPECT_EQ(step(), *row.leads_to);
    }
  }
}

TEST_F(OperationTest, CountsADeadlineFromTheBeginningOfItsOwnStep) {
  open(Why::kDegraded);
  outcome(1020, Step::kEvidence, StepResult::kDone);
  outcome(1025, Step::kLease, StepResult::kDone);
  EXPECT_EQ(operation_step(engine_.policy, engine_.state)->deadline, at(1145));
}

TEST_F(OperationTest, NeverGivesUpALifeThatHasBegunAndIsOnlyLate) {
  open_at(Step::kReady);
  one(1001, LifeStarted{.life = "b", .cause = LifeCause::kFirebossd, .fingerprint = "f"});
  const auto decisions = timers_until(90'000);
  EXPECT_FALSE(paged(decisions));
  EXPECT_THAT(said(decisions), Contains("alert R7"));
  EXPECT_EQ(step(), Step::kReady);
}

// Lives.
TEST_F(OperationTest, TakesTheNextLifeForItsOwnUnlessSomebodyElseBeganIt) {
  struct Row {
    LifeCause cause;
    bool ours;
  };
  for (const auto& row : std::vector<Row>{{LifeCause::kFirebossd, true},
                                          {LifeCause::kSystemd, true},
                                          {LifeCause::kUnknown, true},
                                          {LifeCause::kOperator, false},
                                          {LifeCause::kBoot, false}}) {
    ASSERT_NO_FATAL_FAILURE(open_at(Step::kJob));
    one(1001, LifeStarted{.life = "b", .cause = row.cause, .fingerprint = "f"});
    EXPECT_EQ(step(), row.ours ? Step::kReady : Step::kPostReady) << to_string(row.cause);
    EXPECT_EQ(engine_.state.operation->new_life, row.ours ? "b" : "") << to_string(row.cause);
    EXPECT_EQ(engine_.state.charges.size(), row.ours ? 1U : 0U) << to_string(row.cause);
  }
}

TEST_F(OperationTest, GoesOnWhetherTheJobOrTheLifeIsHeardOfFirst) {
  open_at(Step::kJob);
  one(1001, LifeStarted{.life = "b", .cause = LifeCause::kFirebossd, .fingerprint = "f"});
  ASSERT_EQ(step(), Step::kReady);
  outcome(1002, Step::kJob, StepResult::kDone);
  EXPECT_EQ(step(), Step::kReady) << "old news";
  one(1003, Ready{.life = "b", .fingerprint = {}});
  EXPECT_EQ(step(), Step::kVerify);

  open_at(Step::kJob);
  outcome(1001, Step::kJob, StepResult::kDone);
  one(1002, Ready{.life = "b", .fingerprint = {}});  // Type=notify: ready before anything else is heard
  EXPECT_EQ(step(), Step::kVerify);
  EXPECT_EQ(engine_.state.operation->new_life, "b");
}

TEST_F(OperationTest, FailsWhenTheJobsFailureIsHeardOfAfterTheLifeHasBegun) {
  open_at(Step::kJob);
  one(1001, LifeStarted{.life = "b", .cause = LifeCause::kFirebossd, .fingerprint = "f"});
  EXPECT_TRUE(paged(outcome(1002, Step::kJob, StepResult::kFailed)));
  EXPECT_EQ(end(), OperationEnd::kFailed);
}

TEST_F(OperationTest, IsNotEndedByTheEndOfTheLifeThatItsJobEnds) {
  open_at(Step::kJob);
  const auto ended = LifeEnded{.life = "a",
                               .result = "success",
                               .exit_status = {},
                               .stop_job = true,
                               .restart_job = true,
                               .auto_restart = false};
  one(1001, ended);
  one(1002, ended);
  EXPECT_EQ(step(), Step::kJob);
  EXPECT_EQ(engine_.state.life->end, LifeEnd::kOurs);
}

TEST_F(OperationTest, IsAbandonedWhenTheLifeEndsBeforeTheJobIsSent) {
  for (const auto target : {Step::kEvidence, Step::kLease, Step::kPreStop, Step::kDrain}) {
    for (const bool stop : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(open_at(target));
      one(1001, LifeEnded{.life = "a",
                          .result = "",
                          .exit_status = {},
                          .stop_job = stop,
                          .restart_job = false,
                          .auto_restart = true});
      EXPECT_EQ(end(), OperationEnd::kAbandoned);
      EXPECT_TRUE(engine_.state.charges.empty());
    }
  }
}

TEST_F(OperationTest, IsAbandonedWhenAStopJobOfTheOperatorsEndsTheLifeInstead) {
  open_at(Step::kJob);
  one(1001, LifeEnded{.life = "a",
                      .result = "success",
                      .exit_status = {},
                      .stop_job = true,
                      .restart_job = false,
                      .auto_restart = false});
  EXPECT_EQ(end(), OperationEnd::kAbandoned);
  EXPECT_EQ(step(), Step::kPostReady);
  EXPECT_TRUE(down_on_purpose(engine_.state));
  outcome(1002, Step::kPostReady, StepResult::kDone);
  EXPECT_THAT(said(timers_until(20'000)), Not(Contains(StartsWith("restart")))) << "the operator's stop wins";
}

TEST_F(OperationTest, IsAbandonedByACanceledJobAndTheEndIsTheOperators) {
  open_at(Step::kJob);
  one(1001, LifeEnded{.life = "a",
                      .result = "success",
                      .exit_status = {},
                      .stop_job = true,
                      .restart_job = {},
                      .auto_restart = {}});
  ASSERT_EQ(engine_.state.life->end, LifeEnd::kOurs) << "nothing told otherwise so far";
  outcome(1002, Step::kJob, StepResult::kCanceled);
  EXPECT_TRUE(down_on_purpose(engine_.state));
  EXPECT_EQ(end(), OperationEnd::kAbandoned);
}

TEST_F(OperationTest, FailsWhenTheNewLifeDiesBeforeItIsVerified) {
  for (const auto target : {Step::kReady, Step::kVerify}) {
    ASSERT_NO_FATAL_FAILURE(open_at(target));
    one(1001, LifeStarted{.life = "b", .cause = LifeCause::kFirebossd, .fingerprint = "f"});
    EXPECT_TRUE(paged(one(1002, LifeEnded{.life = "b",
                                          .result = "signal",
                                          .exit_status = 9,
                                          .stop_job = false,
                                          .restart_job = false,
                                          .auto_restart = true})));
    EXPECT_EQ(end(), OperationEnd::kFailed);
    EXPECT_EQ(engine_.state.charges.size(), 1U);
  }
}

TEST_F(OperationTest, FailsWhenSystemdReplacesTheNewLifeBeforeItIsVerified) {
  open_at(Step::kVerify);
  EXPECT_TRUE(paged(one(1001, LifeStarted{.life = "c", .cause = LifeCause::kSystemd, .fingerprint = "f"})));
  EXPECT_EQ(end(), OperationEnd::kFailed);
}

// The operator's word overtakes ours at any step: abandoned, not failed, and nothing is charged.
TEST_F(OperationTest, IsAbandonedWhenTheOperatorStopsOrRestartsTheNewLife) {
  for (const auto target : {Step::kReady, Step::kVerify})
    for (const bool restart : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(open_at(target));
      one(1001, LifeStarted{.life = "b", .cause = LifeCause::kFirebossd, .fingerprint = "f"});
      EXPECT_FALSE(paged(one(1002, LifeEnded{.life = "b",
                                             .result = "success",
                                             .exit_status = {},
                                             .stop_job = true,
                                             .restart_job = restart,
                                             .auto_restart = false})));
      EXPECT_EQ(end(), OperationEnd::kAbandoned);
      EXPECT_EQ(step(), Step::kPostReady);
      EXPECT_TRUE(engine_.state.charges.empty());
    }
  open_at(Step::kVerify);
  EXPECT_FALSE(paged(one(1001, LifeStarted{.life = "c", .cause = LifeCause::kOperator, .fingerprint = "f"})));
  EXPECT_EQ(end(), OperationEnd::kAbandoned);
}

TEST_F(OperationTest, FailsAtAStartLimitThatItsOwnJobHit) {
  open_at(Step::kJob);
  EXPECT_TRUE(paged(one(1001, LifeEnded{.life = "a",
                                        .result = "start-limit-hit",
                                        .exit_status = {},
                                        .stop_job = true,
                                        .restart_job = true,
                                        .auto_restart = false})));
  EXPECT_EQ(end(), OperationEnd::kFailed);
}

TEST_F(OperationTest, OfADeadUnitIsAbandonedWhenSystemdStartsItAfterAll) {
  open_at(Step::kLease, Why::kDead);
  one(1001, LifeStarted{.life = "b", .cause = LifeCause::kSystemd, .fingerprint = "f"});
  EXPECT_FALSE(is_open());
  EXPECT_EQ(end(), OperationEnd::kAbandoned);
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_F(OperationTest, IsUntouchedByTheEndOfALifeThatIsNoneOfIts) {
  for (const auto target : {Step::kEvidence, Step::kJob, Step::kVerify}) {
    ASSERT_NO_FATAL_FAILURE(open_at(target));
    const auto before = engine_.state.operation;
    one(1001, LifeEnded{.life = "zzz",
                        .result = "",
                        .exit_status = {},
                        .stop_job = false,
                        .restart_job = false,
                        .auto_restart = false});
    EXPECT_EQ(engine_.state.operation, before);
  }
}

// Answers that come twice, late or early.
TEST_F(OperationTest, TakesARepeatedAnswerForOldNews) {
  open(Why::kDegraded);
  outcome(1001, Step::kEvidence, StepResult::kDone);
  outcome(1001, Step::kEvidence, StepResult::kDone);
  EXPECT_EQ(step(), Step::kLease);
  one(1002, CanaryResult{"chat", "a", {"leak", "leak", "leak", "leak"}, {}});
  EXPECT_EQ(step(), Step::kLease);
  EXPECT_EQ(engine_.state.charges.size(), 1U);
}

TEST_F(OperationTest, TakesALifeOrReadyToldTwiceOnce) {
  open_at(Step::kReady);
  for (int i = 0; i < 2; ++i) {
    one(1001, LifeStarted{.life = "b", .cause = LifeCause::kFirebossd, .fingerprint = "f"});
    EXPECT_EQ(step(), Step::kReady);
  }
  for (int i = 0; i < 2; ++i) {
    one(1002, Ready{.life = "b", .fingerprint = {}});
    EXPECT_EQ(step(), Step::kVerify);
  }
  EXPECT_EQ(engine_.state.operation->step_begun, at(1002));
}

TEST_F(OperationTest, IgnoresTheAnswerToAStepThatIsStillToCome) {
  for (const auto result : {StepResult::kDone, StepResult::kFailed}) {
    ASSERT_NO_FATAL_FAILURE(open_at(Step::kLease));
    outcome(1001, Step::kJob, result);
    EXPECT_EQ(step(), Step::kLease);
    EXPECT_FALSE(engine_.state.operation->outcome.has_value());
  }
}

TEST_F(OperationTest, IgnoresTheLateFailureOfAnEarlyStepOnceTheJobIsDone) {
  for (const auto late : {Step::kEvidence, Step::kLease, Step::kPreStop, Step::kDrain})
    for (const auto target : {Step::kReady, Step::kVerify}) {
      ASSERT_NO_FATAL_FAILURE(open_at(target));
      EXPECT_FALSE(paged(outcome(1001, late, StepResult::kFailed)));
      EXPECT_EQ(step(), target) << to_string(late);
      EXPECT_TRUE(engine_.state.operation->job_begun);
      EXPECT_EQ(engine_.state.charges.size(), 1U);
    }
}

// In a written history the steps before the job count as done at once: their failure comes behind them.
TEST_F(OperationTest, TakesTheFailureOfAnEarlyStepWhileItsJobIsOutForItsEnd) {
  open_at(Step::kJob);
  EXPECT_TRUE(paged(outcome(1001, Step::kLease, StepResult::kFailed)));
  EXPECT_FALSE(is_open());
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_F(OperationTest, IgnoresAnswersWhenNoneIsOpen) {
  engine_.healthy("a");
  const auto before = engine_.state;
  EXPECT_THAT(one(1000, ActionOutcome{ActionKind::kRestart, Step::kJob, StepResult::kFailed, ""}), IsEmpty());
  EXPECT_EQ(engine_.state.operation, before.operation);
  EXPECT_EQ(engine_.state.charges, before.charges);
}

// Verification.
TEST_F(OperationTest, IsVerifiedByThePassOfTheVariantThatFailedInTheNewLifeOnly) {
  open_at(Step::kVerify);
  engine_.policy.variants = {"chat", "chat-stream"};
  one(1001, CanaryResult{"chat-stream", "b", {"ok", "ok", "ok", "ok"}, {}});
  EXPECT_EQ(step(), Step::kVerify) << "another variant";
  one(1002, CanaryResult{"chat", "a", {"ok", "ok", "ok", "ok"}, {}});
  EXPECT_EQ(step(), Step::kVerify) << "another life";
  one(1003, CanaryResult{"chat", "b", {"ok", "ok", "ok", "leak"}, {}});
  EXPECT_EQ(end(), OperationEnd::kClean) << "one failed call of four is a pass";
  EXPECT_EQ(engine_.state.charges.front().clean_at, at(1003));
}

TEST_F(OperationTest, IsVerifiedByAnyVariantWhereNoneCausedIt) {
  open_at(Step::kVerify, Why::kStalled);
  engine_.policy.variants = {"chat", "chat-stream"};
  one(1001, CanaryResult{"chat-stream", "b", {"ok", "ok", "ok", "ok"}, {}});
  EXPECT_EQ(end(), OperationEnd::kClean);
}

TEST_F(OperationTest, IsVerifiedByAnotherVariantWhereTheOneThatFailedIsNoLongerConfigured) {
  open_at(Step::kVerify);
  engine_.policy.variants = {"chat-stream"};
  one(1001, Configured{.policy_hash = "q", .suite_hash = "", .mode = {}});
  one(1002, CanaryResult{"chat-stream", "b", {"ok", "ok", "ok", "ok"}, {}});
  EXPECT_TRUE(!is_open() || step() == Step::kPostReady);
  EXPECT_EQ(end(), OperationEnd::kClean);
}

TEST_F(OperationTest, AsksTheVariantThatFailedFirst) {
  open_at(Step::kReady);
  engine_.policy.variants = {"chat-stream", "chat"};
  next(1001);
  const auto due = canary_due(engine_.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->variant, "chat");
  EXPECT_EQ(due->purpose, Purpose::kVerify);
}

TEST_F(OperationTest, AsksNothingBeforeItsVerifyStepOrAfterIt) {
  for (const auto target : {Step::kEvidence, Step::kLease, Step::kPreStop, Step::kDrain, Step::kJob,
                            Step::kReady, Step::kPostReady}) {
    ASSERT_NO_FATAL_FAILURE(open_at(target));
    one(1001, TimerDue{"canary"});
    EXPECT_FALSE(canary_due(engine_.state).has_value()) << to_string(target);
  }
}

TEST_F(OperationTest, ThatDidNotHelpStaysChargedAndTheRunIsJudgedLikeAnyOther) {
  open_at(Step::kVerify);
  const auto decisions = one(1001, CanaryResult{"chat", "b", {"leak", "leak", "ok", "ok"}, {}});
  EXPECT_FALSE(paged(decisions));
  EXPECT_THAT(said(decisions), Contains("no_action R2"));
  EXPECT_THAT(decisions.front().reason, HasSubstr("did not help"));
  EXPECT_EQ(end(), OperationEnd::kNotHelped);
  EXPECT_THAT(said(outcome(1001, Step::kPostReady, StepResult::kDone)), Contains("restart R2"));
  EXPECT_EQ(engine_.state.charges.size(), 2U);
}

TEST_F(OperationTest, AsksAgainFifteenSecondsAfterAVerificationThatSaidNothing) {
  for (const std::vector<std::string>& results :
       {std::vector<std::string>{"inconclusive:busy", "inconclusive:busy", "inconclusive:busy",
                                 "inconclusive:busy"},
        std::vector<std::string>{"leak", "inconclusive:busy", "inconclusive:busy", "ok"}}) {
    ASSERT_NO_FATAL_FAILURE(open_at(Step::kVerify));
    one(1001, CanaryResult{"chat", "b", results, Purpose::kVerify});
    EXPECT_EQ(step(), Step::kVerify);
    timers_until(1015.999);
    EXPECT_FALSE(canary_due(engine_.state).has_value());
    timers_until(1016);
    const auto due = canary_due(engine_.state);
    ASSERT_TRUE(due.has_value());
    EXPECT_EQ(due->variant, "chat");
    one(1017, CanaryResult{"chat", "b", {"ok", "ok", "ok", "ok"}, Purpose::kVerify});
    EXPECT_EQ(end(), OperationEnd::kClean);
  }
}

// polkit says no, say: the engine is untouched, and asking again at once would be refused again.
TEST(RefusedJobTest, IsNotTriedAgainAtOnceExceptByTheOperator) {
  Engine engine;
  engine.policy.budget = 10;
  engine.healthy("a");
  engine.run(1000, "a", 4);
  ASSERT_TRUE(engine.state.operation.has_value());
  engine.feed(1001, ActionOutcome{ActionKind::kRestart, Step::kJob, StepResult::kFailed, "polkit"});
  ASSERT_FALSE(engine.state.operation.has_value());
  EXPECT_THAT(said(engine.run(1002, "a", 4)), Contains(StartsWith("defer R2")));
  EXPECT_FALSE(engine.state.operation.has_value());
  engine.feed(1003, OperatorRestart{"the rule is there"});
  EXPECT_TRUE(engine.state.operation.has_value());
}

}  // namespace
}  // namespace fireboss::policy
