#include "engine/chat/utf8_stream.h"

#include <cstddef>

namespace fireboss::engine {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

enum class State { kWhole, kPartial, kBroken };

struct Character {
  State state;
  std::size_t size;  // bytes to take; of a broken one, the bytes to replace
};

// Looks at the character that begins a non-empty text (Unicode table 3-7).
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return {State::kWhole, 1};
  }
  const std::size_t size = lead >= 0xC2 && lead <= 0xDF   ? 2
                           : lead >= 0xE0 && lead <= 0xEF ? 3
                           : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                          : 0;
  if (size == 0) {
    return {State::kBroken, 1};
  }
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) {
      return {State::kPartial, i};
    }
    const unsigned least = i == 1 && lead == 0xE0 ? 0xA0 : i == 1 && lead == 0xF0 ? 0x90 : 0x80;
    const unsigned most = i == 1 && lead == 0xED ? 0x9F : i == 1 && lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < least || byte(i) > most) {
      return {State::kBroken, i};
    }
  }
  return {State::kWhole, size};
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  held_ += bytes;
  std::string out;
  std::size_t at = 0;
  while (at < held_.size()) {
    const auto rest = std::string_view(held_).substr(at);
    const auto character = first_character(rest);
    if (character.state == State::kPartial) {
      break;
    }
    out += character.state == State::kWhole ? rest.substr(0, character.size) : std::string_view(kReplacement);
    at += character.size;
  }
  held_.erase(0, at);
  return out;
}

std::string Utf8Stream::finish() {
  std::string out = held_.empty() ? "" : kReplacement;
  held_.clear();
  return out;
}

std::string valid_utf8(std::string_view bytes) {
  Utf8Stream stream;
  auto out = stream.push(bytes);
  return out + stream.finish();
}

}  // namespace fireboss::engine
