#include "supervisor/adapters/sqlite/database.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include <sqlite3.h>

#include "base/os/file_descriptor.h"

namespace fireboss::sqlite {
namespace {

constexpr int kBusyMillis = 250;

// Makes the file with a mode of our own choice: SQLite would make it readable for everybody.
Result<void> make_file(const std::string& path) {
  if (const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640)); file)
    return {};
  const int error = errno;
  const std::string why = "cannot make or open database " + path + ": " + std::strerror(error);
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return fail(ErrorCode::kDenied, why + ": let the daemon's user write there");
    case ENOENT:
    case ENOTDIR:
      return fail(ErrorCode::kNotFound, why + ": make the folder first");
    case ENOSPC:
    case EDQUOT:
      return fail(ErrorCode::kFull, why + ": make room on that file system");
    default:
      return fail(ErrorCode::kInvalid, why);
  }
}

bool no_space(int system_errno) {
  return system_errno == ENOSPC || system_errno == EDQUOT;
}

int bind_one(sqlite3_stmt* statement, int index, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return sqlite3_bind_int64(statement, index, *number);
  if (const auto* text = std::get_if<std::string_view>(&value))
    return sqlite3_bind_text64(statement, index, text->data() == nullptr ? "" : text->data(), text->size(),
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  if (const auto* blob = std::get_if<Blob>(&value))
    return sqlite3_bind_blob64(statement, index, blob->bytes.data() == nullptr ? "" : blob->bytes.data(),
                               blob->bytes.size(), SQLITE_TRANSIENT);
  return sqlite3_bind_null(statement, index);
}

template <typename Read>
auto first_column(Database& database, std::string_view sql, Read read)
    -> Result<decltype(read(std::declval<Cursor&>()))> {
  auto statement = database.prepare(sql);
  if (!statement)
    return fail(std::move(statement.error()));
  auto row = first(statement->query(), read);
  if (!row)
    return fail(std::move(row.error()));
  return row->value_or(std::nullopt);
}

}  // namespace

Cursor::Cursor(Cursor&& other) noexcept
    : statement_(other.statement_), database_(other.database_), error_(std::move(other.error_)) {
  other.statement_ = nullptr;
}

Cursor::~Cursor() {
  if (statement_ == nullptr)
    return;
  sqlite3_reset(statement_);  // repeats the error of the last step, which next() has told already
  sqlite3_clear_bindings(statement_);
}

Result<bool> Cursor::next() {
  if (error_)
    return fail(*error_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW)
    return true;
  if (code == SQLITE_DONE)
    return false;
  return fail(database_->error(code));
}

bool Cursor::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
std::int64_t Cursor::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
std::string Cursor::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Cursor Statement::start(const Value* values, std::size_t count) {
  auto* const statement = statement_.get();
  if (statement == nullptr)
    return {nullptr, database_, Error{ErrorCode::kInternal, "a statement that was never prepared"}};
  for (std::size_t i = 1; i <= count; ++i)
    if (const int code = bind_one(statement, static_cast<int>(i), values[i]); code != SQLITE_OK)
      return {statement, database_, database_->error(code)};
  return {statement, database_, std::nullopt};
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Access access) {
  if (access == Access::kCreate)
    if (auto made = make_file(path); !made)
      return fail(std::move(made.error()));
  sqlite3* handle = nullptr;
  const int flags = (access == Access::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(path, handle));
  if (code != SQLITE_OK)
    return fail(database->error(code));
  // SQLite opens a file that it may not write for reading only, and says nothing.
  if (access != Access::kReadOnly && sqlite3_db_readonly(handle, "main") != 0)
    return fail(database->error(SQLITE_READONLY));
  sqlite3_busy_timeout(handle, kBusyMillis);
  // Schema text is ours alone: a crafted file must not run functions of its choice.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  int on = 0;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, &on);
  if (on != 1)
    return fail(ErrorCode::kInternal, path + ": this SQLite cannot check foreign keys");
  return database;
}

Database::~Database() {
  begin_ = Statement();  // before their connection
  commit_ = Statement();
  sqlite3_close_v2(handle_);
}

Result<void> Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK)
    return fail(error(code));
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  Statement statement;
  statement.statement_.reset(raw);
  statement.database_ = this;
  if (code != SQLITE_OK)
    return fail(error(code));
  return statement;
}

Result<void> Database::run_kept(Statement& statement, std::string_view sql) {
  if (statement.statement_ == nullptr) {
    auto prepared = prepare(sql);
    if (!prepared)
      return fail(std::move(prepared.error()));
    statement = std::move(*prepared);
  }
  return statement.run();
}

Result<std::optional<std::int64_t>> Database::integer(std::string_view sql) {
  return first_column(*this, sql, [](const Cursor& cursor) {
    return cursor.is_null(0) ? std::nullopt : std::optional(cursor.integer(0));
  });
}

Result<std::optional<std::string>> Database::text(std::string_view sql) {
  return first_column(*this, sql, [](const Cursor& cursor) {
    return cursor.is_null(0) ? std::nullopt : std::optional(cursor.text(0));
  });
}

std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(handle_);
}
std::int64_t Database::changes() const {
  return sqlite3_changes64(handle_);
}
bool Database::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

void Database::keep_wal() {
  int on = 1;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
}

Error Database::error(int code) const {
  const int system_errno = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  // The connection's own text is more exact, if it is about this error.
  const bool told = handle_ != nullptr && sqlite3_extended_errcode(handle_) == code;
  const std::string why =
      "database " + path_ + ": " + (told ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
  switch (code & 0xff) {  // the primary code of an extended one
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kBusy, why + ": another program has held the write lock for longer than " +
                                    std::to_string(kBusyMillis) + " ms; `fuser " + path_ + "` names it"};
    case SQLITE_FULL:
      return {ErrorCode::kFull, why + ": make room on that file system"};
    case SQLITE_IOERR:
      if (no_space(system_errno))
        return {ErrorCode::kFull, why + ": make room on that file system"};
      return {ErrorCode::kUnavailable,
              why + " (" + std::strerror(system_errno) + "): look at the kernel's log for disk errors"};
    case SQLITE_CORRUPT:
      return {ErrorCode::kCorrupt,
              why + ": move the file away and restore the newest " + path_ + ".bak-*, or begin a fresh one"};
    case SQLITE_NOTADB:
      return {ErrorCode::kCorrupt, why + ": this is no Fireboss database; correct the path or move it away"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorCode::kDenied, why +
                                      ": the user of this program must be able to write the file and its "
                                      "folder (or read them, for a command that only reads)"};
    case SQLITE_CANTOPEN:
      if (system_errno == ENOENT || system_errno == ENOTDIR)
        return {ErrorCode::kNotFound, why + ": there is no such file; correct the path or start firebossd"};
      if (system_errno == EACCES || system_errno == EPERM || system_errno == EROFS)
        return {ErrorCode::kDenied, why + " (" + std::strerror(system_errno) + ")"};
      if (no_space(system_errno))
        return {ErrorCode::kFull, why + ": make room on that file system"};
      return {ErrorCode::kUnavailable, why + " (" + std::strerror(system_errno) + ")"};
    default:
      return {ErrorCode::kInternal, why};
  }
}

Result<Transaction> Transaction::begin(Database& database) {
  if (auto begun = database.run_kept(database.begin_, "BEGIN IMMEDIATE"); !begun)
    return fail(std::move(begun.error()));
  return Transaction(database);
}

Transaction::~Transaction() {
  // SQLite rolls back by itself after some errors (full, I/O); then there is nothing left to undo.
  if (database_ != nullptr && database_->in_transaction())
    (void)database_->execute("ROLLBACK");
}

Result<void> Transaction::commit() {
  if (auto done = database_->run_kept(database_->commit_, "COMMIT"); !done)
    return done;
  database_ = nullptr;
  return {};
}

}  // namespace fireboss::sqlite
