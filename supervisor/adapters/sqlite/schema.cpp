#include "supervisor/adapters/sqlite/schema.h"

#include <numeric>
#include <string>
#include <vector>

#include "base/hash.h"

namespace fireboss::sqlite {
namespace {

// Not a migration: it is what migrations are recorded in.
constexpr const char* kFrame = R"sql(
CREATE TABLE migration (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  schema TEXT NOT NULL,
  applied INTEGER NOT NULL
) STRICT;
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

// Unix milliseconds, for people; the database's own clock because nothing is computed from it.
constexpr const char* kInsertVersion =
    "INSERT INTO migration (version, name, checksum, schema, applied) "
    "VALUES (?, ?, ?, ?, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))";

struct Applied {
  std::int64_t version;
  std::string name, checksum, schema;
};

// SHA-256 over the text of every table, index, view and trigger.
Result<std::string> schema_hash(Database& database) {
  auto statement = database.prepare(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_' "
      "ORDER BY type, name");
  if (!statement)
    return fail(std::move(statement.error()));
  auto objects = collect(statement->query(), [](const Cursor& cursor) {
    std::string text;
    for (int column = 0; column < 4; ++column)
      text.append(cursor.text(column)).append("\n");
    return text;
  });
  if (!objects)
    return fail(std::move(objects.error()));
  return sha256_hex(std::accumulate(objects->begin(), objects->end(), std::string()));
}

Result<std::vector<Applied>> applied_migrations(Database& database) {
  auto statement = database.prepare("SELECT version, name, checksum, schema FROM migration ORDER BY version");
  if (!statement)
    return fail(std::move(statement.error()));
  return collect(statement->query(), [](const Cursor& cursor) {
    return Applied{cursor.integer(0), cursor.text(1), cursor.text(2), cursor.text(3)};
  });
}

tl::unexpected<Error> altered(const Database& database, const std::string& what) {
  return fail(ErrorCode::kCorrupt, "database " + database.path() + ": altered: " + what +
                                       "; restore the newest " + database.path() +
                                       ".bak-* or move the file away to begin a fresh one");
}

Result<void> apply_one(Database& database, const Migration& migration) {
  auto transaction = Transaction::begin(database);
  if (!transaction)
    return fail(std::move(transaction.error()));
  if (migration.version == 1) {
    const auto application = "PRAGMA application_id = " + std::to_string(kApplicationId);
    if (auto done = database.execute(application + ";" + kFrame); !done)
      return done;
  }
  if (auto done = database.execute(std::string(migration.sql)); !done)
    return done;
  auto hash = schema_hash(database);
  if (!hash)
    return fail(std::move(hash.error()));
  auto insert = database.prepare(kInsertVersion);
  if (!insert)
    return fail(std::move(insert.error()));
  if (auto done = insert->run(migration.version, migration.name, sha256_hex(migration.sql), *hash); !done)
    return done;
  return transaction->commit();
}

}  // namespace

Result<int> schema_version(Database& database, std::span<const Migration> known) {
  auto application = database.integer("PRAGMA application_id");
  if (!application)
    return fail(std::move(application.error()));
  auto objects = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!objects)
    return fail(std::move(objects.error()));
  if (application->value_or(0) == 0 && objects->value_or(0) == 0)
    return 0;
  if (application->value_or(0) != kApplicationId)
    return fail(ErrorCode::kInvalid, "database " + database.path() +
                                         ": belongs to another program; correct the path in the "
                                         "configuration ([daemon] database)");
  auto applied = applied_migrations(database);
  if (!applied)
    return fail(std::move(applied.error()));
  if (applied->empty())
    return altered(database, "the list of migrations is empty");
  const auto newest = applied->back().version;
  const auto newest_known = known.empty() ? 0 : known.back().version;
  if (newest > newest_known)
    return fail(ErrorCode::kUnsupported,
                "database " + database.path() + ": newer: it has schema " + std::to_string(newest) +
                    " and this program knows " + std::to_string(newest_known) +
                    "; install the Fireboss that wrote it, or restore the " + database.path() + ".bak-" +
                    std::to_string(newest_known) + "-* that `fireboss migrate` made");
  for (std::size_t i = 0; i < applied->size(); ++i) {
    const auto& row = (*applied)[i];
    if (row.version != static_cast<std::int64_t>(i) + 1)
      return altered(database, "migration " + std::to_string(i + 1) + " is missing in its list");
    if (row.checksum != sha256_hex(known[i].sql))
      return altered(database, "migration " + std::to_string(row.version) + " (" + row.name +
                                   ") is not the one that this program knows");
  }
  auto hash = schema_hash(database);
  if (!hash)
    return fail(std::move(hash.error()));
  if (*hash != applied->back().schema)
    return altered(database, "its tables or indexes are not those of schema " + std::to_string(newest));
  return static_cast<int>(newest);
}

Result<void> require_current(Database& database, std::span<const Migration> known) {
  auto version = schema_version(database, known);
  if (!version)
    return fail(std::move(version.error()));
  const auto newest = known.back().version;
  if (*version == 0)
    return fail(ErrorCode::kUnsupported,
                "database " + database.path() + ": is empty; firebossd makes it when it starts");
  if (*version < newest)
    return fail(ErrorCode::kUnsupported,
                "database " + database.path() + ": older: it has schema " + std::to_string(*version) +
                    " and this program needs " + std::to_string(newest) +
                    "; stop firebossd and run `fireboss migrate` (it makes a backup first)");
  return {};
}

Result<void> apply_migrations(Database& database, std::span<const Migration> known,
                              const std::function<void(const Migration&)>& on_begin) {
  auto version = schema_version(database, known);
  if (!version)
    return fail(std::move(version.error()));
  for (const auto& migration : known.subspan(static_cast<std::size_t>(*version))) {
    if (on_begin)
      on_begin(migration);
    if (auto done = apply_one(database, migration); !done)
      return fail(done.error().in("migration " + std::to_string(migration.version) + " (" +
                                  std::string(migration.name) + ")"));
  }
  return {};
}

}  // namespace fireboss::sqlite
