#pragma once
// Between syntax and semantics: what the TOML files say, with the place of every value, checked for known
// keys and types but not yet for sense. Parsing fills it and knows nothing of engines; building reads it and
// knows nothing of TOML.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "supervisor/config/config.h"
#include "supervisor/config/keys.h"

namespace fireboss::config {

struct Place {
  std::string file;
  std::uint32_t line = 0, column = 0;
};

// Collects what is wrong, so that one pass tells everything.
class Findings {
 public:
  void error(const Place& place, const std::string& message) { add(errors_, place, message); }
  void warn(const Place& place, const std::string& message) { add(warnings_, place, message); }
  [[nodiscard]] const std::vector<Diagnostic>& errors() const { return errors_; }
  [[nodiscard]] const std::vector<Diagnostic>& warnings() const { return warnings_; }

 private:
  static void add(std::vector<Diagnostic>& list, const Place& place, const std::string& message);
  std::vector<Diagnostic> errors_, warnings_;
};

using TextList = std::vector<std::string>;
using TextMap = std::vector<std::pair<std::string, std::string>>;

struct RawValue {
  std::variant<std::string, std::int64_t, bool, TextList, TextMap> value;
  Place place;
};

// Values by dotted key ("canary.every"), each of the type that its key has.
struct RawSection {
  Place place;  // of its header, for what is missing
  std::map<std::string, RawValue, std::less<>> values;
  // Of keys whose value has the wrong type, which was told, and of each entry of a table ("suite.headers.X").
  std::map<std::string, Place, std::less<>> refused, entries;

  [[nodiscard]] const RawValue* find(std::string_view key) const;
  // Whether the key stands there, with a value of its type or not.
  [[nodiscard]] bool given(std::string_view key) const;
  // nullptr if the key is not given.
  [[nodiscard]] const std::string* text(std::string_view key) const;
  [[nodiscard]] const std::int64_t* integer(std::string_view key) const;
  [[nodiscard]] const bool* boolean(std::string_view key) const;
  [[nodiscard]] const TextList* list(std::string_view key) const;
  [[nodiscard]] const TextMap* map(std::string_view key) const;
  // Where the key or the table's entry stands, or the section if it is not given.
  [[nodiscard]] const Place& where(std::string_view key) const;
};

struct RawEngine {
  std::string name;
  RawSection section;
};
struct RawSink {
  std::string name;
  RawSection section;
};
struct RawConfig {
  RawSection daemon, alerts, heartbeat, metrics, silence;
  std::vector<RawSink> sinks;      // in the order of reading
  std::vector<RawEngine> engines;  // in the order of reading
};

// Adds the text of one configuration file to `raw`. Everything that is wrong goes to `findings`; a syntax
// error ends that file, since what follows it cannot be trusted.
void parse_config(std::string_view text, const std::string& file, RawConfig& raw, Findings& findings);

// A suite's own file: the keys of [engine.NAME.suite] at its top level. They appear as "suite.KEY".
void parse_suite(std::string_view text, const std::string& file, RawSection& section, Findings& findings);

}  // namespace fireboss::config
