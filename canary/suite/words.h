#pragma once
// 512 short, common, upper-case words without digits: nine bits of every nonce.
#include <array>
#include <string_view>

namespace fireboss::canary {

extern const std::array<std::string_view, 512> kWords;

}  // namespace fireboss::canary
