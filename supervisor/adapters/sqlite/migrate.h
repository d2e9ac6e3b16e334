#pragma once
// What `fireboss migrate` does: a backup, then the missing migrations.
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "supervisor/adapters/sqlite/schema.h"

namespace fireboss::sqlite {

struct Migrated {
  int from = 0, to = 0;
  std::string backup;  // "" if nothing had to be done
};

// `progress` gets one line at a time. The backup is PATH.bak-FROM-TIME, complete and synced before anything
// changes. Takes the database's lock: kBusy while a firebossd runs. `now` names the backup.
[[nodiscard]] Result<Migrated> migrate(const std::string& path, WallTime now,
                                       const std::function<void(const std::string&)>& progress,
                                       std::span<const Migration> known = migrations());

}  // namespace fireboss::sqlite
