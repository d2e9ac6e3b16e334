#pragma once
// Which reply is spoiled, and how. Pure: the same seed, request number, age and shape give the same answer.
//
// The shape of `degrade` is that of a real case: an engine 6.6 hours old gave 20 of 20 clean replies to a
// bare prompt, 17 of 20 behind a 17 KB system prompt, and 0 of 20 behind the system prompt and tools (19
// garbled, one HTTP 500); 1.4 hours after a restart all were clean. With the default half-age of 4 h the
// chances of the three shapes are 0, 15 % and 99.4 % at 6.6 h, and 1 % for the worst one at 1.4 h.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/faults/garble.h"
#include "engine/faults/setting.h"
#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

struct PromptShape {
  std::size_t system_bytes = 0;  // of all system and developer messages, tools not counted
  bool tools = false;
};

// Chance that a reply of an engine of this age is garbled: weight(shape) * (1 - 2^-(age / half_age)^4).
[[nodiscard]] double garble_chance(Millis age, Millis half_age, const PromptShape& shape);

enum class Spoil {
  kNone,
  kAfterStop,  // the right answer, then leaked special tokens and a fragment of code
  kFragment,   // a few right tokens, then such a fragment
  kRepeat,
  kOtherText,
  kHttp500,
};

// Uniform in [0, 1), of a seed and any two numbers.
[[nodiscard]] double draw(std::uint64_t seed, std::uint64_t number, std::uint64_t purpose);

// What an engine of age `age` (as it was started) does to request `number` under the fault `degrade`.
[[nodiscard]] Spoil degraded(const FaultSetting& setting, Millis age, const PromptShape& shape,
                             std::uint64_t seed, std::uint64_t number);

// The plan for a reply. `other` is the text for kOtherText. kNone and kHttp500 have no plan of their own.
[[nodiscard]] GarblePlan garble_plan(Spoil spoil, const Tokenizer& tokenizer, const std::string& other,
                                     std::uint64_t seed, std::uint64_t number);

}  // namespace fireboss::engine
