#include "engine/faults/decision.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fireboss::engine {
namespace {

// A system prompt of this size counts as long. The case knows "none" and 17 KB only.
constexpr std::size_t kLongSystem = 4096;
constexpr double kPartlyWeight = 0.15;  // 3 of 20

enum Purpose : std::uint64_t { kWhether = 1, kWhich = 2, kWhere = 3, kWhat = 4 };

constexpr std::array kFragments{
    "\n    def __init__(self, path, mode=\"r\"):\n        self.path = path\n",
    "); ++i) {\n      total += values[i];\n    }\n    return total;\n",
    "</div>\n<script src=\"static/app.js\"></script>\n",
    "SELECT name, size FROM files WHERE size > 0 ORDER BY name;\n",
    "if err != nil {\n\t\treturn nil, err\n\t}\n",
};

double weight(const PromptShape& shape) {
  const bool is_long = shape.system_bytes >= kLongSystem;
  if (is_long && shape.tools) {
    return 1;
  }
  return is_long || shape.tools ? kPartlyWeight : 0;
}

}  // namespace

double garble_chance(Millis age, Millis half_age, const PromptShape& shape) {
  if (age <= Millis(0)) {
    return 0;
  }
  const double ages = static_cast<double>(age.count()) / static_cast<double>(half_age.count());
  return weight(shape) * (1 - std::exp2(-std::pow(ages, 4)));
}

double draw(std::uint64_t seed, std::uint64_t number, std::uint64_t purpose) {
  // splitmix64 over the three numbers.
  std::uint64_t x = seed;
  for (const auto part : {number, purpose}) {
    x += 0x9E3779B97F4A7C15U + part * 0xD1B54A32D192ED03U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-53;
}

Spoil degraded(const FaultSetting& setting, Millis age, const PromptShape& shape, std::uint64_t seed,
               std::uint64_t number) {
  const auto seeming =
      static_cast<double>(age.count()) * setting.speed + static_cast<double>(setting.offset.count());
  const Millis seeming_age(static_cast<std::int64_t>(std::min(seeming, 1e15)));
  if (draw(seed, number, kWhether) >= garble_chance(seeming_age, setting.half_age, shape)) {
    return Spoil::kNone;
  }
  const double which = draw(seed, number, kWhich);
  // In the case it was tools that turned leaked tokens into an error: 1 of 20.
  if (shape.tools && which < 0.05) {
    return Spoil::kHttp500;
  }
  if (which < 0.5) {
    return Spoil::kAfterStop;
  }
  if (which < 0.85) {
    return Spoil::kFragment;
  }
  return which < 0.95 ? Spoil::kOtherText : Spoil::kRepeat;
}

GarblePlan garble_plan(Spoil spoil, const Tokenizer& tokenizer, const std::string& other, std::uint64_t seed,
                       std::uint64_t number) {
  const auto where = static_cast<std::size_t>(draw(seed, number, kWhere) * 4);
  const auto fragment = static_cast<std::size_t>(draw(seed, number, kWhat) * kFragments.size());
  GarblePlan plan;
  const auto leak = [&](const char* name) {
    if (const auto id = tokenizer.special(name)) {
      plan.tokens.push_back(*id);
    }
  };
  const auto text = [&](const std::string& words) {
    const auto ids = tokenizer.encode(words);
    plan.tokens.insert(plan.tokens.end(), ids.begin(), ids.end());
  };
  switch (spoil) {
    case Spoil::kNone:
    case Spoil::kHttp500:
      break;
    case Spoil::kAfterStop:
      leak("<|end|>");
      leak("<|begin|>");
      text(kFragments[fragment]);
      break;
    case Spoil::kFragment:
      plan.own_tokens = where;
      leak("<|begin|>");
      text(kFragments[fragment]);
      break;
    case Spoil::kRepeat:
      plan.own_tokens = 1 + where;
      plan.repeat_last = true;
      break;
    case Spoil::kOtherText:
      plan.own_tokens = 0;
      text(other);
      break;
  }
  return plan;
}

}  // namespace fireboss::engine
