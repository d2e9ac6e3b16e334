#pragma once
// What others wrote, made fit for a message.
#include <cstddef>
#include <string>
#include <string_view>

namespace fireboss {

// `text` with a space for every control character, and cut behind `most` bytes ("..."), though not inside of
// a character.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t most);

}  // namespace fireboss
