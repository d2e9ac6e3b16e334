// How large the record gets: a day of an engine, and the log beside the database.
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/adapters/sqlite/store.h"
#include "supervisor/policy/codec.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/names.h"
#include "tests/unit/adapters/sqlite/sqlite_fixture.h"

namespace fireboss::sqlite {
namespace {

constexpr std::int64_t kBytesADay = 200'000;

class GrowthTest : public SqliteTest {
 protected:
  // Days of one engine as firebossd records them: the policy's own decisions, states and timers.
  class Engine {
   public:
    explicit Engine(SqliteStore& store) : store_(store) {
      policy_.mode = policy::Mode::kEnforce;
      EXPECT_TRUE(store_.put_policy("hash", policy::canonical_text(policy_)));
      const std::string invocation = "6f9ab4d2c1e84a4d8a5be4f7c3d21a10";
      at(MonoTime{Millis{1000}}, policy::DaemonStarted{std::nullopt, std::nullopt, invocation});
      at(MonoTime{Millis{2000}},
         policy::LifeStarted{invocation, policy::LifeCause::kSystemd, std::string(64, 'f')});
      at(MonoTime{Millis{60'000}}, policy::Ready{invocation, std::string(64, 'f')});
      life_ = invocation;
    }

    // Runs whenever one is due, and the edges of an engine that is busy and quiet again every `cycle`.
    void day(Millis cycle) {
      const auto end = now_ + std::chrono::hours{24};
      for (auto edge = now_ + cycle; now_ < end; edge += cycle) {
        run_until(edge);
        policy::Counters counters;
        counters.running = ++edges_ % 2;
        counters.waiting = 0;
        counters.prompt_tokens = 10'000'000 + edges_ * 5000;
        counters.generation_tokens = 2'000'000 + edges_ * 700;
        at(edge, counters);
      }
    }

   private:
    void run_until(MonoTime until) {
      for (;;) {
        const auto timer = policy::next_timer(policy_, state_);
        if (timer && timer->at <= until && timer->at >= now_)
          at(timer->at, policy::TimerDue{timer->name});
        const auto due = policy::canary_due(state_);
        if (due) {
          at(now_, policy::CanaryBegun{due->variant, due->life, due->purpose});
          // Every tenth run has a failed call, so that confirming runs are part of the day.
          std::vector<std::string> results(4, "ok");
          if (++runs_ % 10 == 0)
            results[1] = "wrong_answer";
          at(now_ + std::chrono::seconds{5},
             policy::CanaryResult{due->variant, due->life, results, due->purpose});
        } else if (!timer || timer->at > until) {
          return;
        }
      }
    }

    void at(MonoTime when, policy::EventBody body) {
      now_ = std::max(now_, when);
      const policy::Event event{now_, std::move(body)};
      auto stepped = policy::step(policy_, state_, event);
      const auto encoded = policy::encode(event.body);
      auto record = record_of("vllm", 0, encoded.kind);
      record.event.mono = now_;
      record.event.wall = WallTime{Millis{1'780'000'000'000}} + now_.time_since_epoch();
      record.event.payload = encoded.payload;
      for (const auto& decision : stepped.decisions) {
        auto row = decision_of(std::string(policy::to_string(decision.kind)), decision.reason);
        row.payload = policy::encode(decision);
        row.policy_hash = "hash";
        row.evidence = {0};
        record.decisions.push_back(std::move(row));
      }
      if (encoded.kind == "canary")
        record.counts = {{"calls.pass", 4}};
      record.state = policy::encode(stepped.state);
      state_ = std::move(stepped.state);
      const auto recorded = store_.record(record);
      ASSERT_TRUE(recorded) << recorded.error().message;
    }

    SqliteStore& store_;
    policy::Policy policy_;
    policy::State state_;
    std::string life_;
    MonoTime now_{};
    std::int64_t edges_ = 0, runs_ = 0;
  };

  static std::int64_t used_bytes(SqliteStore& store) {
    const auto number = [&](const char* sql) { return store.database().integer(sql)->value(); };
    return (number("PRAGMA page_count") - number("PRAGMA freelist_count")) * number("PRAGMA page_size");
  }

  // Of one more day, after the first two.
  std::int64_t bytes_a_day(Millis cycle) {
    const auto store = open_store();
    EXPECT_TRUE(store->database().execute("PRAGMA synchronous = OFF"));  // only to be quick
    Engine engine(*store);
    engine.day(cycle);
    engine.day(cycle);
    const auto before = used_bytes(*store);
    const auto events = count_of(*store, "event"), decisions = count_of(*store, "decision");
    constexpr int kDays = 3;
    for (int i = 0; i < kDays; ++i)
      engine.day(cycle);
    const auto bytes = (used_bytes(*store) - before) / kDays;
    std::cout << "an engine-day with an edge every " << format_duration(cycle) << ": " << bytes << " bytes, "
              << (count_of(*store, "event") - events) / kDays << " events, "
              << (count_of(*store, "decision") - decisions) / kDays << " decisions\n";
    return bytes;
  }
};

TEST_F(GrowthTest, AnOrdinaryDayStaysBelowItsLimit) {
  const auto bytes = bytes_a_day(std::chrono::minutes{10});
  EXPECT_GT(bytes, 10'000) << "was anything recorded?";
  EXPECT_LE(bytes, kBytesADay);
}

TEST_F(GrowthTest, ADayOfRestlessTrafficStaysBelowItsLimitToo) {
  EXPECT_LE(bytes_a_day(std::chrono::minutes{2}), kBytesADay);
}

TEST_F(GrowthTest, TheLogIsFoldedBackBesideReaders) {
  const auto store = open_store();
  ASSERT_TRUE(store->database().execute("PRAGMA synchronous = OFF"));
  auto record = record_of("a", 1);
  record.state = "\"" + std::string(20'000, 's') + "\"";
  std::uintmax_t largest = 0;
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(store->record(record));
    largest = std::max(largest, std::filesystem::file_size(path_ + "-wal"));
  }
  // 1000 pages between two checkpoints, and the record that goes over it.
  EXPECT_LE(largest, 1100U * 4120U);
  EXPECT_GT(largest, 100U * 4120U) << "was the log used at all?";
}

TEST_F(GrowthTest, TheLogShrinksAgainOnceALongReaderIsGone) {
  const auto store = open_store();
  ASSERT_TRUE(store->database().execute("PRAGMA synchronous = OFF"));
  auto record = record_of("a", 1);
  record.state = "\"" + std::string(20'000, 's') + "\"";
  ASSERT_TRUE(store->record(record));
  {
    auto reader = Database::open(path_, Access::kReadOnly);
    ASSERT_TRUE(reader);
    ASSERT_TRUE((*reader)->execute("BEGIN; SELECT count(*) FROM event"));
    for (int i = 0; i < 1500; ++i)
      ASSERT_TRUE(store->record(record));
    EXPECT_GT(std::filesystem::file_size(path_ + "-wal"), 20U << 20) << "the reader was in the way";
  }
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(store->record(record));
  EXPECT_LE(std::filesystem::file_size(path_ + "-wal"), 5U << 20);
}

}  // namespace
}  // namespace fireboss::sqlite
