#pragma once
// Is the engine stuck at the end of a reply?
#include <cstddef>
#include <optional>
#include <string_view>

namespace fireboss::canary {

struct Repetition {
  std::size_t period = 0;  // code points
  std::size_t length = 0;  // of the repeating tail
};

// The tail repeats with a period of one to kMaxPeriod code points at least kMinPeriods times, and for longer
// than the expected text's own tail does; also if the reply began right. White space at the end counts only
// when there is a lot of it: models end replies with a line break or two.
[[nodiscard]] std::optional<Repetition> repetition(std::string_view text, std::string_view expected);

inline constexpr std::size_t kMaxPeriod = 128;
inline constexpr std::size_t kMinPeriods = 5;
inline constexpr std::size_t kMinTail = 10;
inline constexpr std::size_t kMinWhiteSpace = 32;

}  // namespace fireboss::canary
