#pragma once
// From what the files say to checked objects.
#include "supervisor/config/raw.h"

namespace fireboss::config {

// Every mistake goes to `findings`; the result means something only if there is none. Reads the suites'
// prompt and tools files. parse_suite() for suites in files of their own happens in here.
[[nodiscard]] Config build(RawConfig raw, Findings& findings);

}  // namespace fireboss::config
