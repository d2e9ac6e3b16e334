#include "base/one_line.h"

#include <algorithm>

namespace fireboss {

std::string one_line(std::string_view text, std::size_t most) {
  auto end = std::min(text.size(), most);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80)
    --end;
  std::string out(text.substr(0, end));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return out + (end < text.size() ? "..." : "");
}

}  // namespace fireboss
