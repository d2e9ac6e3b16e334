#include "supervisor/app/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace fireboss::app {
namespace {

bool smells_of_a_secret(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords{"key", "token", "secret", "passw", "auth", "credential"};
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  out.reserve(arguments.size());
  bool hide_next = false;
  for (const auto& argument : arguments) {
    if (hide_next && !(argument.size() > 1 && argument.starts_with("--"))) {
      out.emplace_back("***");
      hide_next = false;
      continue;
    }
    hide_next = false;
    const auto equals = argument.find('=');
    if (equals != std::string::npos && smells_of_a_secret(std::string_view(argument).substr(0, equals))) {
      out.push_back(argument.substr(0, equals + 1) + "***");
    } else {
      hide_next = argument.starts_with("-") && smells_of_a_secret(argument);
      out.push_back(argument);
    }
  }
  return out;
}

}  // namespace fireboss::app
