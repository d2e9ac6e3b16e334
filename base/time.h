#pragma once
// Points in time and durations, in whole milliseconds. Two clocks that cannot be mixed up by accident:
// MonoTime computes (CLOCK_MONOTONIC, stops in suspend, as systemd's *Monotonic properties do), WallTime is
// for people. Nothing here reads a clock; that is supervisor/adapters/clock's.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fireboss {

using Millis = std::chrono::duration<std::int64_t, std::milli>;

struct MonoClockTag {
  using duration = Millis;
  using rep = Millis::rep;
  using period = Millis::period;
  using time_point = std::chrono::time_point<MonoClockTag, Millis>;
  static constexpr bool is_steady = true;
};
using MonoTime = MonoClockTag::time_point;

struct WallClockTag {
  using duration = Millis;
  using rep = Millis::rep;
  using period = Millis::period;
  using time_point = std::chrono::time_point<WallClockTag, Millis>;
  static constexpr bool is_steady = false;
};
using WallTime = WallClockTag::time_point;

// "90s", "4h", "1h30m", "250ms", "2d": a sequence of number+unit, units ms s m h d, largest first not
// required. A bare number, a sign, a fraction or an empty text is an error that says which units there are.
[[nodiscard]] Result<Millis> parse_duration(std::string_view text);

// The shortest exact form that parse_duration reads back: "4h", "1h30m", "250ms", "0s".
[[nodiscard]] std::string format_duration(Millis duration);

// For people: at most the two largest units, "6h 36m", "3d 4h", "67s", "1.2s" below 10 s, "30ms" below 1 s.
[[nodiscard]] std::string humane_duration(Millis duration);

// UTC, "2026-08-11T06:57:38.000Z".
[[nodiscard]] std::string format_wall(WallTime time);

// "64KiB", "1GiB", "512" (bytes): units KiB MiB GiB TiB and kB MB GB TB.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);
[[nodiscard]] std::string format_size(std::uint64_t bytes);

}  // namespace fireboss
