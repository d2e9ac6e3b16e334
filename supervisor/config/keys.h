#pragma once
// Every key that the configuration knows, with type, default and meaning: the loader refuses all others, and
// docs/configuration.md is checked against it.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fireboss::config {

enum class ValueType { kText, kInteger, kBoolean, kTextList, kTextMap };
// "text", "whole number", "true or false", "list of texts", "table of texts"
[[nodiscard]] std::string_view to_string(ValueType type);

struct KeyInfo {
  std::string name;  // as in its section: "unit", "canary.every", "suite.model"
  ValueType type = ValueType::kText;
  std::string kind;      // for people: "text", "duration", "whole number 1 to 64", "one of a, b"
  std::string fallback;  // the default as it would be written; "" = none
  std::string meaning;
};

// Sorted by name.
[[nodiscard]] std::span<const KeyInfo> daemon_keys();     // [daemon]
[[nodiscard]] std::span<const KeyInfo> engine_keys();     // [engine.NAME], suite and policy included
[[nodiscard]] std::span<const KeyInfo> alert_keys();      // [alerts]
[[nodiscard]] std::span<const KeyInfo> sink_keys();       // [alerts.sink.NAME]
[[nodiscard]] std::span<const KeyInfo> heartbeat_keys();  // [heartbeat]
[[nodiscard]] std::span<const KeyInfo> metrics_keys();    // [metrics]
[[nodiscard]] std::span<const KeyInfo> silence_keys();    // [silence]

struct SectionInfo {
  std::string_view name;  // as in its header, with NAME for what the operator calls it
  std::span<const KeyInfo> keys;
};
// All of the above.
[[nodiscard]] std::vector<SectionInfo> sections();

// The words of a key that takes one of a few, in the order of the enum.
[[nodiscard]] std::span<const std::string_view> listener_words();
[[nodiscard]] std::span<const std::string_view> adapter_words();
[[nodiscard]] std::span<const std::string_view> log_level_words();
[[nodiscard]] std::span<const std::string_view> sink_type_words();
[[nodiscard]] std::span<const std::string_view> severity_words();
// "\"a\", \"b\""
[[nodiscard]] std::string quoted(std::span<const std::string_view> words);

}  // namespace fireboss::config
