#include "supervisor/policy/nearest.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace fireboss::policy {
namespace {

constexpr std::size_t kMaxLength = 64;

// Optimal string alignment distance. Both at most kMaxLength bytes.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kMaxLength + 1>, kMaxLength + 1> d{};
  for (std::size_t i = 0; i <= a.size(); ++i)
    d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j)
    d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kMaxLength)
    return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const auto candidate : known) {
    if (candidate.size() > kMaxLength)
      continue;
    const auto far = distance(word, candidate);
    if (far * 3 <= std::max(word.size(), candidate.size()) && (!best || far < best_distance)) {
      best = candidate;
      best_distance = far;
    }
  }
  return best;
}

}  // namespace fireboss::policy
