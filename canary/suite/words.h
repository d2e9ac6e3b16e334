#pragma once
// 512 short, common, upper-case words in alphabetical order: nine bits of every nonce. Words in which a pair
// of letters repeats (QUEUE) are left out: small models lose their place in them.
#include <array>
#include <string_view>

namespace fireboss::canary {

extern const std::array<std::string_view, 512> kWords;

}  // namespace fireboss::canary
