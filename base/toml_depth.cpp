#include "base/toml_depth.h"

#include <algorithm>

namespace fireboss {
namespace {

// Behind the text that begins at `at` with a quote; a text that is never closed ends where TOML says that it
// must have been.
std::size_t end_of_text(std::string_view toml, std::size_t at) {
  const char quote = toml[at];
  const std::string_view fence = toml.substr(at, 3);
  const bool many_lines = fence.size() == 3 && fence[1] == quote && fence[2] == quote;
  for (auto i = at + (many_lines ? 3 : 1); i < toml.size(); ++i) {
    if (toml[i] == '\\' && quote == '"') {
      ++i;
    } else if (!many_lines && (toml[i] == quote || toml[i] == '\n')) {
      return toml[i] == quote ? i + 1 : i;
    } else if (many_lines && toml.substr(i, 3) == fence) {
      // One or two quotes more belong to the text.
      const auto behind = std::min(toml.find_first_not_of(quote, i), toml.size());
      return std::min(behind, i + 5);
    }
  }
  return toml.size();
}

}  // namespace

std::optional<std::uint32_t> line_of_deep_key(std::string_view toml, std::size_t most) {
  std::uint32_t line = 1;
  std::size_t parts = 1;
  for (std::size_t i = 0; i < toml.size();) {
    const char c = toml[i];
    if (c == '"' || c == '\'') {
      const auto end = end_of_text(toml, i);
      line += static_cast<std::uint32_t>(std::count(toml.begin() + static_cast<std::ptrdiff_t>(i),
                                                    toml.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(toml.find('\n', i), toml.size());
      continue;
    }
    if (c == '.' && ++parts > most)
      return line;
    if (c == '\n')
      ++line;
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos)
      parts = 1;
    ++i;
  }
  return std::nullopt;
}

}  // namespace fireboss
