#pragma once
// SHA-256 of texts in canonical form: suites, policies and files are told apart by it.
#include <string>
#include <string_view>

namespace fireboss {

// 64 lower-case hex digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace fireboss
