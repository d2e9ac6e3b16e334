#include "supervisor/ctl/escape.h"

#include <cstdio>

namespace fireboss::ctl {
namespace {

// Length of the valid UTF-8 sequence at the front, 0 if there is none (overlong, surrogate, beyond U+10FFFF,
// cut).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t n) {
    if (text.size() < n)
      return false;
    for (std::size_t i = 1; i < n; ++i)
      if ((byte(i) & 0xC0U) != 0x80U)
        return false;
    return true;
  };
  const auto lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF && tail(2))
    return 2;
  if (lead >= 0xE0 && lead <= 0xEF && tail(3)) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4 && tail(4)) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

// Bidirectional controls (U+202A to U+202E, U+2066 to U+2069) and line separators reorder or break a line.
bool misleads(std::string_view sequence) {
  if (sequence.size() != 3 || sequence[0] != '\xe2')
    return false;
  const auto second = static_cast<unsigned char>(sequence[1]);
  const auto third = static_cast<unsigned char>(sequence[2]);
  return (second == 0x80 && third >= 0xA8 && third <= 0xAE) ||
         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

void append_hex(std::string& out, unsigned char byte) {
  char hex[5];
  std::snprintf(hex, sizeof hex, "\\x%02x", byte);
  out += hex;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length = sequence_length(text);
    const auto lead = static_cast<unsigned char>(text.front());
    if (length == 0 || (length == 1 && (lead < 0x20 || lead == 0x7F)) ||
        (length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0) ||
        misleads(text.substr(0, length))) {
      if (lead == '\n')
        out += "\\n";
      else if (lead == '\t')
        out += "\\t";
      else
        for (std::size_t i = 0; i < (length == 0 ? 1 : length); ++i)
          append_hex(out, static_cast<unsigned char>(text[i]));
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace fireboss::ctl
