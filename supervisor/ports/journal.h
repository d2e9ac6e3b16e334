#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::ports {

struct JournalLine {
  WallTime at{};
  std::string message;        // bounded to 4 KiB, bytes as they are
  int priority = 6;           // syslog; 4 = WARNING
  std::string invocation_id;  // the life it belongs to ("" for kernel lines)
  std::string unit;
  std::uint32_t pid = 0;
  bool from_manager = false;  // PID 1 speaking about the unit
  bool from_kernel = false;   // _TRANSPORT=kernel
  std::string message_id;     // of manager messages and of journald's suppression notice
  std::string job_type;       // of manager messages
  std::string unit_result;    // of "Failed with result ..."
  std::string exit_code;      // of "Main process exited": exited, killed, dumped
  int exit_status = 0;        // ... and its status or signal
};

// Follows what is written about a unit: its own lines of one invocation, the manager's about that unit (all
// invocations), journald's notice that it dropped lines of that unit, and the kernel's lines that can concern
// an engine (NVIDIA's driver, the OOM killer).
class Journal {
 public:
  virtual ~Journal() = default;
  // Replaces the earlier follow of that unit and then goes on right after the last line which that one was
  // given, so that a change of life neither loses nor repeats a line; `since` counts for the first follow.
  // Empty invocation: no lines of the unit's own. `on_line` is called on the event loop, in journal order,
  // lines from `since` (wall time) on. A journal that cannot be opened is an error and is tried again by the
  // object itself; on_error says so once an episode.
  virtual Result<void> follow(const std::string& unit, const std::string& invocation_id, WallTime since,
                              std::function<void(const JournalLine&)> on_line,
                              std::function<void(const Error&)> on_error) = 0;
  virtual void unfollow(const std::string& unit) = 0;
  // The last `limit` lines of one invocation at `max_priority` or more urgent, oldest first: evidence. Looked
  // for only as far back as is quick.
  struct Tail {
    std::vector<JournalLine> lines;
    std::size_t looked_at = 0;  // entries
    bool whole = true;          // false: there are older entries that were not looked at for want of time
  };
  virtual Result<Tail> tail(const std::string& unit, const std::string& invocation_id, int max_priority,
                            std::size_t limit) = 0;
  // The manager's last `limit` lines about a unit, all invocations, oldest first: how earlier lives ended,
  // for who begins to look now.
  virtual Result<std::vector<JournalLine>> manager_tail(const std::string& unit, std::size_t limit) = 0;
  // Since when the persistent journal covers the boot, to tell absence from not covered: oldest entry.
  virtual Result<WallTime> covers_since() = 0;
};

}  // namespace fireboss::ports
