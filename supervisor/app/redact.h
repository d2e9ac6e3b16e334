#pragma once
#include <string>
#include <vector>

namespace fireboss::app {

// A command line as it may be recorded: the value of every argument whose name smells of a secret (key,
// token, secret, password, auth, credential) becomes "***", in the forms --name VALUE, --name=VALUE and
// NAME=VALUE. Pure.
[[nodiscard]] std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments);

}  // namespace fireboss::app
