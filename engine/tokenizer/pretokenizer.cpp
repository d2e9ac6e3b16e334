#include "engine/tokenizer/pretokenizer.h"

#include <cstddef>

#include <re2/re2.h>

namespace fireboss::engine {
namespace {

// Unicode's White_Space property, as a character class (RE2's own \s is ASCII only) ...
#define FIREBOSS_SPACE \
  R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"

// The pattern without its look-ahead, which RE2 does not have: first_piece puts that back.
constexpr const char* kPattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\pL+| ?\\pN+| ?[^" FIREBOSS_SPACE "\\pL\\pN]+|[" FIREBOSS_SPACE "]+";
#undef FIREBOSS_SPACE

// ... and as the UTF-8 sequences that a text may end with. Returns the size of the one it ends with, or 0.
std::size_t trailing_space_size(std::string_view text) {
  const auto last = static_cast<unsigned char>(text.back());
  if (last == ' ' || (last >= '\t' && last <= '\r')) {
    return 1;
  }
  if (text.ends_with("\u0085") || text.ends_with("\u00a0")) {
    return 2;
  }
  if (text.size() < 3) {
    return 0;
  }
  const auto tail = text.substr(text.size() - 3);
  const bool space = tail == "\u1680" || (tail >= "\u2000" && tail <= "\u200a") || tail == "\u2028" ||
                     tail == "\u2029" || tail == "\u202f" || tail == "\u205f" || tail == "\u3000";
  return space ? 3 : 0;
}

}  // namespace

Pretokenizer::Pretokenizer() : pattern_(std::make_unique<re2::RE2>(kPattern, re2::RE2::Quiet)) {}
Pretokenizer::~Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;

std::string_view Pretokenizer::first_piece(std::string_view text) const {
  re2::StringPiece found;
  if (!pattern_->Match({text.data(), text.size()}, 0, text.size(), re2::RE2::ANCHOR_START, &found, 1)) {
    return text.substr(0, 1);
  }
  std::string_view piece(found.data(), found.size());
  // Only a run of white space ends in white space. `\s+(?!\S)` leaves its last character to the word that
  // follows, unless that is all there is.
  const auto space = trailing_space_size(piece);
  if (space > 0 && piece.size() < text.size() && piece.size() > space) {
    piece.remove_suffix(space);
  }
  return piece;
}

}  // namespace fireboss::engine
