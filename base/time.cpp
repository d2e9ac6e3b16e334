#include "base/time.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <limits>

namespace fireboss {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Unit, 5> kDurationUnits{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 9> kSizeUnits{{{"TiB", std::int64_t{1} << 40},
                                          {"GiB", std::int64_t{1} << 30},
                                          {"MiB", std::int64_t{1} << 20},
                                          {"KiB", std::int64_t{1} << 10},
                                          {"TB", 1'000'000'000'000},
                                          {"GB", 1'000'000'000},
                                          {"MB", 1'000'000},
                                          {"kB", 1'000},
                                          {"B", 1}}};

// A run of digits at the front of `text`, which is shortened by it.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || text.front() == '-')
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view take_letters(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z')))
    ++n;
  const auto letters = text.substr(0, n);
  text.remove_prefix(n);
  return letters;
}

template <std::size_t N>
std::optional<std::int64_t> factor_of(const std::array<Unit, N>& units, std::string_view name) {
  for (const auto& unit : units)
    if (unit.name == name)
      return unit.factor;
  return std::nullopt;
}

}  // namespace

Result<Millis> parse_duration(std::string_view text) {
  const auto bad = [text] {
    return fail(ErrorCode::kInvalid,
                "'" + std::string(text) +
                    "' is not a duration: write a whole number with a unit (ms, s, m, h, d), "
                    "such as 90s, 4h or 1h30m");
  };
  if (text.empty())
    return bad();
  std::int64_t total = 0;
  for (auto rest = text; !rest.empty();) {
    const auto number = take_number(rest);
    const auto factor = factor_of(kDurationUnits, take_letters(rest));
    if (!number || !factor || *number > kMax / *factor || total > kMax - *number * *factor)
      return bad();
    total += *number * *factor;
  }
  return Millis{total};
}

std::string format_duration(Millis duration) {
  auto rest = duration.count();
  if (rest == 0)
    return "0s";
  std::string out = rest < 0 ? "-" : "";
  rest = rest < 0 ? -rest : rest;
  for (const auto& unit : kDurationUnits) {
    if (rest >= unit.factor) {
      out += std::to_string(rest / unit.factor);
      out += unit.name;
      rest %= unit.factor;
    }
  }
  return out;
}

std::string humane_duration(Millis duration) {
  const auto ms = duration.count();
  if (ms < 0)
    return "-" + humane_duration(-duration);
  if (ms < 1'000)
    return ms == 0 ? "0s" : std::to_string(ms) + "ms";
  if (ms < 10'000)
    return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + "s";
  const auto seconds = ms / 1000;
  const auto two = [](std::int64_t a, const char* ua, std::int64_t b, const char* ub) {
    return std::to_string(a) + ua + (b != 0 ? " " + std::to_string(b) + ub : "");
  };
  if (seconds < 120)
    return std::to_string(seconds) + "s";
  if (seconds < 3600)
    return two(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86'400)
    return two(seconds / 3600, "h", seconds % 3600 / 60, "m");
  return two(seconds / 86'400, "d", seconds % 86'400 / 3600, "h");
}

std::string format_wall(WallTime time) {
  const auto ms = time.time_since_epoch().count();
  auto seconds = ms / 1000;
  auto rest = ms % 1000;
  if (rest < 0) {
    rest += 1000;
    --seconds;
  }
  const std::time_t t = seconds;
  std::tm parts{};
  if (gmtime_r(&t, &parts) == nullptr)
    return "invalid time";
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(rest));
  return out.data();
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto bad = [text] {
    return fail(ErrorCode::kInvalid, "'" + std::string(text) +
                                         "' is not a size: write a whole number of bytes, or with a unit "
                                         "(KiB, MiB, GiB, TiB, kB, MB, GB, TB), such as 64KiB");
  };
  auto rest = text;
  if (rest.empty())
    return bad();
  const auto number = take_number(rest);
  const auto unit = take_letters(rest);
  const auto factor = unit.empty() ? std::optional<std::int64_t>{1} : factor_of(kSizeUnits, unit);
  if (!number || !factor || !rest.empty() || *number > kMax / *factor)
    return bad();
  return static_cast<std::uint64_t>(*number * *factor);
}

std::string format_size(std::uint64_t bytes) {
  for (const auto& unit : kSizeUnits) {
    const auto factor = static_cast<std::uint64_t>(unit.factor);
    if (unit.name.size() == 3 && bytes >= factor && bytes % factor == 0)
      return std::to_string(bytes / factor) + std::string(unit.name);
  }
  return std::to_string(bytes);
}

}  // namespace fireboss
