#pragma once
// Checks of single values that more than one section needs.
#include <span>
#include <string>
#include <string_view>

#include "supervisor/config/raw.h"

namespace fireboss::config {

// Index of the word that the key has; `fallback` without the key, or when it is none of them (told).
[[nodiscard]] int word(const RawSection& section, std::string_view key,
                       std::span<const std::string_view> words, int fallback, Findings& findings);

[[nodiscard]] bool no_control_bytes(std::string_view text);

// A host name or an IP address.
[[nodiscard]] bool valid_host(std::string_view host);

// The key's text goes to `into`; told if it is no absolute path of a file. Nothing happens without the key.
void absolute_path(const RawSection& section, std::string_view key, std::string& into, Findings& findings);

}  // namespace fireboss::config
