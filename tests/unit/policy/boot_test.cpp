// firebossd begins: the life that systemd reports, the action that was open, another boot's clock, a record
// that was restored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/codec.h"
#include "supervisor/policy/reduce.h"
#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

DaemonStarted daemon(std::optional<std::string> life, const std::string& boot = "boot-1") {
  return {.pending = {}, .life = std::move(life), .boot = boot, .restored = false};
}

class DaemonStart : public ::testing::Test {
 protected:
  DaemonStart() {
    engine_.one(at(0), daemon("", "boot-1"));
    engine_.healthy("a");
  }
  std::vector<Decision> begin(double t, DaemonStarted event) { return engine_.one(at(t), std::move(event)); }
  // A restart decided at 1000, brought to that step; nobody answers any more.
  void open_at(Step target) {
    engine_ = Engine();
    engine_.one(at(0), daemon("", "boot-1"));
    engine_.healthy("a");
    engine_.one(at(1000), CanaryResult{"chat", "a", {"leak", "leak", "leak", "leak"}, {}});
    while (engine_.state.operation->step != target) {
      const auto step = engine_.state.operation->step;
      if (step == Step::kReady) {
        engine_.one(at(1000), LifeStarted{.life = "b", .cause = LifeCause::kFirebossd, .fingerprint = "f"});
        engine_.one(at(1000), Ready{.life = "b", .fingerprint = {}});
      } else {
        engine_.one(at(1000), ActionOutcome{ActionKind::kRestart, step, StepResult::kDone, ""});
      }
    }
  }
  static DaemonStarted with_pending(Step step, const std::string& life, bool job_running = false) {
    auto event = daemon(life);
    event.pending =
        PendingAction{.action = ActionKind::kRestart, .life = "a", .step = step, .job_running = job_running};
    return event;
  }
  [[nodiscard]] bool is_open() const { return engine_.state.operation && !engine_.state.operation->outcome; }

  Engine engine_;
};

TEST_F(DaemonStart, InTheSameLifeForgetsNothingOfIt) {
  const auto before = engine_.state;
  EXPECT_THAT(begin(1000, daemon("a")), IsEmpty());
  EXPECT_EQ(engine_.state.life, before.life);
  EXPECT_EQ(engine_.state.baselines, before.baselines);
  EXPECT_EQ(engine_.state.variants, before.variants);
  EXPECT_EQ(engine_.state.next_scheduled, before.next_scheduled);
}

TEST_F(DaemonStart, OfWhichSystemdReportsAnotherLifeAdoptsIt) {
  begin(1000, daemon("b"));
  EXPECT_EQ(engine_.state.life->id, "b");
  EXPECT_TRUE(known_past_life(engine_.state, "a"));
  // Its life_started may follow and only adds cause, age and fingerprint.
  engine_.one(
      at(1001),
      LifeStarted{.life = "b", .cause = LifeCause::kSystemd, .fingerprint = "g", .age = seconds(500)});
  EXPECT_EQ(engine_.state.life->cause, LifeCause::kSystemd);
  EXPECT_EQ(engine_.state.life->started, at(501));
  EXPECT_EQ(engine_.state.life->fingerprint, "g");
}

TEST_F(DaemonStart, OfWhichSystemdSaysNothingBelievesTheRecord) {
  begin(1000, daemon(std::nullopt));
  EXPECT_TRUE(ready(engine_.state));
}

TEST_F(DaemonStart, ThatFindsTheEngineDownStartsItAfterTheGraceUnlessAStopJobIsToldOf) {
  begin(1000, daemon(""));
  EXPECT_EQ(engine_.state.life->end, LifeEnd::kDeath);
  Engine told = engine_;
  engine_.run_until(1009.999);
  EXPECT_FALSE(engine_.state.operation.has_value());
  engine_.run_until(1010);
  EXPECT_EQ(engine_.state.operation->action, ActionKind::kStart);

  told.feed(1005, LifeEnded{.life = "a",
                            .result = "success",
                            .exit_status = {},
                            .stop_job = true,
                            .restart_job = false,
                            .auto_restart = false});
  EXPECT_TRUE(down_on_purpose(told.state)) << "how it ended is known now";
  told.run_until(5000);
  EXPECT_FALSE(told.state.operation.has_value());
}

TEST_F(DaemonStart, DropsTheRunInFlightAndItsOwnFaultsOfBefore) {
  engine_.feed(900, OwnFault{OwnFaultKind::kDiskFull, false});
  engine_.feed(901, CanaryBegun{"chat", "a", Purpose::kScheduled});
  begin(1000, daemon("a"));
  EXPECT_FALSE(engine_.state.in_flight.has_value());
  EXPECT_TRUE(engine_.state.own_faults.empty());
  EXPECT_FALSE(engine_.state.open_alerts.contains("own_fault/disk_full"));
}

TEST_F(DaemonStart, AsksAtOnceWhatTheEndOfTheOneBeforeCutOff) {
  engine_.feed(901, CanaryBegun{"chat", "a", Purpose::kConfirm});
  begin(1000, daemon("a"));
  const auto due = canary_due(engine_.state);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->variant, "chat");
  EXPECT_EQ(due->purpose, Purpose::kConfirm);
}

TEST_F(DaemonStart, AsksNothingOfALifeThatIsOverAboutARunThatWasCutOff) {
  engine_.feed(901, CanaryBegun{"chat", "a", Purpose::kScheduled});
  begin(1000, daemon("b"));
  EXPECT_FALSE(canary_due(engine_.state).has_value()) << "b is not ready";
}

// The variants whose last run measured nothing, and no others; of a ready life only.
TEST_F(DaemonStart, AsksAtOnceEveryVariantWhoseLastRunMeasuredNothing) {
  engine_.policy.variants = {"chat", "chat-stream", "chat-cold"};
  engine_.run(96, "a", 0, "chat-stream");
  engine_.run(97, "a", 0, "chat-cold");
  engine_.inconclusive(900, "a", "request_refused", "chat");
  engine_.inconclusive(901, "a", "request_refused", "chat-stream");
  engine_.run(902, "a", 0, "chat");
  ASSERT_TRUE(engine_.state.due.empty());
  begin(1000, daemon("a"));
  ASSERT_EQ(engine_.state.due.size(), 1U);
  EXPECT_EQ(engine_.state.due.front().variant, "chat-stream");
  EXPECT_EQ(engine_.state.due.front().purpose, Purpose::kScheduled);
}

TEST_F(DaemonStart, AsksNothingAtOnceOfAnEngineThatIsNotReadyOrDown) {
  engine_.inconclusive(900, "a", "request_refused");
  Engine down = engine_;
  down.one(at(1000), daemon(""));
  EXPECT_TRUE(down.state.due.empty());
  Engine loading;
  loading.start(0, "a");
  loading.inconclusive(50, "a", "request_refused");
  loading.one(at(60), daemon("a"));
  EXPECT_TRUE(loading.state.due.empty());
}

// What was open is reconciled by the life that systemd reports, and never fired again.
TEST_F(DaemonStart, AbandonsAnActionWhoseJobWasNotSentAndRunsPostReadyIfPreStopMayHaveRun) {
  for (const auto step : {Step::kEvidence, Step::kLease, Step::kPreStop, Step::kDrain, Step::kJob}) {
    SCOPED_TRACE(to_string(step));
    open_at(step);
    begin(1100, with_pending(step, "a"));
    EXPECT_FALSE(is_open());
    EXPECT_EQ(engine_.state.operation.has_value(), step >= Step::kPreStop);
    if (engine_.state.operation) {
      EXPECT_EQ(engine_.state.operation->step, Step::kPostReady);
      EXPECT_EQ(engine_.state.operation->outcome, OperationEnd::kAbandoned);
      engine_.one(at(1101), ActionOutcome{ActionKind::kRestart, Step::kPostReady, StepResult::kDone, ""});
    }
    EXPECT_TRUE(engine_.state.charges.empty());
    EXPECT_TRUE(canary_due(engine_.state).has_value()) << "fresh evidence decides anew";
  }
}

// That firebossd ended is no sign that the restart would fail again.
TEST_F(DaemonStart, DecidesAnewWithoutAPauseWhatItsPredecessorsEndCutOff) {
  for (const auto step : {Step::kEvidence, Step::kDrain}) {
    open_at(step);
    begin(1100, with_pending(step, "a"));
    engine_.one(at(1101), ActionOutcome{ActionKind::kRestart, Step::kPostReady, StepResult::kDone, ""});
    EXPECT_THAT(said(engine_.one(at(1102), CanaryResult{"chat", "a", {"leak", "leak", "leak", "leak"}, {}})),
                ElementsAre("restart R2"))
        << to_string(step);
  }
}

TEST_F(DaemonStart, FollowsAJobThatSystemdStillRuns) {
  open_at(Step::kJob);
  begin(1100, with_pending(Step::kJob, "a", true));
  ASSERT_TRUE(is_open());
  EXPECT_EQ(engine_.state.operation->step, Step::kJob);
  engine_.restarted(1101, "a", "b");
  EXPECT_EQ(engine_.state.operation->step, Step::kVerify);
}

TEST_F(DaemonStart, TakesTheNewLifeOfItsJobForItsOwn) {
  open_at(Step::kJob);
  begin(1100, with_pending(Step::kJob, "b"));
  ASSERT_TRUE(is_open());
  EXPECT_EQ(engine_.state.operation->new_life, "b");
  EXPECT_EQ(engine_.state.operation->step, Step::kReady);
}

TEST_F(DaemonStart, GoesOnVerifying) {
  open_at(Step::kVerify);
  begin(1100, with_pending(Step::kVerify, "b"));
  ASSERT_TRUE(is_open());
  EXPECT_EQ(engine_.state.operation->step, Step::kVerify);
  engine_.one(at(1101), CanaryResult{"chat", "b", {"ok", "ok", "ok", "ok"}, {}});
  EXPECT_EQ(engine_.state.operation->outcome, OperationEnd::kClean);
}

TEST_F(DaemonStart, StartsAgainAtOnceWhatOurJobLeftDown) {
  for (const auto step : {Step::kJob, Step::kReady}) {
    SCOPED_TRACE(to_string(step));
    open_at(step);
    begin(1100, with_pending(step, ""));
    EXPECT_EQ(engine_.state.life->end, LifeEnd::kOurs);
    const auto decisions =
        engine_.one(at(1100), ActionOutcome{ActionKind::kRestart, Step::kPostReady, StepResult::kDone, ""});
    EXPECT_THAT(said(decisions), Contains("restart R6"));
    EXPECT_EQ(engine_.state.operation->action, ActionKind::kStart);
    EXPECT_FALSE(engine_.state.operation->charged);
  }
}

TEST_F(DaemonStart, DropsAnActionThatTheRecordDoesNotKnow) {
  open_at(Step::kJob);
  begin(1100, daemon("a"));
  EXPECT_EQ(engine_.state.operation->outcome, OperationEnd::kAbandoned);
}

TEST_F(DaemonStart, TakesUpAnActionThatOnlyTheRecordKnows) {
  begin(1100, with_pending(Step::kJob, "b"));
  ASSERT_TRUE(is_open());
  EXPECT_EQ(engine_.state.operation->new_life, "b");
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_F(DaemonStart, BelievesTheRecordWhereItIsAheadOfTheState) {
  open_at(Step::kDrain);
  begin(1100, with_pending(Step::kJob, "a", true));
  ASSERT_TRUE(is_open());
  EXPECT_EQ(engine_.state.operation->step, Step::kJob);
  EXPECT_TRUE(engine_.state.operation->job_begun);
}

TEST_F(DaemonStart, ThatComesTwiceDecidesOnce) {
  open_at(Step::kDrain);
  begin(1100, with_pending(Step::kDrain, "a"));
  engine_.one(at(1101), ActionOutcome{ActionKind::kRestart, Step::kPostReady, StepResult::kDone, ""});
  const auto before = engine_.state.last_operation;
  EXPECT_THAT(begin(1102, daemon("a")), IsEmpty());
  EXPECT_EQ(engine_.state.last_operation, before);
}

// Monotonic times of another boot mean nothing: what was N ago at the last event is N ago now.
class OtherBoot : public DaemonStart {};

TEST_F(OtherBoot, KeepsAgesDeadlinesAndChargesByWhatWasLeftOfThem) {
  engine_.run(50'000, "a", 4);
  engine_.restarted(50'001, "a", "b");
  engine_.run(50'020, "b", 4);  // charged for good
  engine_.restarted(50'021, "b", "c");
  engine_.run(50'040, "c", 0);
  engine_.feed(50'050, OperatorHold{seconds(600), "planned"});
  engine_.feed(50'150, Tick{});
  begin(60, daemon("c", "boot-2"));
  EXPECT_EQ(engine_.state.now, at(60));
  EXPECT_EQ(engine_.state.hold->until, at(60 + 500)) << "500 s were left";
  ASSERT_EQ(engine_.state.charges.size(), 2U);
  EXPECT_EQ(engine_.state.charges[0].at, at(60 - 150));
  EXPECT_EQ(engine_.state.charges[1].at, at(60 - 130));
  EXPECT_EQ(engine_.state.life->started, at(60 - 128));
  EXPECT_EQ(engine_.state.variants["chat"].passed, at(60 - 110));
}

TEST_F(OtherBoot, IsToldByItsIdThoughItsClockIsAhead) {
  engine_.feed(1000, OperatorHold{seconds(600), ""});
  begin(500'000, daemon("b", "boot-2"));
  EXPECT_EQ(engine_.state.hold->until, at(500'600)) << "600 s were left, whatever this clock says";
}

TEST_F(OtherBoot, OfWhichTheClockIsBehindIsNoneOfTheSameIdButShiftsAllTheSame) {
  engine_.feed(1000, OperatorHold{seconds(600), ""});
  begin(10, daemon("a", ""));
  EXPECT_EQ(engine_.state.now, at(10));
  EXPECT_EQ(engine_.state.hold->until, at(610));
}

TEST_F(OtherBoot, IsNotSeenInARestartOfFirebossdUnderTheSameId) {
  engine_.feed(1000, OperatorHold{seconds(600), ""});
  begin(1300, daemon("a", "boot-1"));
  EXPECT_EQ(engine_.state.hold->until, at(1600));
}

TEST_F(OtherBoot, ForgetsLeasesAndHardwareFaultsWhichDieWithAMachine) {
  engine_.feed(1000, Lease{"0", "bench", true});
  engine_.feed(1001, Signature{"gpu_fault_hw", 1, "a"});
  Engine same = engine_;
  begin(60, daemon("b", "boot-2"));
  EXPECT_TRUE(engine_.state.leases.empty());
  EXPECT_FALSE(engine_.state.hardware_fault.has_value());
  EXPECT_EQ(engine_.state.life->cause, LifeCause::kBoot);
  same.one(at(1100), daemon("a", "boot-1"));
  EXPECT_EQ(lease_holder(same.state), "bench");
  EXPECT_TRUE(same.state.hardware_fault.has_value());
}

TEST_F(OtherBoot, AbandonsARestartThatTheRebootOvertook) {
  open_at(Step::kJob);
  auto event = with_pending(Step::kJob, "z");
  event.boot = "boot-2";
  begin(60, event);
  EXPECT_EQ(engine_.state.operation->outcome, OperationEnd::kAbandoned);
  EXPECT_TRUE(engine_.state.charges.empty());
}

TEST_F(OtherBoot, ShiftsEveryTimeOfTheStateAndBack) {
  open_at(Step::kVerify);
  engine_.feed(1010, Lease{"0", "bench", true});
  engine_.feed(1011, OwnFault{OwnFaultKind::kDiskFull, false});
  engine_.counters(1012, 2, 10);
  engine_.counters(1013, 2, 99);
  const auto before = encode(engine_.state);
  shift_times(engine_.state, hours(7));
  EXPECT_NE(encode(engine_.state), before);
  EXPECT_EQ(engine_.state.now, at(1013) + hours(7));
  EXPECT_EQ(engine_.state.operation->step_begun, at(1000) + hours(7));
  EXPECT_EQ(engine_.state.charges.front().at, at(1000) + hours(7));
  EXPECT_EQ(engine_.state.own_faults.begin()->second, at(1011) + hours(7)) << "in a map";
  EXPECT_EQ(engine_.state.traffic.recent.front().at, at(1013) + hours(7)) << "in a list";
  EXPECT_EQ(engine_.state.variants["chat"].degraded, std::nullopt);
  shift_times(engine_.state, -hours(7));
  EXPECT_EQ(encode(engine_.state), before);
}

// Restored from a backup or another machine: nothing acts until a full canary has run.
class RestoredRecord : public DaemonStart {
 protected:
  RestoredRecord() {
    engine_.policy.variants = {"chat", "chat-stream"};
    engine_.run(96, "a", 0, "chat-stream");
  }
  std::vector<Decision> restore(double t) {
    auto event = daemon("a");
    event.restored = true;
    return begin(t, event);
  }
};

TEST_F(RestoredRecord, IsToldAndEveryVariantIsAskedAtOnce) {
  EXPECT_THAT(said(restore(1000)), Contains("alert own_fault"));
  EXPECT_EQ(engine_.state.due.size(), 2U);
}

TEST_F(RestoredRecord, ActsOnNothingBeforeEveryVariantHasSaidSomething) {
  restore(1000);
  EXPECT_THAT(said(engine_.run(1001, "a", 4, "chat")), ElementsAre("refuse R8"));
  engine_.inconclusive(1002, "a", "busy", "chat-stream");
  EXPECT_FALSE(engine_.state.operation.has_value()) << "that run said nothing";
  EXPECT_THAT(said(engine_.run(1003, "a", 0, "chat-stream")), Contains("restart R2"));
  EXPECT_FALSE(engine_.state.open_alerts.contains("own_fault/restored"));
}

TEST_F(RestoredRecord, StartsNoDeadEngineBeforeThatEither) {
  restore(1000);
  engine_.died(1001, "a", false);
  EXPECT_THAT(said(engine_.run_until(2000)), ElementsAre("refuse R8"));
}

TEST_F(RestoredRecord, AbandonsWhatWasPending) {
  open_at(Step::kVerify);
  auto event = with_pending(Step::kVerify, "b");
  event.restored = true;
  begin(1100, event);
  EXPECT_EQ(engine_.state.operation->outcome, OperationEnd::kAbandoned);
}

}  // namespace
}  // namespace fireboss::policy
