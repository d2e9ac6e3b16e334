#include "supervisor/app/engine_core.h"

#include <gmock/gmock.h>

#include "supervisor/policy/codec.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_store.h"

namespace fireboss::app {
namespace {

using fireboss::testing::FakeClock;
using fireboss::testing::FakeStore;

config::Engine drill() {
  config::Engine engine;
  engine.name = "drill";
  engine.unit = "drill.service";
  engine.policy.variants = {"chat"};
  engine.policy.mode = policy::Mode::kEnforce;
  engine.policy_hash = "hash";
  return engine;
}

class EngineCoreTest : public ::testing::Test {
 protected:
  void feed(policy::EventBody body) { core_.feed(std::move(body)); }

  // An engine that is ready, calibrated and has passed.
  void bring_up() {
    feed(policy::DaemonStarted{std::nullopt, "a", "boot-1"});
    feed(policy::LifeStarted{"a", policy::LifeCause::kSystemd, "f", Millis{0}});
    feed(policy::Ready{"a", "f"});
    feed(policy::Calibrated{"chat", "f", 40, 0, 200, 400});
    feed(policy::CanaryResult{"chat", "a", {"ok", "ok", "ok", "ok"}, policy::Purpose::kScheduled});
    ASSERT_TRUE(store_.closed.empty());
  }
  void degrade() {
    clock_.advance(Millis{1'000});
    feed(policy::CanaryResult{"chat", "a", {"leak", "leak", "ok", "leak"}, policy::Purpose::kScheduled});
  }
  void end_step(policy::Step step) {
    feed(policy::ActionOutcome{policy::ActionKind::kRestart, step, policy::StepResult::kDone, ""});
  }

  FakeClock clock_;
  FakeStore store_;
  config::Engine engine_ = drill();
  std::vector<policy::Decision> told_;
  EngineCore core_{engine_, clock_, store_,
                   [this](const policy::Decision& decision) { told_.push_back(decision); }};
};

TEST_F(EngineCoreTest, RecordsTheOperationInTheTransactionOfTheDecision) {
  bring_up();
  degrade();
  ASSERT_TRUE(core_.operation());
  EXPECT_EQ(core_.operation()->step, policy::Step::kEvidence);
  ASSERT_TRUE(store_.open);
  EXPECT_EQ(store_.open->kind, "restart");
  EXPECT_EQ(store_.open->life, "a");
  const auto& record = store_.records.back();
  EXPECT_EQ(record.event.kind, "canary");
  EXPECT_TRUE(record.open_action);
}

TEST_F(EngineCoreTest, FollowsAnOperationToItsCleanEnd) {
  bring_up();
  degrade();
  for (const auto step :
       {policy::Step::kEvidence, policy::Step::kLease, policy::Step::kPreStop, policy::Step::kDrain})
    end_step(step);
  ASSERT_EQ(core_.operation()->step, policy::Step::kJob);
  EXPECT_EQ(store_.open->step, "job");
  feed(policy::LifeEnded{"a", "success", 0, true, true, std::nullopt, false});
  feed(policy::LifeStarted{"b", policy::LifeCause::kFirebossd, "f", Millis{0}});
  end_step(policy::Step::kJob);
  feed(policy::Ready{"b", "f"});
  feed(policy::CanaryResult{"chat", "b", {"ok", "ok", "ok", "ok"}, policy::Purpose::kVerify});
  if (core_.operation())
    end_step(policy::Step::kPostReady);
  ASSERT_EQ(store_.closed.size(), 1U);
  EXPECT_EQ(store_.closed.front().state, "clean");
  EXPECT_FALSE(store_.open);
  EXPECT_THAT(store_.closed.front().steps, ::testing::HasSubstr("\"step\":\"drain\""));
}

TEST_F(EngineCoreTest, RecordsAStepThatRanOutOfTimeAsThatAndNotAsDone) {
  bring_up();
  degrade();
  clock_.advance(Millis{30'000});
  core_.run_due_timers();
  ASSERT_EQ(core_.operation()->step, policy::Step::kLease) << "a restart does not wait for its evidence";
  EXPECT_THAT(store_.open->steps, ::testing::HasSubstr("\"result\":\"timeout\",\"step\":\"evidence\""));
}

// The rest of what was begun: an engine that our own job left down is started, recorded or not.
TEST_F(EngineCoreTest, StartsAgainWhatItsJobLeftDownThoughItCannotRecordIt) {
  bring_up();
  degrade();
  for (const auto step :
       {policy::Step::kEvidence, policy::Step::kLease, policy::Step::kPreStop, policy::Step::kDrain})
    end_step(step);
  feed(policy::LifeEnded{"a", "success", 0, true, true, std::nullopt, false});
  store_.trouble = Error{ErrorCode::kFull, "no space"};
  feed(policy::ActionOutcome{policy::ActionKind::kRestart, policy::Step::kJob, policy::StepResult::kFailed,
                             ""});
  end_step(policy::Step::kPostReady);
  ASSERT_TRUE(core_.operation());
  EXPECT_EQ(core_.operation()->action, policy::ActionKind::kStart);
  EXPECT_FALSE(core_.recording());
  store_.trouble.reset();
  EXPECT_TRUE(core_.retry_records());
  ASSERT_TRUE(store_.open);
  EXPECT_EQ(store_.open->kind, "start");
}

TEST_F(EngineCoreTest, BeginsNothingThatItCannotRecord) {
  bring_up();
  store_.trouble = Error{ErrorCode::kFull, "no space"};
  degrade();
  EXPECT_FALSE(core_.operation());
  EXPECT_FALSE(core_.recording());
  EXPECT_EQ(core_.state().own_faults.count(policy::OwnFaultKind::kDiskFull), 1U);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back().kind, policy::DecisionKind::kRefuse);
  EXPECT_TRUE(told_.back().reason.starts_with("R8")) << told_.back().reason;
}

TEST_F(EngineCoreTest, WritesWhatWaitedInOrderAndThenGoesOn) {
  bring_up();
  const auto before = store_.records.size();
  store_.trouble = Error{ErrorCode::kBusy, "database is locked"};
  degrade();
  clock_.advance(Millis{5'000});
  EXPECT_FALSE(core_.retry_records());
  store_.trouble.reset();
  EXPECT_TRUE(core_.retry_records());
  EXPECT_TRUE(core_.state().own_faults.empty());
  std::vector<std::string> kinds;
  for (std::size_t i = before; i < store_.records.size(); ++i)
    kinds.push_back(store_.records[i].event.kind);
  EXPECT_THAT(kinds, ::testing::ElementsAre("own_fault", "canary", "own_fault"));
  // The evidence is still fresh: now it may be acted on.
  EXPECT_TRUE(core_.operation());
  ASSERT_TRUE(store_.open);
  EXPECT_EQ(store_.open->step, "evidence");
}

// A disk that stays full beside an engine that dies again and again: nothing is lost, what it needs has
// bounds, and what waited is written in turns, between which the watchdog is fed.
TEST_F(EngineCoreTest, WritesMuchThatWaitedInTurns) {
  bring_up();
  store_.trouble = Error{ErrorCode::kFull, "no room"};
  store_.records.clear();
  for (int i = 0; i < 400; ++i) {
    clock_.advance(Millis{1'000});
    core_.feed(policy::CanaryResult{"chat", "a", {"ok", "ok", "ok", "leak"}, policy::Purpose::kScheduled},
               {{"drill", "chat", "leak", 3, std::string(1'000, 'x')}});
  }
  store_.trouble.reset();
  EXPECT_TRUE(core_.retry_records());
  EXPECT_FALSE(core_.recording());
  EXPECT_LE(store_.records.size(), 100U);
  for (int turn = 0; turn < 20 && !core_.recording(); ++turn)
    EXPECT_TRUE(core_.retry_records());
  ASSERT_TRUE(core_.recording());
  std::size_t canaries = 0, replies = 0;
  for (const auto& record : store_.records) {
    canaries += record.event.kind == "canary" ? 1U : 0U;
    replies += record.raw_replies.size();
  }
  EXPECT_EQ(canaries, 400U);
  EXPECT_GT(replies, 200U);
  EXPECT_LE(replies, 256U);
  EXPECT_EQ(*store_.last_state, policy::encode(core_.state()));
}

TEST_F(EngineCoreTest, CallsWhatTheStoreCannotWriteByItsName) {
  bring_up();
  store_.trouble = Error{ErrorCode::kInternal, "constraint failed"};
  degrade();
  EXPECT_EQ(core_.state().own_faults.count(policy::OwnFaultKind::kRecordFailed), 1U);
  EXPECT_FALSE(core_.operation());
  store_.trouble.reset();
  EXPECT_TRUE(core_.retry_records());
  EXPECT_TRUE(core_.state().own_faults.empty());
}

TEST_F(EngineCoreTest, TakesUpTheOperationThatItsPredecessorLeftOpen) {
  bring_up();
  degrade();
  EngineCore successor(engine_, clock_, store_, [](const policy::Decision&) {});
  ASSERT_TRUE(successor.restore());
  ASSERT_TRUE(successor.pending());
  EXPECT_EQ(successor.pending()->life, "a");
  successor.feed(policy::DaemonStarted{successor.pending(), "a", "boot-1"});
  // The job was never sent: closed as abandoned, never fired by itself.
  EXPECT_FALSE(successor.operation());
  EXPECT_FALSE(store_.open);
  ASSERT_EQ(store_.closed.size(), 1U);
  EXPECT_EQ(store_.closed.front().state, "abandoned");
  EXPECT_EQ(store_.closed.front().step, "evidence");
  EXPECT_NE(store_.closed.front().ended, WallTime{});
}

// The clock of a new boot begins at zero again; nothing may wait until it has caught up with the old one.
TEST_F(EngineCoreTest, ItsTimersGoOnAfterAReboot) {
  clock_.advance(std::chrono::hours{24 * 30});
  bring_up();
  clock_.reboot("boot-2", Millis{60'000});
  EngineCore successor(engine_, clock_, store_, [](const policy::Decision&) {});
  ASSERT_TRUE(successor.restore());
  successor.feed(policy::DaemonStarted{successor.pending(), "b", "boot-2"});
  successor.feed(policy::LifeStarted{"b", policy::LifeCause::kBoot, "f", Millis{0}});
  successor.feed(policy::Ready{"b", "f"});
  EXPECT_EQ(store_.records.back().event.mono, MonoTime{Millis{60'000}});
  EXPECT_EQ(successor.state().now, MonoTime{Millis{60'000}});
  ASSERT_TRUE(successor.canary()) << "due at ready";
  successor.feed(policy::CanaryResult{"chat", "b", {"ok", "ok", "ok", "ok"}, policy::Purpose::kScheduled});
  EXPECT_FALSE(successor.canary());
  clock_.advance(engine_.policy.canary_every);
  successor.run_due_timers();
  EXPECT_TRUE(successor.canary()) << "due by the clock of this boot";
}

TEST_F(EngineCoreTest, KeepsTheStateViewEqualToItsOwn) {
  bring_up();
  degrade();
  ASSERT_TRUE(store_.last_state);
  EXPECT_EQ(policy::decode_state(*store_.last_state).value(), core_.state());
}

}  // namespace
}  // namespace fireboss::app
