#include "supervisor/adapters/sqlite/store.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/sqlite/sqlite_fixture.h"

// SQLite's own calls end up here, since a program's symbols go before those of its libraries.
static int syncs = 0;
extern "C" int fdatasync(int fd) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace fireboss::sqlite {
namespace {

using StoreTest = SqliteTest;

std::int64_t record(SqliteStore& store, const ports::Record& what) {
  auto recorded = store.record(what);
  EXPECT_TRUE(recorded) << (recorded ? "" : recorded.error().message);
  return recorded ? recorded->event : -1;
}

TEST_F(StoreTest, IsMadeFreshWithTheNewestSchema) {
  const auto store = open_store();
  EXPECT_EQ(store->database().integer("SELECT max(version) FROM migration")->value(),
            migrations().back().version);
  EXPECT_EQ(store->database().text("PRAGMA journal_mode")->value(), "wal");
  EXPECT_EQ(store->database().integer("PRAGMA synchronous")->value(), 2);
  EXPECT_EQ(store->database().integer("PRAGMA foreign_keys")->value(), 1);
}

TEST_F(StoreTest, IsNotReadableForEverybody) {
  open_store();
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07, 0U);
}

TEST_F(StoreTest, NumbersEventsInTheOrderOfTheirRecording) {
  const auto store = open_store();
  EXPECT_EQ(record(*store, record_of("a", 5)), 1);
  EXPECT_EQ(record(*store, record_of("b", 4)), 2);
  EXPECT_EQ(record(*store, record_of("a", 3)), 3);
}

TEST_F(StoreTest, GivesBackTheEventsOfOneEngine) {
  const auto store = open_store();
  record(*store, record_of("a", 1));
  record(*store, record_of("b", 2));
  auto third = record_of("a", 3, "canary");
  third.event.version = 2;
  third.event.payload = R"({"results":["ok"]})";
  record(*store, third);
  record(*store, record_of("a", 4));

  const auto events = store->events("a", 1, 1);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 1U);
  const auto& event = events->front();
  EXPECT_EQ(event.id, 3);
  EXPECT_EQ(event.engine, "a");
  EXPECT_EQ(event.kind, "canary");
  EXPECT_EQ(event.version, 2);
  EXPECT_EQ(event.payload, R"({"results":["ok"]})");
  EXPECT_EQ(event.boot, third.event.boot);
  EXPECT_EQ(event.mono, third.event.mono);
  EXPECT_EQ(event.wall, third.event.wall);
}

TEST_F(StoreTest, CostsOneSyncPerRecord) {
  const auto store = open_store();
  record(*store, record_of("a", 1));
  auto all = record_of("a", 2);
  all.decisions = {decision_of("restart", "R2")};
  all.open_action = restart_of("l");
  all.raise = {alert_of("k", "warning", "t")};
  all.raw_replies = {reply_of("x")};
  all.counts = {{"runs.fail", 1}};
  all.state = "{}";
  syncs = 0;
  record(*store, all);
  EXPECT_EQ(syncs, 1);
}

TEST_F(StoreTest, FoldsConsecutiveIdenticalDecisions) {
  const auto store = open_store();
  for (int i = 1; i <= 3; ++i) {
    auto r = record_of("a", i);
    r.decisions = {decision_of("no_action", "R1 pass")};
    r.decisions[0].evidence = {0};
    record(*store, r);
    auto other = record_of("b", i);  // another engine's decisions do not come in between
    other.decisions = {decision_of("alert", "R3 never passed")};
    record(*store, other);
  }
  EXPECT_EQ(count_of(*store, "decision"), 2);
  EXPECT_EQ(count_of(*store,
                     "decision WHERE kind = 'no_action' AND count = 3 AND first_event = 1 AND "
                     "last_event = 5 AND first_mono = 1000 AND last_mono = 3000 AND "
                     "first_wall = 1780000001000 AND last_wall = 1780000003000"),
            1);
  EXPECT_EQ(count_of(*store, "evidence"), 1);
}

TEST_F(StoreTest, DoesNotFoldOverAnotherDecisionPolicyOrVersion) {
  const auto store = open_store();
  ASSERT_TRUE(store->put_policy("h1", "{}"));
  ASSERT_TRUE(store->put_policy("h2", "{}"));
  const auto decide = [&](ports::DecisionRow decision) {
    auto r = record_of("a", 1);
    r.decisions = {std::move(decision)};
    record(*store, r);
  };
  auto pass = decision_of("no_action", "R1 pass");
  pass.policy_hash = "h1";
  decide(pass);
  decide(decision_of("confirm", "R1"));
  decide(pass);
  pass.policy_hash = "h2";
  decide(pass);
  pass.decider_version = "2";
  decide(pass);
  pass.grader_version = "2";
  decide(pass);
  EXPECT_EQ(count_of(*store, "decision"), 6);
}

TEST_F(StoreTest, RefusesADecisionWhosePolicyIsUnknown) {
  const auto store = open_store();
  auto r = record_of("a", 1);
  r.decisions = {decision_of("no_action", "R1")};
  r.decisions[0].policy_hash = "nobody";
  EXPECT_FALSE(store->record(r));
  EXPECT_EQ(count_of(*store, "event"), 0) << "a record is kept as a whole or not at all";
}

TEST_F(StoreTest, RefusesEvidenceThatIsNotThere) {
  const auto store = open_store();
  auto r = record_of("a", 1);
  r.decisions = {decision_of("restart", "R2")};
  r.decisions[0].evidence = {77};
  const auto recorded = store->record(r);
  ASSERT_FALSE(recorded);
  EXPECT_THAT(recorded.error().message, ::testing::HasSubstr("FOREIGN KEY"));
  EXPECT_EQ(count_of(*store, "event"), 0);
}

TEST_F(StoreTest, StateViewIsTheLastOneWritten) {
  auto store = open_store();
  EXPECT_EQ(*store->state("a"), std::nullopt);
  auto r = record_of("a", 1);
  r.state = R"({"n":1})";
  record(*store, r);
  r.state = R"({"n":2})";
  record(*store, r);
  auto other = record_of("b", 2);
  other.state = R"({"n":9})";
  record(*store, other);
  record(*store, record_of("a", 3));  // no state given: stays
  store.reset();
  store = open_store();
  EXPECT_EQ(*store->state("a"), R"({"n":2})");
  EXPECT_EQ(count_of(*store, "state WHERE event = 2"), 1);
}

TEST_F(StoreTest, FollowsAnActionFromOpenToClean) {
  const auto store = open_store();
  EXPECT_EQ(*store->open_action("a"), std::nullopt);
  auto begin = record_of("a", 1);
  begin.decisions = {decision_of("restart", "R2"), decision_of("alert", "R2 page")};
  begin.open_action = restart_of("l1");
  const auto recorded = store->record(begin);
  ASSERT_TRUE(recorded && recorded->action);

  auto open = store->open_action("a");
  ASSERT_TRUE(open && *open);
  EXPECT_EQ((*open)->id, *recorded->action);
  EXPECT_EQ((*open)->life, "l1");
  EXPECT_EQ((*open)->begun, begin.event.wall);
  EXPECT_EQ(count_of(*store, "action JOIN decision d ON d.id = action.decision WHERE d.kind = 'restart'"), 1);

  auto end = record_of("a", 2);
  end.update_action = **open;
  end.update_action->step = "verify";
  end.update_action->state = "clean";
  end.update_action->ended = end.event.wall;
  end.update_action->steps = R"([{"step":"evidence"}])";
  record(*store, end);
  EXPECT_EQ(*store->open_action("a"), std::nullopt);
  EXPECT_EQ(count_of(*store, "action WHERE state = 'clean' AND ended = 1780000002000"), 1);
}

TEST_F(StoreTest, ClosesOneActionAndOpensTheNextInOneRecord) {
  const auto store = open_store();
  auto begin = record_of("a", 1);
  begin.open_action = restart_of("l1");
  record(*store, begin);
  auto next = record_of("a", 2);
  next.update_action = **store->open_action("a");
  next.update_action->state = "not_helped";
  next.open_action = restart_of("l2");
  record(*store, next);
  EXPECT_EQ((*store->open_action("a"))->life, "l2");
}

TEST_F(StoreTest, RefusesASecondOpenActionAndAnUpdateOfAStrangerAction) {
  const auto store = open_store();
  auto begin = record_of("a", 1);
  begin.open_action = restart_of("l1");
  record(*store, begin);
  EXPECT_FALSE(store->record(begin));
  auto update = record_of("b", 2);
  update.update_action = **store->open_action("a");
  EXPECT_FALSE(store->record(update));
  EXPECT_EQ(count_of(*store, "event"), 1);
}

TEST_F(StoreTest, KeepsOneOpenAlertPerKeyUntilItIsResolved) {
  const auto store = open_store();
  auto raise = record_of("a", 1);
  raise.raise = {alert_of("R3:chat", "critical", "first")};
  record(*store, raise);
  raise.raise[0].text = "again";
  record(*store, raise);
  EXPECT_EQ(count_of(*store, "alert WHERE resolved IS NULL AND text = 'first'"), 1);
  EXPECT_EQ(count_of(*store, "alert"), 1);

  auto resolve = record_of("a", 2);
  resolve.resolve = {"R3:chat", "never raised"};
  record(*store, resolve);
  EXPECT_EQ(count_of(*store, "alert WHERE resolved = 1780000002000 AND resolved_event = 3"), 1);
  record(*store, raise);
  EXPECT_EQ(count_of(*store, "alert"), 2);
  EXPECT_EQ(count_of(*store, "day_count WHERE what = 'alert.critical' AND count = 2"), 1);
}

TEST_F(StoreTest, KeepsTheNewestRawRepliesByNumber) {
  const auto store = open_store();
  for (std::int64_t i = 1; i <= kRawReplies + 5; ++i) {
    auto r = record_of("a", i);
    r.raw_replies = {reply_of(std::to_string(i))};
    record(*store, r);
  }
  auto other = record_of("b", 1);
  other.raw_replies = {reply_of("of another engine")};
  record(*store, other);
  EXPECT_EQ(count_of(*store, "raw_reply"), kRawReplies + 1);
  EXPECT_EQ(store->database().text("SELECT body FROM raw_reply ORDER BY id LIMIT 1")->value(), "6");
}

TEST_F(StoreTest, KeepsTheNewestRawRepliesByBytesAndAlwaysOne) {
  const auto store = open_store();
  auto r = record_of("a", 1);
  r.raw_replies = {reply_of(std::string(1 << 20, 'x'))};
  for (int i = 0; i < 7; ++i)
    record(*store, r);
  EXPECT_EQ(count_of(*store, "raw_reply"), 5);
  r.raw_replies[0].body = std::string(kRawReplyBytes + 1, 'y');
  record(*store, r);
  EXPECT_EQ(count_of(*store, "raw_reply WHERE length(body) = 5242881"), 1);
  EXPECT_EQ(count_of(*store, "raw_reply"), 1);
}

TEST_F(StoreTest, KeepsRawRepliesThatAreNotText) {
  const auto store = open_store();
  auto r = record_of("a", 1);
  const std::string body("\xff\x00\xfe{", 4);
  r.raw_replies = {reply_of(body)};
  record(*store, r);
  EXPECT_EQ(store->database().text("SELECT body FROM raw_reply")->value(), body);
}

TEST_F(StoreTest, RollsUpCountsByUtcDay) {
  const auto store = open_store();
  auto r = record_of("a", 0);
  r.counts = {{"calls.ok", 4}, {"runs.pass", 1}};
  r.decisions = {decision_of("no_action", "R1")};
  r.event.wall = WallTime{std::chrono::days{20'600}} - Millis{1};
  record(*store, r);
  r.event.wall = WallTime{std::chrono::days{20'600}};
  record(*store, r);
  record(*store, r);
  EXPECT_EQ(count_of(*store, "day_count WHERE day = 20599 AND what = 'calls.ok' AND count = 4"), 1);
  EXPECT_EQ(count_of(*store, "day_count WHERE day = 20600 AND what = 'calls.ok' AND count = 8"), 1);
  EXPECT_EQ(count_of(*store, "day_count WHERE day = 20600 AND what = 'decision.no_action' AND count = 2"), 1);
}

}  // namespace
}  // namespace fireboss::sqlite
