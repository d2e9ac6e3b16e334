#include "supervisor/config/raw.h"

#include <algorithm>

#include <toml++/toml.h>

#include "base/one_line.h"
#include "base/toml_depth.h"
#include "supervisor/policy/nearest.h"

namespace fireboss::config {
namespace {

class Parser {
 public:
  Parser(std::string file, Findings& findings) : file_(std::move(file)), findings_(findings) {}

  // nullopt after a syntax error, which has been told.
  std::optional<toml::table> parse(std::string_view text) {
    constexpr std::size_t kMostParts = 64;
    if (const auto line = line_of_deep_key(text, kMostParts)) {
      findings_.error({file_, *line, 1}, "a key has more than " + std::to_string(kMostParts) + " parts");
      return std::nullopt;
    }
    try {
      return toml::parse(text, file_);
    } catch (const toml::parse_error& error) {
      findings_.error(at(error.source()), "not valid TOML: " + std::string(error.description()));
      return std::nullopt;
    }
  }

  Place at(const toml::source_region& region) const {
    return {file_, static_cast<std::uint32_t>(region.begin.line),
            static_cast<std::uint32_t>(region.begin.column)};
  }

  // Everything in `table` under keys of `known`, with `prefix` in front, goes to `out`; `but` is somebody
  // else's.
  void read(const toml::table& table, const std::string& prefix, std::span<const KeyInfo> known,
            RawSection& out, std::string_view but = {}) {
    for (const auto& [key, node] : table) {
      if (!but.empty() && key.str() == but)
        continue;
      const auto name = prefix + std::string(key.str());
      const auto place = at(key.source());
      const auto* info = find(known, name);
      const bool group = std::any_of(known.begin(), known.end(),
                                     [&](const KeyInfo& k) { return k.name.starts_with(name + "."); });
      if (node.is_table() && group)
        read(*node.as_table(), name + ".", known, out);
      else if (info != nullptr)
        store(*info, node, place, out);
      else if (group)
        findings_.error(place,
                        "'" + name + "' is a table, not a value: write its keys under a header of its own");
      else
        findings_.error(place, unknown(name, prefix, known));
    }
  }

  std::string unknown(const std::string& name, const std::string& prefix,
                      std::span<const KeyInfo> known) const {
    // First among the keys of the same table, then a key of that very name in another one, then any.
    const auto last = name.substr(prefix.size());
    std::vector<std::string_view> siblings, all;
    std::optional<std::string_view> elsewhere;
    for (const auto& key : known) {
      all.push_back(key.name);
      if (key.name.starts_with(prefix))
        siblings.push_back(std::string_view(key.name).substr(prefix.size()));
      if (key.name.ends_with("." + last) && !elsewhere)
        elsewhere = key.name;
    }
    auto near = policy::nearest(last, siblings);
    // What is only the beginning of a key is far from it by letters: api_key, api_key_credential.
    if (!near)
      for (const auto sibling : siblings)
        if (sibling.starts_with(last + "_"))
          near = sibling;
    if (!near)
      near = elsewhere ? elsewhere : policy::nearest(name, all);
    return "unknown key '" + last + "'" + (near ? " (did you mean '" + std::string(*near) + "'?)" : "");
  }

 private:
  static const KeyInfo* find(std::span<const KeyInfo> known, std::string_view name) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const KeyInfo& k) { return k.name == name; });
    return found == known.end() ? nullptr : &*found;
  }

  void store(const KeyInfo& info, const toml::node& node, const Place& key, RawSection& out) {
    auto value = convert(info.type, node);
    if (!value) {
      const std::string type(to_string(info.type));
      // "whole number 1 to 64" says the type already.
      const auto wanted = info.kind.starts_with(type) ? info.kind : type + " (" + info.kind + ")";
      findings_.error(at(node.source()), "'" + info.name + "' must be " +
                                             (info.type == ValueType::kBoolean ? "" : "a ") + wanted +
                                             ", not " + type_name(node));
      out.refused.try_emplace(info.name, at(node.source()));
      return;
    }
    const auto [position, added] =
        out.values.try_emplace(info.name, RawValue{std::move(*value), at(node.source())});
    if (!added)
      findings_.error(key, "'" + info.name + "' was set before, in " + position->second.place.file +
                               " line " + std::to_string(position->second.place.line));
    if (const auto* table = node.as_table(); table != nullptr && added)
      for (const auto& [name, item] : *table)
        out.entries.try_emplace(info.name + "." + std::string(name.str()), at(item.source()));
  }

  static std::optional<decltype(RawValue::value)> convert(ValueType type, const toml::node& node) {
    switch (type) {  // no default: a new type must be read here
      case ValueType::kText:
        if (const auto* text = node.as_string())
          return text->get();
        return std::nullopt;
      case ValueType::kInteger:
        if (const auto* number = node.as_integer())
          return number->get();
        return std::nullopt;
      case ValueType::kBoolean:
        if (const auto* truth = node.as_boolean())
          return truth->get();
        return std::nullopt;
      case ValueType::kTextList: {
        const auto* array = node.as_array();
        if (array == nullptr)
          return std::nullopt;
        TextList list;
        for (const auto& item : *array) {
          const auto* text = item.as_string();
          if (text == nullptr)
            return std::nullopt;
          list.push_back(text->get());
        }
        return list;
      }
      case ValueType::kTextMap: {
        const auto* table = node.as_table();
        if (table == nullptr)
          return std::nullopt;
        TextMap map;
        for (const auto& [key, item] : *table) {
          const auto* text = item.as_string();
          if (text == nullptr)
            return std::nullopt;
          map.emplace_back(std::string(key.str()), text->get());
        }
        return map;
      }
    }
    return std::nullopt;
  }

  static std::string type_name(const toml::node& node) {
    switch (node.type()) {
      case toml::node_type::none:
        return "nothing";
      case toml::node_type::table:
        return "a table";
      case toml::node_type::array:
        return "an array of other things";
      case toml::node_type::string:
        return "a text";
      case toml::node_type::integer:
        return "a whole number";
      case toml::node_type::floating_point:
        return "a fraction";
      case toml::node_type::boolean:
        return "true or false";
      case toml::node_type::date:
      case toml::node_type::time:
      case toml::node_type::date_time:
        return "a date or time";
    }
    return "something else";
  }

  std::string file_;
  Findings& findings_;
};

bool valid_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

// The tables [HEADER.NAME] of things that the operator names: engines, sinks. `what`: "engine", "an
// engine's".
struct Kind {
  const char *what, *whose, *header;
  std::span<const KeyInfo> keys;
};
template <typename Named>
void read_named(Parser& parser, const toml::table& tables, const Kind& kind, std::vector<Named>& into,
                Findings& findings) {
  for (const auto& [key, node] : tables) {
    const std::string name(key.str());
    const auto place = parser.at(key.source());
    const auto* table = node.as_table();
    if (table == nullptr) {
      findings.error(place, "'" + std::string(kind.header) + "." + name + "' must be a table: write [" +
                                kind.header + ".NAME] and its keys below");
      continue;
    }
    if (!valid_name(name)) {
      findings.error(place, std::string(kind.whose) +
                                " name has 1 to 64 letters, digits, '_', '-' or '.', and begins with a "
                                "letter, a digit or '_'");
      continue;
    }
    const auto before =
        std::find_if(into.begin(), into.end(), [&](const Named& known) { return known.name == name; });
    if (before != into.end()) {
      findings.error(place, std::string(kind.what) + " '" + name + "' is defined before, in " +
                                before->section.place.file + " line " +
                                std::to_string(before->section.place.line));
      continue;
    }
    Named named{.name = name, .section = {.place = place, .values = {}, .refused = {}, .entries = {}}};
    parser.read(*table, "", kind.keys, named.section);
    into.push_back(std::move(named));
  }
}

void read_alerts(Parser& parser, const toml::table& alerts, RawConfig& raw, Findings& findings) {
  constexpr std::string_view kSinks = "sink";
  parser.read(alerts, "", alert_keys(), raw.alerts, kSinks);
  const auto* sinks = alerts.get(kSinks);
  if (sinks == nullptr)
    return;
  if (const auto* tables = sinks->as_table())
    read_named(parser, *tables, {"sink", "a sink's", "alerts.sink", sink_keys()}, raw.sinks, findings);
  else
    findings.error(parser.at(sinks->source()), "'alerts.sink' must be a table: write [alerts.sink.NAME]");
}

}  // namespace

std::string Diagnostic::text() const {
  if (line == 0)
    return file + ": " + message;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

// A message quotes what the file says: it stays on its line of the log, and on the screen.
void Findings::add(std::vector<Diagnostic>& list, const Place& place, const std::string& message) {
  list.push_back({place.file, place.line, place.column, one_line(message, 600)});
}

const RawValue* RawSection::find(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}
const std::string* RawSection::text(std::string_view key) const {
  const auto* value = find(key);
  return value == nullptr ? nullptr : std::get_if<std::string>(&value->value);
}
const std::int64_t* RawSection::integer(std::string_view key) const {
  const auto* value = find(key);
  return value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->value);
}
const bool* RawSection::boolean(std::string_view key) const {
  const auto* value = find(key);
  return value == nullptr ? nullptr : std::get_if<bool>(&value->value);
}
const TextList* RawSection::list(std::string_view key) const {
  const auto* value = find(key);
  return value == nullptr ? nullptr : std::get_if<TextList>(&value->value);
}
const TextMap* RawSection::map(std::string_view key) const {
  const auto* value = find(key);
  return value == nullptr ? nullptr : std::get_if<TextMap>(&value->value);
}
bool RawSection::given(std::string_view key) const {
  return find(key) != nullptr || refused.contains(key);
}
const Place& RawSection::where(std::string_view key) const {
  if (const auto* value = find(key))
    return value->place;
  const auto entry = entries.find(key);
  return entry == entries.end() ? place : entry->second;
}

void parse_config(std::string_view text, const std::string& file, RawConfig& raw, Findings& findings) {
  Parser parser(file, findings);
  const auto table = parser.parse(text);
  if (!table)
    return;
  static constexpr std::string_view kSections[] = {"daemon",    "engine",  "alerts",
                                                   "heartbeat", "metrics", "silence"};
  for (const auto& [key, node] : *table) {
    const auto place = parser.at(key.source());
    const auto name = key.str();
    const auto* section = node.as_table();
    if (std::find(std::begin(kSections), std::end(kSections), name) == std::end(kSections)) {
      const auto near = policy::nearest(name, kSections);
      findings.error(place, "unknown section '" + std::string(name) + "'" +
                                (near ? " (did you mean '" + std::string(*near) + "'?)"
                                      : "; there are [daemon], [engine.NAME], [alerts], [alerts.sink.NAME], "
                                        "[heartbeat], [metrics] and [silence]"));
      continue;
    }
    if (section == nullptr) {
      findings.error(place, "'" + std::string(name) + "' must be a table");
      continue;
    }
    const auto begin = [&](RawSection& known) -> RawSection& {
      if (known.place.file.empty())
        known.place = place;
      return known;
    };
    if (name == "daemon") {
      parser.read(*section, "", daemon_keys(), begin(raw.daemon));
    } else if (name == "heartbeat") {
      parser.read(*section, "", heartbeat_keys(), begin(raw.heartbeat));
    } else if (name == "metrics") {
      parser.read(*section, "", metrics_keys(), begin(raw.metrics));
    } else if (name == "silence") {
      parser.read(*section, "", silence_keys(), begin(raw.silence));
    } else if (name == "alerts") {
      begin(raw.alerts);
      read_alerts(parser, *section, raw, findings);
    } else {
      read_named(parser, *section, {"engine", "an engine's", "engine", engine_keys()}, raw.engines, findings);
    }
  }
}

void parse_suite(std::string_view text, const std::string& file, RawSection& section, Findings& findings) {
  Parser parser(file, findings);
  const auto table = parser.parse(text);
  if (!table)
    return;
  std::vector<KeyInfo> known;
  for (const auto& key : engine_keys())
    if (key.name.starts_with("suite."))
      known.push_back(key);
  parser.read(*table, "suite.", known, section);
}

}  // namespace fireboss::config
