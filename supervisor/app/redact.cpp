#include "supervisor/app/redact.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fireboss::app {
namespace {

constexpr std::string_view kMasked = "***";
constexpr std::string_view kSpace = " \t\r\n";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool smells_of_a_secret(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords{"key", "token", "secret", "passw", "auth", "credential"};
  const auto lower = lower_case(name);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// What stands before the secret in an Authorization header.
bool is_scheme(std::string_view word) {
  const auto lower = lower_case(word);
  return lower == "bearer" || lower == "basic" || lower == "token";
}

std::string without_userinfo(std::string word) {
  const auto scheme = word.find("://");
  if (scheme == std::string::npos)
    return word;
  const auto begin = scheme + 3;
  const auto end = std::min(word.find('/', begin), word.size());
  const auto at = word.rfind('@', end);
  if (at != std::string::npos && at > begin && at < end)
    word.replace(begin, at - begin, kMasked);
  return word;
}

// Word by word; what a word says of the next one is kept from one argument to the following.
class Redaction {
 public:
  std::string argument(std::string_view text) {
    if (hide_next_ && text.find_first_of(kSpace) != std::string_view::npos && !header_) {
      hide_next_ = false;
      return std::string(kMasked);
    }
    std::string out;
    while (!text.empty()) {
      const auto space = std::min(text.find_first_not_of(kSpace), text.size());
      out += text.substr(0, space);
      text.remove_prefix(space);
      const auto length = std::min(text.find_first_of(kSpace), text.size());
      if (length > 0)
        out += word(text.substr(0, length));
      text.remove_prefix(length);
    }
    return out;
  }

 private:
  std::string word(std::string_view quoted) {
    // A quote at either end belongs to the shell, not to the word.
    constexpr std::string_view kQuotes = "'\"";
    const auto begin = std::min(quoted.find_first_not_of(kQuotes), quoted.size());
    const auto end = quoted.find_last_not_of(kQuotes);
    if (end == std::string_view::npos)
      return std::string(quoted);
    return std::string(quoted.substr(0, begin)) + bare(quoted.substr(begin, end + 1 - begin)) +
           std::string(quoted.substr(end + 1));
  }

  std::string bare(std::string_view text) {
    const bool option = text.size() > 2 && text.starts_with("--");
    if (hide_next_ && !option && !is_scheme(text)) {
      hide_next_ = header_ = false;
      return std::string(kMasked);
    }
    hide_next_ = header_ = false;
    if (is_scheme(text)) {
      hide_next_ = header_ = true;
      return std::string(text);
    }
    const auto end_of_name = text.find_first_of("=:");
    if (end_of_name != std::string_view::npos && smells_of_a_secret(text.substr(0, end_of_name))) {
      if (end_of_name + 1 < text.size())
        return std::string(text.substr(0, end_of_name + 1)) + std::string(kMasked);
      hide_next_ = header_ = true;
      return std::string(text);
    }
    hide_next_ = text.starts_with("-") && smells_of_a_secret(text);
    return without_userinfo(std::string(text));
  }

  bool hide_next_ = false;
  bool header_ = false;  // what is hidden next is in the same text: `Authorization: Bearer sk-...`
};

}  // namespace

std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  out.reserve(arguments.size());
  Redaction redaction;
  for (const auto& argument : arguments)
    out.push_back(redaction.argument(argument));
  return out;
}

void mask(std::string& text, std::string_view secret) {
  if (secret.empty())
    return;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kMasked.size()))
    text.replace(at, secret.size(), kMasked);
}

}  // namespace fireboss::app
