#pragma once
// One SQLite connection, its prepared statements and its transactions, with errors as values. sqlite3.h stays
// out of here: only the .cpp files of this folder know it.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fireboss::sqlite {

class Database;

// Bytes that need not be UTF-8.
struct Blob {
  std::string_view bytes;
};
// What can be bound. nullopt is NULL.
using Value = std::variant<std::nullptr_t, std::int64_t, std::string_view, Blob>;

// A running statement: rows one after the other. Its end of life resets the statement, so that no read
// transaction outlives it.
class Cursor {
 public:
  Cursor(sqlite3_stmt* statement, const Database* database, std::optional<Error> error)
      : statement_(statement), database_(database), error_(std::move(error)) {}
  Cursor(Cursor&& other) noexcept;
  Cursor& operator=(Cursor&&) = delete;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor();

  // true: the columns below belong to the next row. false: no more.
  [[nodiscard]] Result<bool> next();
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  // NULL is "".
  [[nodiscard]] std::string text(int column) const;

 private:
  sqlite3_stmt* statement_;
  const Database* database_;
  std::optional<Error> error_;  // of binding, told by the first next()
};

class Statement {
 public:
  Statement() = default;

  // Binds in order and starts. A statement can be running once at a time.
  template <typename... Values>
  [[nodiscard]] Cursor query(const Values&... values) {
    const Value all[] = {nullptr, to_value(values)...};
    return start(all, sizeof...(values));
  }
  // The same for what returns no rows.
  template <typename... Values>
  [[nodiscard]] Result<void> run(const Values&... values) {
    auto cursor = query(values...);
    auto row = cursor.next();
    if (!row)
      return fail(std::move(row.error()));
    return {};
  }

 private:
  friend class Database;
  static Value to_value(std::nullptr_t) { return nullptr; }
  static Value to_value(std::int64_t number) { return number; }
  static Value to_value(int number) { return std::int64_t{number}; }
  static Value to_value(std::string_view text) { return text; }
  static Value to_value(const std::string& text) { return std::string_view(text); }
  static Value to_value(const char* text) { return std::string_view(text); }
  static Value to_value(Blob blob) { return blob; }
  static Value to_value(const std::optional<std::int64_t>& number) {
    return number ? Value{*number} : Value{nullptr};
  }
  // values[1..count]
  Cursor start(const Value* values, std::size_t count);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const Database* database_ = nullptr;
};

// Every row as `read` makes it of the cursor.
template <typename Read>
auto collect(Cursor cursor, Read read) -> Result<std::vector<decltype(read(cursor))>> {
  std::vector<decltype(read(cursor))> out;
  for (;;) {
    auto row = cursor.next();
    if (!row)
      return fail(std::move(row.error()));
    if (!*row)
      return out;
    out.push_back(read(cursor));
  }
}

// The first row; nullopt: there is none.
template <typename Read>
auto first(Cursor cursor, Read read) -> Result<std::optional<decltype(read(cursor))>> {
  auto row = cursor.next();
  if (!row)
    return fail(std::move(row.error()));
  if (!*row)
    return std::nullopt;
  return read(cursor);
}

enum class Access { kReadOnly, kReadWrite, kCreate };

class Database {
 public:
  // kCreate makes a missing file (mode 0640). Foreign keys are on; a lock of somebody else is waited for
  // 250 ms. Nothing is written and nothing is checked yet.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::string& path, Access access);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  [[nodiscard]] Result<void> execute(const std::string& sql);  // several statements allowed, no rows wanted
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  // First column of the first row; nullopt: no row or NULL.
  [[nodiscard]] Result<std::optional<std::int64_t>> integer(std::string_view sql);
  [[nodiscard]] Result<std::optional<std::string>> text(std::string_view sql);

  [[nodiscard]] std::int64_t last_insert_id() const;
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  // Keep FILE-wal and FILE-shm after the last close: a reader without write permission on the folder needs
  // them to be there.
  void keep_wal();
  // The error of the last call that returned `code`, with the file's name and what to do about it.
  [[nodiscard]] Error error(int code) const;
  [[nodiscard]] sqlite3* handle() const { return handle_; }

 private:
  friend class Transaction;
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  // Prepared at the first use and kept: what every transaction runs.
  Result<void> run_kept(Statement& statement, std::string_view sql);

  std::string path_;
  sqlite3* handle_;
  Statement begin_, commit_;
};

// BEGIN IMMEDIATE at once; ROLLBACK at its end of life unless commit() succeeded.
class Transaction {
 public:
  [[nodiscard]] static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(other.database_) { other.database_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  [[nodiscard]] Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace fireboss::sqlite
