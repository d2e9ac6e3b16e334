#include "canary/suite/make_suite.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/hash.h"
#include "base/time.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxText = 1024 * 1024;
constexpr std::size_t kMaxExtra = 64 * 1024;
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxHeaders = 32;
constexpr std::size_t kMaxHeaderValue = 4096;
constexpr std::size_t kMaxTools = 256;
constexpr std::size_t kMaxSpecialTokens = 256;
constexpr std::size_t kMaxSpecialToken = 128;
// The answer has at most 21 characters: one token each at the worst.
constexpr std::int64_t kMinTokens = 32;
constexpr std::int64_t kMinTokensReasoning = 256;
constexpr std::int64_t kMaxTokens = 131'072;

bool is_token_char(unsigned char c) {  // RFC 9110: token
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kOthers.find(static_cast<char>(c)) != std::string_view::npos;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return result;
}

// A JSON string can only hold what JSON can: the text is tried as one.
bool is_utf8(std::string_view text) {
  boost::system::error_code error;
  const std::string quoted = json::serialize(json::string_view(text.data(), text.size()));
  json::parse(quoted, error);
  return !error;
}

std::string escaped(std::string_view text) {
  const std::string quoted = json::serialize(json::string_view(text.data(), text.size()));
  return quoted.substr(1, quoted.size() - 2);
}

class Maker {
 public:
  explicit Maker(const SuiteSource& source) : source_(source) {}

  tl::expected<Suite, std::vector<SuiteProblem>> make() {
    suite_.name = source_.name;
    suite_.model = source_.model;
    suite_.api_key_credential = source_.api_key_credential;
    suite_.max_tokens = source_.max_tokens;
    api();
    names();
    base_path();
    headers();
    texts();
    tools();
    extra_body();
    ways();
    max_tokens();
    variants();
    special_tokens();
    if (!problems_.empty()) {
      return tl::unexpected(std::move(problems_));
    }
    suite_.system_prompt_json = escaped(suite_.system_prompt);
    suite_.hash = sha256_hex(canonical());
    return std::move(suite_);
  }

 private:
  void problem(std::string key, std::string message) {
    problems_.push_back({std::move(key), std::move(message)});
  }

  void api() {
    if (source_.api != "openai-chat") {
      problem("api", "'" + source_.api + "' is not supported; use 'openai-chat'");
    }
  }

  void names() {
    const auto check = [&](const char* key, const std::string& text) {
      if (text.size() > kMaxName || has_control(text)) {
        problem(key, "must be one line of at most " + std::to_string(kMaxName) + " characters");
      }
    };
    check("name", source_.name);
    check("model", source_.model);
    const std::string& credential = source_.api_key_credential;
    check("api_key_credential", credential);
    if (credential.find('/') != std::string::npos || (!credential.empty() && credential.front() == '.')) {
      problem("api_key_credential",
              "is the name of a systemd credential (LoadCredential=NAME:PATH in the unit), not a path");
    }
  }

  void base_path() {
    std::string path = source_.base_path;
    while (!path.empty() && path.back() == '/') {
      path.pop_back();
    }
    const bool odd = std::any_of(path.begin(), path.end(), [](unsigned char c) {
      return c <= 0x20 || c >= 0x7F || c == '?' || c == '#';
    });
    if (path.size() > kMaxName || odd || (!path.empty() && path.front() != '/')) {
      problem("base_path", "must begin with '/' and hold no space, '?' or '#', like \"/v1\"");
    }
    suite_.base_path = path;
  }

  void headers() {
    if (source_.headers.size() > kMaxHeaders) {
      problem("headers", "more than " + std::to_string(kMaxHeaders));
    }
    static constexpr std::array<std::string_view, 9> kOurs = {
        "host",   "content-length",  "content-type", "transfer-encoding", "connection", "keep-alive",
        "accept", "accept-encoding", "expect"};
    std::set<std::string> seen;
    for (const auto& [name, value] : source_.headers) {
      const std::string key = "headers." + name;
      const std::string folded = lower(name);
      if (name.empty() || !std::all_of(name.begin(), name.end(), is_token_char)) {
        problem(key, "is no header name");
      } else if (std::find(kOurs.begin(), kOurs.end(), folded) != kOurs.end()) {
        problem(key, "is set by Fireboss itself; remove it");
      } else if (folded == "authorization") {
        problem(key,
                "a key does not belong in a configuration file; name its systemd credential in "
                "api_key_credential");
      } else if (!seen.insert(folded).second) {
        problem(key, "is given twice");
      }
      if (has_control(value) || value.size() > kMaxHeaderValue) {
        problem(key, "must be one line of at most " + std::to_string(kMaxHeaderValue) + " characters");
      }
    }
    suite_.headers = source_.headers;
  }

  static std::string place(const char* key, const SuiteText& text) {
    return text.path.empty() ? key : std::string(key) + "_file";
  }
  static std::string named(const SuiteText& text) { return text.path.empty() ? "" : text.path + " "; }

  void texts() {
    const SuiteText& prompt = source_.system_prompt;
    const std::string key = place("system_prompt", prompt);
    if (prompt.text.size() > kMaxText) {
      problem(key, named(prompt) + "is larger than " + format_size(kMaxText));
    } else if (prompt.text.find('\0') != std::string::npos || !is_utf8(prompt.text)) {
      problem(key, named(prompt) + "is no UTF-8 text");
    } else if (!prompt.path.empty() && prompt.text.empty()) {
      problem(key, named(prompt) + "is empty");
    }
    suite_.system_prompt = prompt.text;
  }

  void tools() {
    const SuiteText& tools = source_.tools;
    if (tools.text.empty() && tools.path.empty()) {
      return;
    }
    const std::string key = place("tools", tools);
    if (tools.text.size() > kMaxText) {
      problem(key, named(tools) + "is larger than " + format_size(kMaxText));
      return;
    }
    boost::system::error_code error;
    const json::value value = json::parse(tools.text, error);
    if (error || !value.is_array()) {
      problem(key, named(tools) + "must be a JSON array of function tools" +
                       (error ? ": " + error.message() : std::string{}));
      return;
    }
    if (value.get_array().size() > kMaxTools || value.get_array().empty()) {
      problem(key, named(tools) + "must hold 1 to " + std::to_string(kMaxTools) + " tools");
      return;
    }
    std::set<std::string> seen;
    for (std::size_t i = 0; i < value.get_array().size(); ++i) {
      const std::string where = named(tools) + "tool " + std::to_string(i + 1) + " ";
      const std::optional<std::string> name = tool_name(value.get_array()[i]);
      if (!name) {
        problem(key, where + "must be {\"type\": \"function\", \"function\": {\"name\": ..., ...}}");
      } else if (!seen.insert(*name).second) {
        problem(key, where + "has the name of another: '" + *name + "'");
      }
    }
    suite_.tools = json::serialize(value);
  }

  static std::optional<std::string> tool_name(const json::value& tool) {
    if (!tool.is_object()) {
      return std::nullopt;
    }
    const json::value* type = tool.get_object().if_contains("type");
    const json::value* function = tool.get_object().if_contains("function");
    if (type == nullptr || !type->is_string() || type->get_string() != "function" || function == nullptr ||
        !function->is_object()) {
      return std::nullopt;
    }
    const json::value* name = function->get_object().if_contains("name");
    if (name == nullptr || !name->is_string() || name->get_string().empty()) {
      return std::nullopt;
    }
    return std::string(name->get_string());
  }

  void extra_body() {
    if (source_.extra_body.empty()) {
      return;
    }
    if (source_.extra_body.size() > kMaxExtra) {
      problem("extra_body", "is larger than " + format_size(kMaxExtra));
      return;
    }
    boost::system::error_code error;
    const json::value value = json::parse(source_.extra_body, error);
    if (error || !value.is_object()) {
      problem("extra_body", "must be a JSON object" + (error ? ": " + error.message() : std::string{}));
      return;
    }
    struct Reserved {
      std::string_view key, instead;
    };
    static constexpr std::array<Reserved, 9> kReserved = {{{"messages", "Fireboss writes them"},
                                                           {"model", "use the key model"},
                                                           {"tools", "use tools_file"},
                                                           {"max_tokens", "use the key max_tokens"},
                                                           {"stream", "choose the variant chat-stream"},
                                                           {"stream_options", "Fireboss writes them"},
                                                           {"logprobs", "choose the variant chat-logprobs"},
                                                           {"cache_salt", "use cold_by = \"cache_salt\""},
                                                           {"n", "one reply is graded"}}};
    for (const Reserved& reserved : kReserved) {
      if (value.get_object().contains(reserved.key)) {
        problem("extra_body",
                "must not hold '" + std::string(reserved.key) + "': " + std::string(reserved.instead));
      }
    }
    suite_.extra_body = json::serialize(value);
  }

  void ways() {
    if (source_.reasoning == "none") {
      suite_.reasoning = Reasoning::kNone;
    } else if (source_.reasoning == "field") {
      suite_.reasoning = Reasoning::kField;
    } else if (source_.reasoning == "inline_tags") {
      suite_.reasoning = Reasoning::kInlineTags;
    } else {
      problem("reasoning", "'" + source_.reasoning + "' is none of none, field, inline_tags");
    }
    if (source_.cold_by == "nonce") {
      suite_.cold_by = ColdBy::kNonceFirst;
    } else if (source_.cold_by == "cache_salt") {
      suite_.cold_by = ColdBy::kCacheSalt;
    } else if (source_.cold_by == "both") {
      suite_.cold_by = ColdBy::kBoth;
    } else {
      problem("cold_by", "'" + source_.cold_by + "' is none of nonce, cache_salt, both");
    }
  }

  void max_tokens() {
    if (source_.max_tokens < kMinTokens || source_.max_tokens > kMaxTokens) {
      problem("max_tokens", "must be from " + std::to_string(kMinTokens) + " (well above the answer) to " +
                                std::to_string(kMaxTokens));
    } else if (suite_.reasoning != Reasoning::kNone && source_.max_tokens < kMinTokensReasoning) {
      problem("max_tokens", "must be at least " + std::to_string(kMinTokensReasoning) +
                                " for a model that reasons, or the answer is cut off before it begins");
    }
  }

  void variants() {
    std::set<std::string> seen;
    for (const std::string& name : source_.variants) {
      const auto& known = known_variants();
      const auto found = std::find_if(known.begin(), known.end(),
                                      [&](const Variant& variant) { return variant.name == name; });
      if (found == known.end()) {
        std::string names;
        for (const Variant& variant : known) {
          names.append(names.empty() ? "" : ", ").append(variant.name);
        }
        problem("variants", std::string("'").append(name).append("' is none of ").append(names));
      } else if (!seen.insert(name).second) {
        problem("variants", "'" + name + "' is named twice");
      } else {
        suite_.variants.push_back(*found);
      }
    }
    if (source_.variants.empty()) {
      problem("variants", "must name at least one");
    }
  }

  void special_tokens() {
    if (source_.special_tokens.size() > kMaxSpecialTokens) {
      problem("special_tokens", "more than " + std::to_string(kMaxSpecialTokens));
    }
    for (const std::string& token : source_.special_tokens) {
      if (token.empty() || token.size() > kMaxSpecialToken) {
        problem("special_tokens", "each must have 1 to " + std::to_string(kMaxSpecialToken) + " bytes");
        break;
      }
    }
    suite_.special_tokens = source_.special_tokens;
  }

  // What makes one suite differ from another; where the texts came from does not.
  std::string canonical() const {
    json::array headers;
    for (const auto& [name, value] : suite_.headers) {
      headers.push_back(json::array{name, value});
    }
    json::array variants;
    for (const Variant& variant : suite_.variants) {
      variants.push_back(json::value(variant.name));
    }
    json::array tokens;
    for (const std::string& token : suite_.special_tokens) {
      tokens.push_back(json::value(token));
    }
    json::object all;  // keys in alphabetical order: the text is canonical
    all["api"] = source_.api;
    all["api_key_credential"] = suite_.api_key_credential;
    all["base_path"] = suite_.base_path;
    all["cold_by"] = source_.cold_by;
    all["extra_body"] = suite_.extra_body;
    all["headers"] = std::move(headers);
    all["max_tokens"] = suite_.max_tokens;
    all["model"] = suite_.model;
    all["reasoning"] = source_.reasoning;
    all["special_tokens"] = std::move(tokens);
    all["system_prompt"] = suite_.system_prompt;
    all["tools"] = suite_.tools;
    all["variants"] = std::move(variants);
    return json::serialize(all);
  }

  const SuiteSource& source_;
  Suite suite_;
  std::vector<SuiteProblem> problems_;
};

}  // namespace

const std::vector<Variant>& known_variants() {
  static const std::vector<Variant> known = {
      {.name = "chat"},
      {.name = "chat-stream", .stream = true},
      {.name = "chat-cold", .cold = true},
      {.name = "chat-logprobs", .logprobs = true},
  };
  return known;
}

tl::expected<Suite, std::vector<SuiteProblem>> make_suite(const SuiteSource& source) {
  return Maker(source).make();
}

}  // namespace fireboss::canary
