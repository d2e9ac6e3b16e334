#include "supervisor/adapters/sqlite/migrate.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <sqlite3.h>

#include "base/os/file_descriptor.h"
#include "supervisor/adapters/sqlite/lock.h"

namespace fireboss::sqlite {
namespace {

constexpr int kPagesPerStep = 2048;  // 8 MiB between two lines of progress
constexpr int kMaxBusySteps = 20;    // each has waited the busy timeout already

// "20260811T065738Z"
std::string compact_time(WallTime time) {
  auto text = format_wall(time).substr(0, 19) + "Z";
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '-' || c == ':'; }),
             text.end());
  return text;
}

Result<void> sync_path(const std::string& path, int flags) {
  const FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0)
    return fail(ErrorCode::kUnavailable, "cannot sync " + path + ": " + std::strerror(errno));
  return {};
}

Result<void> copy(Database& from, Database& to, const std::function<void(const std::string&)>& progress) {
  auto* const backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr)
    return fail(to.error(sqlite3_errcode(to.handle())));
  int code = SQLITE_OK;
  int busy_steps = 0;
  while (code == SQLITE_OK || (code == SQLITE_BUSY && busy_steps < kMaxBusySteps)) {
    code = sqlite3_backup_step(backup, kPagesPerStep);
    busy_steps = code == SQLITE_BUSY ? busy_steps + 1 : 0;
    const auto total = sqlite3_backup_pagecount(backup);
    if ((code == SQLITE_OK || code == SQLITE_DONE) && total > 0)
      progress("  " + std::to_string(100 * (total - sqlite3_backup_remaining(backup)) / total) + " % copied");
  }
  const int finished = sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE)
    return fail(to.error(finished == SQLITE_OK ? code : finished));
  return {};
}

// A half-made backup never carries a backup's name.
Result<void> back_up(Database& from, const std::string& path,
                     const std::function<void(const std::string&)>& progress) {
  const auto temporary = path + ".part";
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  const auto made = [&]() -> Result<void> {
    auto to = Database::open(temporary, Access::kCreate);
    if (!to)
      return fail(std::move(to.error()));
    if (auto done = copy(from, **to, progress); !done)
      return done;
    // One file that is complete by itself, without a write-ahead log beside it.
    return (*to)->execute("PRAGMA journal_mode = DELETE");
  }();
  auto synced = made ? sync_path(temporary, O_RDONLY) : made;
  if (!synced) {
    std::filesystem::remove(temporary, ignored);
    return synced;
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return fail(ErrorCode::kUnavailable, "cannot rename " + temporary + ": " + std::strerror(errno));
  const auto folder = std::filesystem::path(path).parent_path().string();
  return sync_path(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

}  // namespace

Result<Migrated> migrate(const std::string& path, WallTime now,
                         const std::function<void(const std::string&)>& progress,
                         std::span<const Migration> known) {
  auto database = Database::open(path, Access::kReadWrite);
  if (!database)
    return fail(std::move(database.error()));
  auto lock = lock_database(path, "fireboss migrate");
  if (!lock)
    return fail(std::move(lock.error()));
  auto version = schema_version(**database, known);
  if (!version)
    return fail(std::move(version.error()));
  Migrated result{*version, known.back().version, ""};
  if (result.from == result.to) {
    progress("database " + path + " has schema " + std::to_string(result.to) + ": nothing to do");
    return result;
  }
  if (result.from > 0) {  // an empty file has nothing to lose
    result.backup = path + ".bak-" + std::to_string(result.from) + "-" + compact_time(now);
    progress("backing up to " + result.backup);
    if (auto done = back_up(**database, result.backup, progress); !done)
      return fail(done.error().in("nothing was changed: no backup"));
  }
  auto applied = apply_migrations(**database, known, [&](const Migration& migration) {
    progress("applying migration " + std::to_string(migration.version) + " (" + std::string(migration.name) +
             ")");
  });
  if (!applied)
    return fail(ErrorCode(applied.error().code),
                applied.error().message +
                    (result.backup.empty() ? "" : "; the database as it was is in " + result.backup));
  progress("database " + path + " has schema " + std::to_string(result.to) + " now");
  return result;
}

}  // namespace fireboss::sqlite
