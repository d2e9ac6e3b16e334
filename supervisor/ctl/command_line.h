#pragma once
#include <string>

namespace fireboss::ctl {

// The whole of `fireboss`: reads the words, runs the verb, returns the exit status. `version` is what
// --version prints.
[[nodiscard]] int run_command_line(int argc, const char* const* argv, const std::string& version);

}  // namespace fireboss::ctl
