#include "supervisor/config/checks.h"

#include <algorithm>

namespace fireboss::config {

int word(const RawSection& section, std::string_view key, std::span<const std::string_view> words,
         int fallback, Findings& findings) {
  const auto* text = section.text(key);
  if (text == nullptr)
    return fallback;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found == words.end()) {
    findings.error(section.where(key),
                   "'" + std::string(key) + "' must be one of " + quoted(words) + ", not \"" + *text + "\"");
    return fallback;
  }
  return static_cast<int>(found - words.begin());
}

bool no_control_bytes(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

void absolute_path(const RawSection& section, std::string_view key, std::string& into, Findings& findings) {
  const auto* text = section.text(key);
  if (text == nullptr)
    return;
  if (text->empty() || text->front() != '/' || !no_control_bytes(*text) || text->back() == '/')
    findings.error(
        section.where(key),
        "'" + std::string(key) + "' must be an absolute path of a file, such as /var/lib/fireboss/x");
  into = *text;
}

bool valid_host(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == ':' || c == '_';
  });
}

}  // namespace fireboss::config
