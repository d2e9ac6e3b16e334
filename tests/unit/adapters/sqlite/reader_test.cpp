#include "supervisor/adapters/sqlite/reader.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/sqlite/sqlite_fixture.h"

namespace fireboss::sqlite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ReaderTest : public SqliteTest {
 protected:
  std::unique_ptr<Reader> open_reader() {
    auto reader = Reader::open(path_);
    if (!reader) {
      ADD_FAILURE() << reader.error().message;
      std::abort();
    }
    return std::move(*reader);
  }
  template <typename T>
  static T value(Result<T> result) {
    if (!result) {
      ADD_FAILURE() << result.error().message;
      std::abort();
    }
    return std::move(*result);
  }
  template <typename Row>
  static std::vector<std::int64_t> ids(const std::vector<Row>& rows) {
    std::vector<std::int64_t> out;
    for (const auto& row : rows)
      out.push_back(row.id);
    return out;
  }
};

TEST_F(ReaderTest, ShowsTheWholeStoryOfARestart) {
  const auto store = open_store();
  ASSERT_TRUE(store->put_policy("hash", "{\"k\":2}"));
  ASSERT_TRUE(store->record(record_of("a", 1, "ready")));
  auto bad = record_of("a", 2, "canary");
  bad.decisions = {decision_of("restart", "R2 degraded: 3 of 4")};
  bad.decisions[0].policy_hash = "hash";
  bad.decisions[0].evidence = {1, 0};
  bad.open_action = restart_of("l1");
  bad.raise = {alert_of("R2", "critical", "degraded")};
  bad.raw_replies = {reply_of("first"), reply_of("second")};
  bad.counts = {{"calls.leak", 3}};
  bad.state = "{\"at\":2}";
  ASSERT_TRUE(store->record(bad));

  const auto reader = open_reader();
  const auto decision = value(reader->decision(1)).value();
  EXPECT_EQ(decision.engine, "a");
  EXPECT_EQ(decision.reason, "R2 degraded: 3 of 4");
  EXPECT_EQ(decision.policy_hash, "hash");
  EXPECT_EQ(decision.first_event, 2);
  EXPECT_EQ(decision.first_mono, bad.event.mono);
  EXPECT_EQ(decision.first_wall, bad.event.wall);
  EXPECT_THAT(decision.evidence, ElementsAre(1, 2));
  EXPECT_THAT(ids(value(reader->evidence(1))), ElementsAre(1, 2));
  EXPECT_THAT(ids(value(reader->actions_of(1))), ElementsAre(1));
  EXPECT_EQ(value(reader->policy("hash")), "{\"k\":2}");
  EXPECT_EQ(value(reader->policies()),
            (std::vector{std::pair<std::string, std::string>("hash", "{\"k\":2}")}));
  const auto replies = value(reader->raw_replies(2));
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[1].reply.body, "second");
  EXPECT_EQ(replies[1].reply.verdict, "leak");
  EXPECT_EQ(replies[1].wall, bad.event.wall);

  const auto overview = value(reader->overview());
  ASSERT_EQ(overview.engines.size(), 1U);
  EXPECT_EQ(overview.engines[0].state, "{\"at\":2}");
  EXPECT_EQ(overview.engines[0].state_event, 2);
  EXPECT_EQ(overview.engines[0].state_wall, bad.event.wall);
  ASSERT_EQ(overview.operations.size(), 1U);
  EXPECT_EQ(overview.operations[0].life, "l1");
  ASSERT_EQ(overview.alerts.size(), 1U);
  EXPECT_EQ(overview.alerts[0].text, "degraded");
  EXPECT_EQ(overview.alerts[0].resolved, WallTime{});
}

TEST_F(ReaderTest, ListsNewestDecisionsFirstAndOnFromAnId) {
  const auto store = open_store();
  for (int i = 1; i <= 5; ++i) {
    auto r = record_of(i == 3 ? "b" : "a", i);
    r.decisions = {decision_of("no_action", "reason " + std::to_string(i))};
    ASSERT_TRUE(store->record(r));
  }
  const auto reader = open_reader();
  EXPECT_THAT(ids(value(reader->decisions("a", 2))), ElementsAre(5, 4));
  EXPECT_THAT(ids(value(reader->decisions("a", 2, 4))), ElementsAre(2, 1));
  EXPECT_THAT(ids(value(reader->decisions("", 3))), ElementsAre(5, 4, 3));
  EXPECT_THAT(ids(value(reader->decisions("nobody", 3))), ElementsAre());
  EXPECT_THAT(ids(value(reader->decisions_after("a", 1, 2))), ElementsAre(2, 4));
  EXPECT_EQ(value(reader->decision(99)), std::nullopt);
}

TEST_F(ReaderTest, WalksEventsInTheirOrder) {
  const auto store = open_store();
  for (int i = 1; i <= 6; ++i)
    ASSERT_TRUE(store->record(record_of(i % 2 == 0 ? "b" : "a", i)));
  const auto reader = open_reader();
  EXPECT_THAT(ids(value(reader->events("a", 0, 2))), ElementsAre(1, 3));
  EXPECT_THAT(ids(value(reader->events("a", 3, 2))), ElementsAre(5));
  EXPECT_THAT(ids(value(reader->events("", 4, 10))), ElementsAre(5, 6));
  EXPECT_EQ(value(reader->event(4)).value().engine, "b");
  EXPECT_EQ(value(reader->event(7)), std::nullopt);
}

TEST_F(ReaderTest, ListsActionsAndAlertsClosedOnesToo) {
  const auto store = open_store();
  auto r = record_of("a", 1);
  r.open_action = restart_of("l1");
  r.raise = {alert_of("k", "warning", "t")};
  ASSERT_TRUE(store->record(r));
  r = record_of("a", 2);
  r.update_action = restart_of("l1");  // id 0: the open one
  r.update_action->state = "clean";
  r.update_action->step = "verify";
  r.update_action->ended = r.event.wall;
  r.resolve = {"k"};
  ASSERT_TRUE(store->record(r));
  const auto reader = open_reader();
  EXPECT_EQ(value(reader->overview()).operations.size(), 0U);
  EXPECT_EQ(value(reader->overview()).alerts.size(), 0U);
  for (const auto* engine : {"a", ""}) {
    const auto actions = value(reader->actions(engine, 5));
    ASSERT_EQ(actions.size(), 1U);
    EXPECT_EQ(actions[0].state, "clean");
    EXPECT_EQ(actions[0].ended, r.event.wall);
    EXPECT_THAT(ids(value(reader->actions(engine, 5, 1))), ElementsAre());
    const auto alerts = value(reader->alerts(engine, 5));
    ASSERT_EQ(alerts.size(), 1U);
    EXPECT_EQ(alerts[0].resolved, r.event.wall);
  }
}

TEST_F(ReaderTest, SumsDaysOverEngines) {
  const auto store = open_store();
  for (const auto* engine : {"a", "b"}) {
    auto r = record_of(engine, 1);
    r.event.wall = WallTime{std::chrono::days{20'600}};
    r.counts = {{"calls.ok", 4}};
    ASSERT_TRUE(store->record(r));
    r.event.wall += std::chrono::days{1};
    ASSERT_TRUE(store->record(r));
  }
  const auto reader = open_reader();
  const auto one = value(reader->days("a", 20'600, 20'600));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].count, 4);
  const auto all = value(reader->days("", 20'600, 20'601));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].day, 20'601);
  EXPECT_EQ(all[1].what, "calls.ok");
  EXPECT_EQ(all[1].count, 8);
}

TEST_F(ReaderTest, ReadsBesideAWriterAndSeesWhatItCommits) {
  const auto store = open_store();
  ASSERT_TRUE(store->record(record_of("a", 1)));
  const auto reader = open_reader();
  EXPECT_EQ(value(reader->events("a", 0, 10)).size(), 1U);
  ASSERT_TRUE(store->record(record_of("a", 2)));
  EXPECT_EQ(value(reader->events("a", 0, 10)).size(), 2U);
}

TEST_F(ReaderTest, ReadsWhatADeadWriterLeftInItsLog) {
  const auto child = ::fork();
  if (child == 0) {
    auto store = SqliteStore::open(path_, OpenMode::kCreate);
    const bool recorded = store && (*store)->record(record_of("a", 1));
    ::_exit(recorded ? 0 : 1);  // no destructor runs: as if it had been killed
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_GT(std::filesystem::file_size(path_ + "-wal"), 0U);
  EXPECT_EQ(value(open_reader()->events("a", 0, 10)).size(), 1U);
}

TEST_F(ReaderTest, CannotWrite) {
  open_store().reset();
  auto database = Database::open(path_, Access::kReadOnly);
  ASSERT_TRUE(database);
  const auto written = (*database)->execute("DELETE FROM event");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kDenied);
}

// The list of engines is as long as the configuration; everything else grows with the years.
TEST_F(ReaderTest, EveryQuerySearchesByAnIndex) {
  const auto store = open_store();
  for (const auto& sql : Reader::statements()) {
    ASSERT_NE(sql, "");
    auto plan = store->database().prepare("EXPLAIN QUERY PLAN " + sql);
    ASSERT_TRUE(plan) << sql;
    auto cursor = plan->query();
    for (auto row = cursor.next(); row && *row; row = cursor.next()) {
      const auto line = cursor.text(3);
      if (line == "SCAN g" || line.starts_with("SCAN g "))
        continue;
      if (line == "SCAN a USING INDEX action_open" || line == "SCAN t USING INDEX alert_open")
        continue;  // indexes of the open ones only
      if (line.starts_with("SCAN policy "))
        continue;  // one row for each edit of the configuration
      EXPECT_THAT(line, Not(HasSubstr("SCAN"))) << sql;
      const bool may_sort =
          sql.find("GROUP BY") != std::string::npos || sql.find("t.resolved IS NULL") != std::string::npos;
      if (!may_sort) {
        EXPECT_THAT(line, Not(HasSubstr("TEMP B-TREE"))) << sql;
      }
    }
  }
}

}  // namespace
}  // namespace fireboss::sqlite
