#include "engine/faults/setting.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace fireboss::engine {
namespace {

constexpr std::array kAll{Fault::kDegrade, Fault::kAfterStop, Fault::kRepeat,       Fault::kOtherText,
                          Fault::kSlow,    Fault::kStall,     Fault::kRefuse,       Fault::kError500,
                          Fault::kExit0,   Fault::kAbort,     Fault::kIgnoreSigterm};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

template <typename T>
Result<T> parse_number(std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least) || !(value <= most)) {
    return fail(ErrorCode::kInvalid, fmt::format("'{}' is not a number from {} to {}", text, least, most));
  }
  return value;
}

// Puts a parsed value in its place; the error of a value that was not parsed goes on.
template <typename T, typename Place>
Result<> assign(Result<T> value, Place& place) {
  if (!value) {
    return fail(std::move(value.error()));
  }
  place = *value;
  return {};
}

constexpr std::uint64_t kMostRequests = 1'000'000'000;

Result<> apply(FaultSetting& setting, std::string_view key, std::string_view value) {
  if (key == "after") {
    return assign(parse_duration(value), setting.after);
  }
  if (key == "for") {
    return assign(parse_duration(value), setting.length);
  }
  if (key == "skip") {
    return assign(parse_number<std::uint64_t>(value, 0, kMostRequests), setting.skip);
  }
  if (key == "count") {
    return assign(parse_number<std::uint64_t>(value, 0, kMostRequests), setting.count);
  }
  if (key == "chance") {
    return assign(parse_number<double>(value, 0, 1), setting.chance);
  }
  if (setting.fault == Fault::kDegrade && key == "half-age") {
    if (auto done = assign(parse_duration(value), setting.half_age); !done) {
      return done;
    }
    return setting.half_age > Millis(0) ? Result<>{} : fail(ErrorCode::kInvalid, "must be above 0");
  }
  if (setting.fault == Fault::kDegrade && key == "offset") {
    return assign(parse_duration(value), setting.offset);
  }
  if (setting.fault == Fault::kDegrade && key == "speed") {
    return assign(parse_number<double>(value, 0, 1e9), setting.speed);
  }
  if (setting.fault == Fault::kSlow && key == "pause") {
    return assign(parse_duration(value), setting.pause);
  }
  const auto* own = setting.fault == Fault::kDegrade ? ", half-age, offset, speed"
                    : setting.fault == Fault::kSlow  ? ", pause"
                                                     : "";
  return fail(ErrorCode::kInvalid,
              fmt::format("unknown key; known are after, for, skip, count, chance{}", own));
}

}  // namespace

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::kDegrade:
      return "degrade";
    case Fault::kAfterStop:
      return "after-stop";
    case Fault::kRepeat:
      return "repeat";
    case Fault::kOtherText:
      return "other-text";
    case Fault::kSlow:
      return "slow";
    case Fault::kStall:
      return "stall";
    case Fault::kRefuse:
      return "refuse";
    case Fault::kError500:
      return "error500";
    case Fault::kExit0:
      return "exit0";
    case Fault::kAbort:
      return "abort";
    case Fault::kIgnoreSigterm:
      return "ignore-sigterm";
  }
  return "unknown";
}

std::span<const Fault> all_faults() {
  return kAll;
}

std::optional<Fault> fault_named(std::string_view name) {
  const auto found = std::ranges::find(kAll, name, [](Fault fault) { return to_string(fault); });
  return found == kAll.end() ? std::nullopt : std::optional(*found);
}

Result<FaultSetting> parse_fault(std::string_view text) {
  const auto equals = text.find('=');
  const auto name = text.substr(0, equals);
  const auto fault = fault_named(name);
  if (!fault) {
    std::vector<std::string_view> names(kAll.size());
    std::ranges::transform(kAll, names.begin(), [](Fault known) { return to_string(known); });
    return fail(ErrorCode::kInvalid,
                fmt::format("fault '{}': unknown; known are {}", name, fmt::join(names, ", ")));
  }
  FaultSetting setting{.fault = *fault};
  if (equals == std::string_view::npos) {
    return setting;
  }
  for (const auto part : split(text.substr(equals + 1), ',')) {
    const auto middle = part.find('=');
    if (middle == std::string_view::npos) {
      return fail(ErrorCode::kInvalid, fmt::format("fault '{}': '{}' is not KEY=VALUE", name, part));
    }
    if (auto done = apply(setting, part.substr(0, middle), part.substr(middle + 1)); !done) {
      return fail(done.error().in(fmt::format("fault '{}': {}", name, part.substr(0, middle))));
    }
  }
  return setting;
}

std::string format_fault(const FaultSetting& setting) {
  const FaultSetting usual{.fault = setting.fault};
  std::vector<std::string> parts;
  const auto add = [&](bool differs, std::string_view key, const std::string& value) {
    if (differs) {
      parts.push_back(fmt::format("{}={}", key, value));
    }
  };
  add(setting.half_age != usual.half_age, "half-age", format_duration(setting.half_age));
  add(setting.offset != usual.offset, "offset", format_duration(setting.offset));
  add(setting.speed != usual.speed, "speed", fmt::format("{}", setting.speed));
  add(setting.pause != usual.pause, "pause", format_duration(setting.pause));
  add(setting.after != usual.after, "after", format_duration(setting.after));
  add(setting.length.has_value(), "for", format_duration(setting.length.value_or(Millis(0))));
  add(setting.skip != usual.skip, "skip", fmt::format("{}", setting.skip));
  add(setting.count.has_value(), "count", fmt::format("{}", setting.count.value_or(0)));
  add(setting.chance != usual.chance, "chance", fmt::format("{}", setting.chance));
  return parts.empty() ? std::string(to_string(setting.fault))
                       : fmt::format("{}={}", to_string(setting.fault), fmt::join(parts, ","));
}

}  // namespace fireboss::engine
