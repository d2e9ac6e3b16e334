#pragma once
// sd-journal opened, matched and read. Blocking in the way that files are; nothing here waits for a new line.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <systemd/sd-journal.h>

#include "base/result.h"
#include "supervisor/ports/journal.h"

namespace fireboss::journal {

struct HandleClose {
  void operator()(sd_journal* handle) const noexcept { sd_journal_close(handle); }
};
using Handle = std::unique_ptr<sd_journal, HandleClose>;

// `directory` empty: the machine's journal. kDenied: its files exist but may not be read by this user.
// kUnavailable: there are none.
[[nodiscard]] Result<Handle> open_journal(const std::filesystem::path& directory);

[[nodiscard]] Error journal_error(int negative_errno, const std::string& what);

// What a follow shows: the unit's own lines of that invocation (none if empty), the manager's about the unit,
// journald's notice of suppressed lines of the unit, the kernel's.
[[nodiscard]] Result<void> match_unit(sd_journal* handle, const std::string& unit,
                                      const std::string& invocation_id);
[[nodiscard]] Result<void> match_invocation(sd_journal* handle, const std::string& invocation_id);
[[nodiscard]] Result<void> match_manager(sd_journal* handle, const std::string& unit);

// The entry that the handle stands on; nothing for an entry without a message or a kernel line that concerns
// no engine.
[[nodiscard]] std::optional<ports::JournalLine> read_line(sd_journal* handle);

// The entry's cursor, "" if there is none.
[[nodiscard]] std::string cursor_of(sd_journal* handle);

}  // namespace fireboss::journal
