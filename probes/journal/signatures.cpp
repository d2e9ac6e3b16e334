#include "probes/journal/signatures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include <re2/re2.h>
#include <re2/set.h>
#include <toml++/toml.h>

#include "base/one_line.h"
#include "base/toml_depth.h"
#include "probes/journal/builtin_signatures.h"

namespace fireboss::probes {
namespace {

constexpr std::array<std::string_view, 26> kClasses{"leak",
                                                    "repetition",
                                                    "empty",
                                                    "truncated",
                                                    "tool_call_malformed",
                                                    "json_malformed",
                                                    "encoding",
                                                    "wrong_answer",
                                                    "http_error",
                                                    "timeout",
                                                    "stall",
                                                    "engine_dead",
                                                    "oom_killed",
                                                    "gpu_fault_app",
                                                    "gpu_fault_hw",
                                                    "collective_timeout",
                                                    "throughput_degraded",
                                                    "memory_leak",
                                                    "crash_loop",
                                                    "vram_held",
                                                    "port_in_use",
                                                    "start_timeout",
                                                    "monitor_fault",
                                                    "patch_not_loaded",
                                                    "busy",
                                                    "clock_gap"};

// Memory for the automata's states: too little makes RE2 fall back to a search that is a hundred times
// slower.
constexpr std::int64_t kMaxMemory = std::int64_t{64} << 20;

RE2::Options options() {
  RE2::Options o;
  o.set_encoding(RE2::Options::EncodingLatin1);  // a log may hold any bytes
  o.set_log_errors(false);
  o.set_never_nl(true);
  o.set_max_mem(kMaxMemory);
  return o;
}

// ^ and $ mean a line's ends, also in a text of many lines.
std::string by_line(const std::string& expression) {
  return "(?m:" + expression + ")";
}

std::string place(const std::string& source, const toml::source_region& where) {
  return source + ":" + std::to_string(where.begin.line);
}

// What a file says, within a message.
std::string quote(std::string_view text) {
  return one_line(text, 200);
}

std::string describe(const RE2& expression, const std::string& text) {
  return "'" + quote(text) + "' is not a regular expression of RE2: " + quote(expression.error());
}

class Reader {
 public:
  Reader(const std::string& source, std::string& mistakes) : source_(source), mistakes_(mistakes) {}

  void complain(const toml::source_region& where, const std::string& what) {
    mistakes_ += (mistakes_.empty() ? "" : "; ") + place(source_, where) + ": " + what;
  }

  std::string text(const toml::table& table, const char* key, bool needed) {
    const auto* node = table.get(key);
    if (node == nullptr) {
      if (needed)
        complain(table.source(), std::string("a signature without '") + key + "'");
      return {};
    }
    const auto value = node->value<std::string>();
    if (!value)
      complain(node->source(), std::string("'") + key + "' is not a text");
    return value.value_or("");
  }

  std::string expression(const toml::table& table, const char* key, bool needed, int groups) {
    auto out = text(table, key, needed);
    if (out.empty())
      return out;
    const RE2 compiled(by_line(out), options());
    if (!compiled.ok())
      complain(table.get(key)->source(), describe(compiled, out));
    else if (groups > 0 && compiled.NumberOfCapturingGroups() != groups)
      complain(table.get(key)->source(), std::string("'") + key + "' needs exactly one group");
    return out;
  }

  std::vector<std::string> texts(const toml::node* node, const char* key) {
    std::vector<std::string> out;
    if (node == nullptr)
      return out;
    const auto* array = node->as_array();
    if (array == nullptr) {
      complain(node->source(), std::string("'") + key + "' is not a list of texts");
      return out;
    }
    for (const auto& item : *array) {
      if (const auto value = item.value<std::string>())
        out.push_back(*value);
      else
        complain(item.source(), std::string("'") + key + "' is not a list of texts");
    }
    return out;
  }

  void known_keys(const toml::table& table, std::initializer_list<std::string_view> keys) {
    for (const auto& [key, value] : table)
      if (std::ranges::find(keys, key.str()) == keys.end())
        complain(value.source(), "unknown key '" + quote(key.str()) + "'");
  }

 private:
  const std::string& source_;
  std::string& mistakes_;
};

Signature read_signature(Reader& reader, const toml::table& table) {
  reader.known_keys(table, {"name", "class", "match", "unless", "pid", "unit", "example", "near"});
  Signature s;
  s.name = reader.text(table, "name", true);
  s.signature_class = reader.text(table, "class", true);
  if (!s.signature_class.empty() && !is_signature_class(s.signature_class))
    reader.complain(table.get("class")->source(), "unknown class '" + quote(s.signature_class) + "'");
  s.match = reader.expression(table, "match", true, 0);
  s.unless = reader.expression(table, "unless", false, 0);
  s.pid = reader.expression(table, "pid", false, 1);
  s.unit = reader.expression(table, "unit", false, 1);
  s.examples = reader.texts(table.get("example"), "example");
  s.near_misses = reader.texts(table.get("near"), "near");
  return s;
}

std::optional<std::uint32_t> to_pid(std::string_view text) {
  std::uint32_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(pid) : std::nullopt;
}

}  // namespace

bool is_signature_class(std::string_view word) {
  return std::ranges::find(kClasses, word) != kClasses.end();
}

struct SignatureSet::Compiled {
  std::vector<Signature> signatures;
  // all signatures' `match`, then the ignored lines'
  std::unique_ptr<RE2::Set> set;
  std::unique_ptr<RE2> any;  // every `match` in one
  std::vector<std::unique_ptr<RE2>> unless, pid, unit;

  static std::unique_ptr<RE2> compile(const std::string& expression) {
    return expression.empty() ? nullptr : std::make_unique<RE2>(by_line(expression), options());
  }
};

SignatureSet::SignatureSet(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
SignatureSet::SignatureSet(SignatureSet&&) noexcept = default;
SignatureSet& SignatureSet::operator=(SignatureSet&&) noexcept = default;
SignatureSet::~SignatureSet() = default;

Result<SignatureSet> SignatureSet::parse(std::string_view text, const std::string& source) {
  constexpr std::size_t kMostParts = 64;
  if (const auto line = line_of_deep_key(text, kMostParts))
    return fail(ErrorCode::kInvalid, source + ":" + std::to_string(*line) + ": a key has more than " +
                                         std::to_string(kMostParts) + " parts");
  toml::table root;
  try {
    root = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::kInvalid, place(source, error.source()) + ": " + quote(error.description()));
  }
  std::string mistakes;
  Reader reader(source, mistakes);
  reader.known_keys(root, {"ignore", "signature"});
  const auto ignore = reader.texts(root.get("ignore"), "ignore");
  auto compiled = std::make_unique<Compiled>();
  std::set<std::string> names;
  const auto* list = root.get("signature") == nullptr ? nullptr : root.get("signature")->as_array();
  if (list == nullptr || list->empty())
    return fail(ErrorCode::kInvalid,
                source + ": no [[signature]] in it" + (mistakes.empty() ? "" : "; " + mistakes));
  for (const auto& node : *list) {
    const auto* table = node.as_table();
    if (table == nullptr) {
      reader.complain(node.source(), "a signature is a table");
      continue;
    }
    auto signature = read_signature(reader, *table);
    if (!names.insert(signature.name).second)
      reader.complain(table->source(), "a second signature with the name '" + quote(signature.name) + "'");
    compiled->signatures.push_back(std::move(signature));
  }
  for (const auto& expression : ignore)
    if (const RE2 tried(by_line(expression), options()); !tried.ok())
      reader.complain(root.get("ignore")->source(), describe(tried, expression));
  if (!mistakes.empty())
    return fail(ErrorCode::kInvalid, std::move(mistakes));

  compiled->set = std::make_unique<RE2::Set>(options(), RE2::UNANCHORED);
  std::string any;
  for (const auto& s : compiled->signatures) {
    compiled->set->Add(by_line(s.match), nullptr);
    any += (any.empty() ? "" : "|") + by_line(s.match);
    compiled->unless.push_back(Compiled::compile(s.unless));
    compiled->pid.push_back(Compiled::compile(s.pid));
    compiled->unit.push_back(Compiled::compile(s.unit));
  }
  for (const auto& expression : ignore)
    compiled->set->Add(by_line(expression), nullptr);
  compiled->any = std::make_unique<RE2>(any, options());
  if (!compiled->set->Compile() || !compiled->any->ok())
    return fail(ErrorCode::kInvalid, source + ": too much for one automaton: " + compiled->any->error());
  return SignatureSet(std::move(compiled));
}

Result<SignatureSet> SignatureSet::builtin() {
  return parse(kBuiltinSignatures, "built-in signatures");
}

const std::vector<Signature>& SignatureSet::all() const {
  return compiled_->signatures;
}

std::size_t SignatureSet::find(std::string_view text, std::size_t from) const {
  re2::StringPiece found;
  if (!compiled_->any->Match(text, from, text.size(), RE2::UNANCHORED, &found, 1))
    return std::string_view::npos;
  return static_cast<std::size_t>(found.data() - text.data());
}

std::optional<std::uint32_t> SignatureSet::pid_of(std::size_t signature, std::string_view line) const {
  std::string named;
  if (!compiled_->pid[signature] || !RE2::PartialMatch(line, *compiled_->pid[signature], &named))
    return std::nullopt;
  return to_pid(named);
}

std::vector<std::size_t> SignatureSet::match(std::string_view line, const Whose& whose) const {
  std::vector<int> hits;
  if (!compiled_->set->Match(line, &hits))
    return {};
  std::ranges::sort(hits);
  std::vector<std::size_t> out;
  if (static_cast<std::size_t>(hits.back()) >= compiled_->signatures.size())
    return out;  // ignored
  for (const int hit : hits) {
    const auto i = static_cast<std::size_t>(hit);
    if (compiled_->unless[i] && RE2::PartialMatch(line, *compiled_->unless[i]))
      continue;
    std::string named;
    if (!whose.pids.empty()) {
      const auto pid = pid_of(i, line);
      if (pid && std::ranges::find(whose.pids, *pid) == whose.pids.end())
        continue;
    }
    if (!whose.unit.empty() && compiled_->unit[i] && RE2::PartialMatch(line, *compiled_->unit[i], &named) &&
        named != whose.unit)
      continue;
    out.push_back(i);
  }
  return out;
}

}  // namespace fireboss::probes
