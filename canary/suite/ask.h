#pragma once
// What one call asks: a fresh nonce in the prompt and in the expected reply, and the request body around it.
// Randomness comes from the caller, so that the same bytes give the same call.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "canary/suite/suite.h"

namespace fireboss::canary {

// Enough for one call: the nonce's 48 bits and more, and a salt for the cold variants.
using RandomBytes = std::array<std::uint8_t, 32>;

struct Ask {
  Prompt prompt;
  std::string body;  // JSON of the request
  bool stream = false;
};

// `model` is what the suite names, or the first model of the engine's list if it names none.
[[nodiscard]] Ask make_ask(const Suite& suite, const Variant& variant, std::string_view model,
                           const RandomBytes& random);

[[nodiscard]] Prompt make_prompt(const RandomBytes& random);

// Every text in `reply` that has the form of a nonce, in order; at most 256.
[[nodiscard]] std::vector<std::string_view> nonces_in(std::string_view reply);

// The model ids of a /v1/models body.
[[nodiscard]] Result<std::vector<std::string>> parse_models(std::string_view body);

}  // namespace fireboss::canary
