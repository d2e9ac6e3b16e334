#pragma once
// Cuts text into the pieces inside which byte pairs may merge, by GPT-2's pattern:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace fireboss::engine {

class Pretokenizer {
 public:
  Pretokenizer();
  ~Pretokenizer();
  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;

  // The first piece of `text`, which must not be empty; never empty itself. The pieces of a text concatenate
  // to the text. A byte that is not UTF-8 is a piece of its own. Thread-safe.
  [[nodiscard]] std::string_view first_piece(std::string_view text) const;

 private:
  std::unique_ptr<re2::RE2> pattern_;
};

}  // namespace fireboss::engine
