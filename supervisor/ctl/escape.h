#pragma once
#include <string>
#include <string_view>

namespace fireboss::ctl {

// Untrusted text for a terminal: control bytes (ESC and C1 included) become \xNN, invalid UTF-8 likewise, so
// that no reply can move the cursor, recolour or retitle the operator's screen. Newline becomes \n.
[[nodiscard]] std::string escape(std::string_view text);

}  // namespace fireboss::ctl
