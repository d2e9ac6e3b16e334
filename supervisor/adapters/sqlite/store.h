#pragma once
// The record in SQLite: ports::Store.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "supervisor/adapters/sqlite/database.h"
#include "supervisor/adapters/sqlite/schema.h"
#include "supervisor/ports/store.h"

namespace fireboss::sqlite {

enum class OpenMode {
  kCreate,    // a missing or empty file becomes a fresh database (the daemon)
  kExisting,  // kNotFound without it
};

// Kept per engine at most: the newest raw replies up to both limits.
inline constexpr std::int64_t kRawReplies = 200;
inline constexpr std::int64_t kRawReplyBytes = 5 << 20;

class SqliteStore final : public ports::Store {
 public:
  // WAL, synchronous=FULL. Never migrates an existing database: kUnsupported says to run `fireboss migrate`
  // (older) or which program wrote it (newer); kCorrupt: altered, broken or no database at all; kDenied: not
  // writable. Take a DatabaseLock before.
  [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> open(
      const std::string& path, OpenMode mode, std::span<const Migration> known = migrations());
  ~SqliteStore() override;

  Result<ports::Recorded> record(const ports::Record& record) override;
  Result<void> put_policy(const std::string& hash, const std::string& text) override;
  Result<std::optional<ports::ActionRow>> open_action(const std::string& engine) override;
  Result<std::optional<std::string>> state(const std::string& engine) override;
  Result<std::vector<ports::EventRow>> events(const std::string& engine, std::int64_t after,
                                              int limit) override;

  // Called with the event's id after every record() that succeeded.
  void on_recorded(std::function<void(std::int64_t)> told) { on_recorded_ = std::move(told); }

  // The connection, for the other parts of this folder and for tests.
  [[nodiscard]] Database& database() { return *database_; }

 private:
  struct Statements;
  class Writer;  // one record() under way
  SqliteStore(std::unique_ptr<Database> database, std::unique_ptr<Statements> statements);

  std::unique_ptr<Database> database_;
  std::unique_ptr<Statements> statements_;
  std::function<void(std::int64_t)> on_recorded_;
};

}  // namespace fireboss::sqlite
