#pragma once
// The schema and how it grows: numbered migrations, embedded at build time from migrations/NNNN_name.sql,
// append-only. The checksum of each applied one and of the resulting schema is kept in the database, so that
// neither can be altered unnoticed.
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "supervisor/adapters/sqlite/database.h"

namespace fireboss::sqlite {

struct Migration {
  int version;  // 1, 2, 3... without gaps
  std::string_view name, sql;
};
// The embedded ones, ascending.
[[nodiscard]] std::span<const Migration> migrations();

// "FbDb" in SQLite's application id: tells our files from another program's.
inline constexpr std::int64_t kApplicationId = 0x46624462;

// 0: an empty database. Errors: kInvalid: another program's database. kUnsupported: newer than the last of
// `known`. kCorrupt: an applied migration or the schema was altered.
[[nodiscard]] Result<int> schema_version(Database& database, std::span<const Migration> known);

// As schema_version, and anything but the newest version is an error too: kUnsupported, "run fireboss
// migrate". An empty database is kUnsupported as well.
[[nodiscard]] Result<void> require_current(Database& database, std::span<const Migration> known);

// Applies what is missing, each migration in a transaction together with its version row. Told of each one
// before it begins. An error leaves the ones before it applied and nothing of its own.
[[nodiscard]] Result<void> apply_migrations(Database& database, std::span<const Migration> known,
                                            const std::function<void(const Migration&)>& on_begin);

}  // namespace fireboss::sqlite
