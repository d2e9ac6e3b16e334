#pragma once
// Makes valid UTF-8 of bytes that arrive in pieces: a character that is split between pieces is held back
// until it is whole, and what is no UTF-8 becomes U+FFFD.
#include <string>
#include <string_view>

namespace fireboss::engine {

class Utf8Stream {
 public:
  [[nodiscard]] std::string push(std::string_view bytes);
  // The rest at the end: a character that was never completed.
  [[nodiscard]] std::string finish();

 private:
  std::string held_;
};

// The whole of a text.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

}  // namespace fireboss::engine
