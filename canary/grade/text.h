#pragma once
// Text as people and engines see it: code points, not bytes.
#include <optional>
#include <string>
#include <string_view>

namespace fireboss::canary {

// Without Unicode White_Space at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

// Bytes that are no UTF-8 become U+FFFD each, as a decoder would show them.
[[nodiscard]] std::u32string code_points(std::string_view text);
[[nodiscard]] std::string utf8(std::u32string_view points);
[[nodiscard]] bool is_white_space(char32_t point);

// `text` with every sequence that is no UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string mend_utf8(std::string_view text);

// What in `text` no healthy decoder produces: U+FFFD, NUL and other control characters, noncharacters; or
// `expected` itself, seen through a wrong decoder (UTF-8 read as Latin-1 or as byte-level BPE's alphabet,
// question marks or escapes for the characters beyond ASCII). Characters that `expected` has are no fault.
// Returns what it is, for people.
[[nodiscard]] std::optional<std::string> encoding_fault(std::string_view text, std::string_view expected);

}  // namespace fireboss::canary
