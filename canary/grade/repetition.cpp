#include "canary/grade/repetition.h"

#include <algorithm>
#include <string>

#include "canary/grade/text.h"

namespace fireboss::canary {
namespace {

// A tail is judged by its end: this much of it is enough, however long the reply.
constexpr std::size_t kWindow = 4096;
// A stuck reply may still end in other words: cut off in the middle of a token, or a last full stop.
constexpr std::size_t kMaxCoda = 4;

// How many code points at the end of `text` repeat with that period.
std::size_t run(std::u32string_view text, std::size_t period) {
  std::size_t matched = 0;
  while (matched + period < text.size() &&
         text[text.size() - 1 - matched] == text[text.size() - 1 - matched - period]) {
    ++matched;
  }
  return matched == 0 ? 0 : matched + period;
}

std::optional<Repetition> find(std::u32string_view text, std::u32string_view expected,
                               std::size_t min_periods, std::size_t min_tail) {
  for (std::size_t period = 1; period <= kMaxPeriod && period * min_periods <= text.size(); ++period) {
    const std::size_t length = run(text, period);
    if (length >= period * min_periods && length >= min_tail && length >= run(expected, period) + kMinTail) {
      return Repetition{period, length};
    }
  }
  return std::nullopt;
}

std::u32string tail(std::string_view text) {
  std::u32string points = code_points(text);
  if (points.size() > kWindow) {
    points.erase(0, points.size() - kWindow);
  }
  return points;
}

std::u32string collapsed(std::u32string_view text) {
  std::u32string out;
  for (const char32_t point : text) {
    if (!is_white_space(point)) {
      out.push_back(point);
    } else if (out.empty() || out.back() != ' ') {
      out.push_back(' ');
    }
  }
  return out;
}

}  // namespace

std::optional<Repetition> repetition(std::string_view text, std::string_view expected) {
  const std::u32string whole = tail(text);
  const std::size_t ending = static_cast<std::size_t>(
      std::find_if(whole.rbegin(), whole.rend(), [](char32_t p) { return !is_white_space(p); }) -
      whole.rbegin());
  if (ending >= kMinWhiteSpace) {
    return Repetition{1, ending};
  }
  const std::u32string trimmed = tail(trim(text));
  const std::u32string answer = tail(trim(expected));
  if (auto found = find(trimmed, answer, kMinPeriods, kMinTail)) {
    return found;
  }
  if (auto found = find(collapsed(trimmed), collapsed(answer), kMinPeriods, kMinTail)) {
    return found;
  }
  for (std::size_t coda = 1; coda <= kMaxCoda && coda < trimmed.size(); ++coda) {
    const std::u32string_view before = std::u32string_view(trimmed).substr(0, trimmed.size() - coda);
    if (auto found = find(before, answer, 2 * kMinPeriods, 2 * kMinTail)) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace fireboss::canary
