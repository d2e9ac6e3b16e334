#pragma once
// A database in a folder of its own that vanishes with the test, and records to put into it.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "supervisor/adapters/sqlite/store.h"

namespace fireboss::sqlite {

class SqliteTest : public ::testing::Test {
 protected:
  SqliteTest() {
    std::string name = (std::filesystem::temp_directory_path() / "fireboss-sqlite-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      std::abort();
    folder_ = name;
    path_ = name + "/fireboss.db";
  }
  ~SqliteTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::unique_ptr<SqliteStore> open_store() {
    auto store = SqliteStore::open(path_, OpenMode::kCreate);
    if (!store) {
      ADD_FAILURE() << store.error().message;
      std::abort();
    }
    return std::move(*store);
  }

  // The n-th event of an engine: n seconds after boot.
  static ports::Record record_of(const std::string& engine, std::int64_t n,
                                 const std::string& kind = "tick") {
    ports::Record record;
    record.event.engine = engine;
    record.event.mono = MonoTime{Millis{n * 1000}};
    record.event.boot = "6f9ab4d2c1e84a4d8a5be4f7c3d21a10";
    record.event.wall = WallTime{Millis{1'780'000'000'000 + n * 1000}};
    record.event.kind = kind;
    record.event.payload = "{}";
    return record;
  }
  static ports::DecisionRow decision_of(const std::string& kind, const std::string& reason) {
    ports::DecisionRow decision;
    decision.kind = kind;
    decision.reason = reason;
    decision.payload = "{\"decision\":\"" + kind + "\",\"reason\":\"" + reason + "\"}";
    decision.decider_version = "1";
    decision.grader_version = "1";
    return decision;
  }
  static ports::ActionRow restart_of(const std::string& life) {
    ports::ActionRow action;
    action.kind = "restart";
    action.life = life;
    action.step = "evidence";
    action.steps = "[]";
    return action;
  }
  static ports::AlertRow alert_of(const std::string& key, const std::string& severity,
                                  const std::string& text) {
    ports::AlertRow alert;
    alert.key = key;
    alert.severity = severity;
    alert.text = text;
    return alert;
  }
  static ports::RawReply reply_of(const std::string& body) {
    ports::RawReply reply;
    reply.variant = "chat";
    reply.verdict = "leak";
    reply.call = 1;
    reply.body = body;
    return reply;
  }
  static std::int64_t count_of(SqliteStore& store, const std::string& table_and_where) {
    auto count = store.database().integer("SELECT count(*) FROM " + table_and_where);
    if (!count) {
      ADD_FAILURE() << count.error().message;
      return -1;
    }
    return count->value_or(-1);
  }

  std::string folder_, path_;
};

}  // namespace fireboss::sqlite
