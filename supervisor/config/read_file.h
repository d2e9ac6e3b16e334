#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fireboss::config {

// One configuration, prompt or tools file at most.
inline constexpr std::uint64_t kMaxFileBytes = 1 << 20;

// The whole of a regular file. kNotFound, kDenied; kInvalid: no regular file, or longer than kMaxFileBytes.
// `writable_by_others`, if given, says whether group or world may change it.
[[nodiscard]] Result<std::string> read_file(const std::string& path, bool* writable_by_others = nullptr);

// The length of the longest prefix that is well-formed UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] std::size_t utf8_valid_length(std::string_view text);

}  // namespace fireboss::config
