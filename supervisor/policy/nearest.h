#pragma once
// "did you mean": the known word that is closest to a misspelt one.
#include <optional>
#include <span>
#include <string_view>

namespace fireboss::policy {

// The word of `known` with the smallest edit distance (insert, delete, replace, swap of neighbours) to
// `word`, if that is at most a third of the longer one's length; the first of equals. Words over 64 bytes
// have none.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> known);

}  // namespace fireboss::policy
