#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace fireboss::app {

// A command line as it may be recorded: the value of everything whose name smells of a secret (key, token,
// secret, password, auth, credential) becomes "***", in the forms --name VALUE, --name=VALUE, NAME=VALUE,
// NAME: VALUE and `Bearer VALUE`, also inside of one argument (`sh -c "..."`, -H "..."), and so does the user
// of a URL. Pure.
[[nodiscard]] std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments);

// Every occurrence of a secret that is known becomes "***". Pure.
void mask(std::string& text, std::string_view secret);

}  // namespace fireboss::app
