#pragma once
#include <optional>

#include "supervisor/config/raw.h"

namespace fireboss::config {

// The engine's suite with the contents of its files. Reads the suite's own file first if there is one
// (`section` then holds its keys too). nullopt: told in `findings`.
[[nodiscard]] std::optional<canary::Suite> load_suite(RawEngine& engine, Findings& findings);

}  // namespace fireboss::config
