#pragma once
// One firebossd per database and per unit. A lock is a flock on a file of its own: it dies with its holder,
// however that ends, and a stale file means nothing.
#include <string>
#include <string_view>
#include <utility>

#include "base/os/file_descriptor.h"
#include "base/result.h"

namespace fireboss::sqlite {

class FileLock {
 public:
  // Makes `file` if it is missing and writes who holds it: "pid 4711, TEXT". kBusy: held by somebody else,
  // whom the message names; `what` is the thing that is locked. `text` is one short line without secrets.
  [[nodiscard]] static Result<FileLock> take(const std::string& file, std::string_view what,
                                             std::string_view text);

 private:
  explicit FileLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

// PATH.lock. `text` says which engines the holder serves.
[[nodiscard]] Result<FileLock> lock_database(const std::string& path, std::string_view text);
// FOLDER/unit-NAME.lock.
[[nodiscard]] Result<FileLock> lock_unit(const std::string& folder, std::string_view unit,
                                         std::string_view text);

}  // namespace fireboss::sqlite
