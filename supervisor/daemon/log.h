#pragma once
#include <string>

namespace fireboss::daemon_log {

// To standard error: with journald's <PRIORITY> prefixes when systemd reads it (JOURNAL_STREAM), plain with a
// time otherwise. `level`: trace, debug, info, warning, error, critical.
void set_up(const std::string& level);

}  // namespace fireboss::daemon_log
