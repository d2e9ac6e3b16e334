#pragma once
// One line of a written history as a JSON object, read field by field.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/time.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/nearest.h"

namespace fireboss::policy {

// One line's object. Every getter notes the first mistake; what it returns then means nothing.
class HistoryLine {
 public:
  explicit HistoryLine(const boost::json::object& object) : object_(object) {}

  [[nodiscard]] const std::string& mistake() const { return mistake_; }
  void wrong(std::string text) {
    if (mistake_.empty())
      mistake_ = std::move(text);
  }

  // nullptr if absent or null.
  const boost::json::value* find(const char* key) {
    known_.insert(key);
    const auto* found = object_.if_contains(key);
    return found != nullptr && found->is_null() ? nullptr : found;
  }
  bool has_null(const char* key) const {
    const auto* found = object_.if_contains(key);
    return found != nullptr && found->is_null();
  }

  std::optional<std::string> text(const char* key) {
    const auto* value = find(key);
    if (value == nullptr)
      return std::nullopt;
    if (!value->is_string()) {
      wrong(said(key) + " must be a text");
      return std::nullopt;
    }
    return std::string(value->get_string());
  }
  // GPUs are named by number or UUID.
  std::string name(const char* key) {
    const auto* value = find(key);
    if (value != nullptr && value->is_int64())
      return std::to_string(value->get_int64());
    return text(key).value_or("");
  }
  std::string needed(const char* key) {
    auto value = text(key);
    if (!value || value->empty())
      wrong(said(key) + " is missing: it must be a text");
    return value.value_or("");
  }
  std::optional<std::int64_t> number(const char* key) {
    const auto* value = find(key);
    if (value == nullptr)
      return std::nullopt;
    if (!value->is_int64() || value->get_int64() < 0) {
      wrong(said(key) + " must be a whole number from 0, or null for unknown");
      return std::nullopt;
    }
    if (value->get_int64() > kMostNumber) {
      wrong(said(key) + " is out of range: " + std::to_string(kMostNumber) + " is the most");
      return std::nullopt;
    }
    return value->get_int64();
  }
  std::optional<bool> flag(const char* key) {
    const auto* value = find(key);
    if (value == nullptr)
      return std::nullopt;
    if (!value->is_bool()) {
      wrong(said(key) + " must be true or false");
      return std::nullopt;
    }
    return value->get_bool();
  }
  std::optional<Millis> duration(const char* key) {
    const auto value = text(key);
    if (!value)
      return std::nullopt;
    const auto parsed = parse_duration(*value);
    if (!parsed) {
      wrong(said(key) + ": " + parsed.error().message);
      return std::nullopt;
    }
    if (*parsed > kMostDuration) {
      wrong(said(key) + " is out of range: " + format_duration(kMostDuration) + " is the most");
      return std::nullopt;
    }
    return *parsed;
  }
  Millis needed_duration(const char* key) {
    const auto value = duration(key);
    if (!value)
      wrong(said(key) + " is missing: write a duration such as \"90s\" or \"2h\"");
    return value.value_or(Millis{0});
  }
  template <typename Enum>
  std::optional<Enum> word(const char* key) {
    const auto value = text(key);
    if (!value)
      return std::nullopt;
    const auto found = from_word<Enum>(*value);
    if (!found)
      wrong(said(key) + " is '" + *value + "': it must be one of " + words_of<Enum>());
    return found;
  }
  template <typename Enum>
  Enum needed_word(const char* key) {
    const auto value = word<Enum>(key);
    if (!value)
      wrong(said(key) + " is missing: it must be one of " + words_of<Enum>());
    return value.value_or(Enum{});
  }
  std::string one_of(const char* key, std::initializer_list<std::string_view> allowed) {
    auto value = text(key).value_or("");
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
      std::string words;
      for (const auto option : allowed)
        words.append(words.empty() ? "" : ", ").append(option);
      wrong(said(key) + (value.empty() ? " is missing" : " is '" + value + "'") + ": it must be one of " +
            words);
    }
    return value;
  }
  std::optional<std::vector<std::string>> texts(const char* key) {
    const auto* value = find(key);
    if (value == nullptr)
      return std::nullopt;
    std::vector<std::string> out;
    if (!value->is_array()) {
      wrong(said(key) + " must be a list of texts");
      return std::nullopt;
    }
    for (const auto& item : value->get_array()) {
      if (!item.is_string())
        wrong(said(key) + " must be a list of texts");
      else
        out.emplace_back(item.get_string());
    }
    return out;
  }

  // What was not asked for: a misspelt field is a mistake, since its absence would pass for "unknown".
  std::string unknown_fields() {
    std::string ignored;
    for (const auto& member : object_) {
      const std::string key(member.key());
      if (known_.contains(key))
        continue;
      const std::vector<std::string_view> known(known_.begin(), known_.end());
      if (const auto near = nearest(key, known))
        wrong("field '" + key + "' is not known (did you mean '" + std::string(*near) + "'?)");
      ignored += (ignored.empty() ? "'" : ", '") + key + "'";
    }
    return ignored;
  }

 private:
  // What is counted on with stays far from where two of them overflow.
  static constexpr std::int64_t kMostNumber = std::int64_t{1} << 53;
  static constexpr Millis kMostDuration{std::int64_t{100'000} * 86'400'000};

  static std::string said(const char* key) { return "field '" + std::string(key) + "'"; }

  const boost::json::object& object_;
  std::set<std::string> known_;
  std::string mistake_;
};

}  // namespace fireboss::policy
