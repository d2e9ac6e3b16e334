#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fireboss {

// The line (from 1) of the first key of a TOML text with more than `most` parts: "a.b.c" has three. Every
// part is a table inside of a table, and toml++ 3.3 takes a piece of the stack for each: a file of a few
// hundred KB would end the program. Values need no such look, toml++ bounds them itself.
[[nodiscard]] std::optional<std::uint32_t> line_of_deep_key(std::string_view toml, std::size_t most);

}  // namespace fireboss
