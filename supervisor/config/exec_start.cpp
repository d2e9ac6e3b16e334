#include "supervisor/config/exec_start.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace fireboss::config {
namespace {

constexpr std::array<std::string_view, 4> kClients{"docker", "podman", "nerdctl", "docker-compose"};
constexpr std::array<std::string_view, 6> kShells{"sh", "bash", "dash", "ash", "zsh", "env"};

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// The words of a shell's script, roughly: enough to find a program's name at the place of one.
std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text) {
    if (std::string_view(" \t\n;&|()").find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty())
    out.push_back(std::move(word));
  return out;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view path) {
  return std::find(names.begin(), names.end(), base_name(path)) != names.end();
}

bool starts_container(const std::vector<std::string>& args, std::size_t client) {
  if (base_name(args[client]) == "docker-compose")
    return true;
  for (std::size_t i = client + 1; i < args.size(); ++i)
    if (args[i] == "run" || args[i] == "start" || args[i] == "compose")
      return true;
  return false;
}

}  // namespace

std::optional<std::string> container_client_problem(const Engine& engine,
                                                    const std::vector<std::string>& exec_start) {
  if (engine.listener == ListenerCheck::kAny || exec_start.empty())
    return std::nullopt;
  std::vector<std::string> args;
  if (is_one_of(kShells, exec_start.front())) {
    for (const auto& argument : exec_start)
      for (auto& word : words(argument))
        args.push_back(std::move(word));
  } else {
    args = exec_start;
  }
  // Of a program's own arguments only the first is a program's name.
  const auto end = is_one_of(kShells, exec_start.front()) ? args.end() : args.begin() + 1;
  const auto client =
      std::find_if(args.begin(), end, [](const std::string& word) { return is_one_of(kClients, word); });
  if (client == end || !starts_container(args, static_cast<std::size_t>(client - args.begin())))
    return std::nullopt;
  const auto name = std::string(base_name(*client));
  if (name == "podman" && std::find(args.begin(), args.end(), "--cgroups=split") != args.end())
    return std::nullopt;
  return "engine '" + engine.name + "': " + engine.unit + " runs `" + name +
         "`, whose containers are outside of the unit's control group: the port's listener will be taken for "
         "somebody else's and nothing is asked. Start it with `podman run --cgroups=split`, or set listener "
         "= "
         "\"any\"";
}

}  // namespace fireboss::config
