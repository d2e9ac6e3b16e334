#pragma once
// The policy's keys as an operator writes them, in ONE table: the TOML under [engine.NAME], the config line
// of a written history and docs/configuration.md all use these names, types and limits.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "supervisor/policy/policy.h"

namespace fireboss::policy {

enum class KeyType { kDuration, kInteger, kWord, kWordList };

// As read from TOML or JSON: durations are text with a unit ("90s").
using KeyValue = std::variant<std::string, std::int64_t, std::vector<std::string>>;

struct Key {
  std::string_view name;  // "canary.every": table and key, without the engine's prefix
  KeyType type = KeyType::kInteger;
  std::int64_t least = 0, most = 0;         // of kInteger; of kDuration in ms; both allowed
  std::span<const std::string_view> words;  // of kWord, in the order of the enum
  std::string_view meaning;
  void (*assign)(Policy&, std::int64_t) = nullptr;               // ms, number or index of the word
  std::optional<std::int64_t> (*read)(const Policy&) = nullptr;  // the same; nullopt: not set
  std::vector<std::string> Policy::*list = nullptr;              // of kWordList
};

// Every key, sorted by name.
[[nodiscard]] std::span<const Key> keys();
[[nodiscard]] const Key* find_key(std::string_view name);
// The key that a misspelt dotted name was probably meant to be.
[[nodiscard]] std::optional<std::string_view> nearest_key(std::string_view name);

// Sets one key. kInvalid: wrong type, unit, word or out of range; the message says what is allowed but not
// where it stood.
[[nodiscard]] Result<void> set_key(Policy& policy, const Key& key, const KeyValue& value);

// The value as it is written in TOML, without quotes ("30m", "4", "k_of_n", "chat, chat-stream"); "" = not
// set.
[[nodiscard]] std::string value_text(const Policy& policy, const Key& key);

// What no single key can say: k > n and the like, with the key to blame.
struct Conflict {
  std::string_view key;
  std::string message;
};
[[nodiscard]] std::vector<Conflict> conflicts(const Policy& policy);

// A nested JSON object with the same names ({"recycle": {"max_age": "4h"}}) laid over `base`. kInvalid: every
// mistake of it in one message, each with its dotted name, separated by "; ".
[[nodiscard]] Result<Policy> policy_from_json(const boost::json::object& object, Policy base);

}  // namespace fireboss::policy
