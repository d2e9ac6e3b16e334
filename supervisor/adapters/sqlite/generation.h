#pragma once
// Whether the database is the one that this machine wrote last. A small file outside of its folder holds the
// database's generation (a random id, renewed at every start), the machine's id and the newest event's id: a
// database that comes back from a backup or another machine disagrees with it.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/os/file_descriptor.h"
#include "base/result.h"
#include "supervisor/adapters/sqlite/store.h"

namespace fireboss::sqlite {

enum class Origin {
  kMatched,
  kMismatch,  // restored, copied, or begun anew in the place of another
  kMissing,   // the file is not there although the database has a history
};

struct OriginFinding {
  Origin origin = Origin::kMatched;
  std::string text;  // for the record and for people; "" when matched
};

class Generation {
 public:
  // Compares `file` with the store's database. Writes nothing. A fresh database without a file is matched.
  // `machine_id`: of /etc/machine-id, "" if there is none (then it is not compared).
  [[nodiscard]] static Result<Generation> open(SqliteStore& store, const std::string& file,
                                               const std::string& machine_id);
  [[nodiscard]] const OriginFinding& finding() const { return finding_; }

  // A new random id in both places, to be called once what follows from the finding is recorded. Killed at
  // any moment, the next open() still tells the truth.
  [[nodiscard]] Result<void> renew();
  // After each record, once renewed: the newest event's id. Not synced: it may fall behind, never run ahead.
  void note(std::int64_t event);

 private:
  Generation(SqliteStore& store, std::string file, std::string machine_id);
  Result<void> write(const std::string& ids, std::int64_t event);

  SqliteStore* store_;
  std::string file_, machine_id_, id_;
  OriginFinding finding_;
  FileDescriptor written_;  // kept open for note()
};

}  // namespace fireboss::sqlite
