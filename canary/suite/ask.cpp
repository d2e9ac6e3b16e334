#include "canary/suite/ask.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "canary/suite/words.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;

constexpr std::string_view kAsk = "Reply with exactly this text and nothing else: ";
constexpr std::string_view kDigits = "0123456789ABCDEF";
constexpr std::size_t kCodeDigits = 12;
constexpr std::size_t kMinWord = 3, kMaxWord = 8;
constexpr std::size_t kMaxModels = 1'000;
// Each is looked up by the caller; a reply of nothing but nonces is cut short.
constexpr std::size_t kMaxFound = 256;

std::uint64_t number(const RandomBytes& random, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + bytes; ++i) {
    value = value << 8U | random[i];
  }
  return value;
}

// Twelve different digits of sixteen: 16!/4!, 39.6 bits, and nine more in the word. Small models lose their
// place where characters or pairs of them repeat, so none does.
std::string make_nonce(const RandomBytes& random) {
  std::string nonce(kWords[number(random, 0, 2) % kWords.size()]);
  nonce += '-';
  std::string left(kDigits);
  std::uint64_t rank = number(random, 2, 8);  // 64 bits against 40: the bias is below 2^-24
  for (std::size_t i = 0; i < kCodeDigits; ++i) {
    const std::size_t at = static_cast<std::size_t>(rank % left.size());
    rank /= left.size();
    nonce += left[at];
    left.erase(at, 1);
  }
  return nonce;
}

std::string make_salt(const RandomBytes& random) {
  std::string salt;
  for (std::size_t i = 10; i < 26; ++i) {
    salt += kDigits[random[i] >> 4U];
    salt += kDigits[random[i] & 0xFU];
  }
  return salt;
}

std::string quoted(std::string_view text) {
  return json::serialize(json::string_view(text.data(), text.size()));
}

// Everything but model, messages and tools: small, and open to the suite's extra fields.
json::object settings(const Suite& suite, const Variant& variant, const std::string& salt) {
  json::object body;
  body["temperature"] = 0;
  body["max_tokens"] = suite.max_tokens;
  if (variant.stream) {
    body["stream"] = true;
    body["stream_options"] = json::object({{"include_usage", true}});
  }
  if (variant.logprobs) {
    body["logprobs"] = true;
  }
  if (variant.cold && suite.cold_by != ColdBy::kNonceFirst) {
    body["cache_salt"] = salt;
  }
  if (!suite.extra_body.empty()) {
    const json::value extra = json::parse(suite.extra_body);  // checked by make_suite
    for (const auto& [key, value] : extra.get_object()) {
      body[key] = value;
    }
    if (body.contains("max_completion_tokens")) {
      body.erase("max_tokens");
    }
  }
  return body;
}

bool is_digit(char c) {
  return kDigits.find(c) != std::string_view::npos;
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

}  // namespace

Prompt make_prompt(const RandomBytes& random) {
  Prompt prompt;
  prompt.nonce = make_nonce(random);
  prompt.expected = prompt.nonce;
  prompt.user = std::string(kAsk) + prompt.nonce;
  return prompt;
}

Ask make_ask(const Suite& suite, const Variant& variant, std::string_view model, const RandomBytes& random) {
  Ask ask;
  ask.prompt = make_prompt(random);
  ask.stream = variant.stream;
  const std::string salt = make_salt(random);
  const bool salted = variant.cold && suite.cold_by != ColdBy::kCacheSalt;

  // Put together as text: the large parts are JSON already.
  std::string& body = ask.body;
  body.reserve(suite.system_prompt_json.size() + suite.tools.size() + suite.extra_body.size() + 1024);
  body += "{\"model\":" + quoted(suite.model.empty() ? model : std::string_view(suite.model));
  body += ",\"messages\":[";
  if (salted || !suite.system_prompt_json.empty()) {
    body += "{\"role\":\"system\",\"content\":\"";
    if (salted) {
      body += "Session " + salt + (suite.system_prompt_json.empty() ? "" : "\\n\\n");
    }
    body += suite.system_prompt_json;
    body += "\"},";
  }
  body += "{\"role\":\"user\",\"content\":" + quoted(ask.prompt.user) + "}]";
  if (!suite.tools.empty()) {
    body += ",\"tools\":";
    body += suite.tools;
  }
  // The settings are never empty: their opening brace gives way to a comma.
  body += "," + json::serialize(settings(suite, variant, salt)).substr(1);
  return ask;
}

std::vector<std::string_view> nonces_in(std::string_view reply) {
  std::vector<std::string_view> found;
  for (std::size_t dash = reply.find('-'); dash != std::string_view::npos && found.size() < kMaxFound;
       dash = reply.find('-', dash + 1)) {
    std::size_t begin = dash;
    while (begin > 0 && dash - begin < kMaxWord && is_upper(reply[begin - 1])) {
      --begin;
    }
    std::size_t end = dash + 1;
    while (end < reply.size() && end - dash <= kCodeDigits && is_digit(reply[end])) {
      ++end;
    }
    if (dash - begin >= kMinWord && end - dash == kCodeDigits + 1) {
      // Letters glued to the front are no part of the word: every start is tried.
      for (; dash - begin >= kMinWord; ++begin) {
        const std::string_view word = reply.substr(begin, dash - begin);
        if (std::binary_search(kWords.begin(), kWords.end(), word)) {
          found.push_back(reply.substr(begin, end - begin));
        }
      }
    }
  }
  return found;
}

Result<std::vector<std::string>> parse_models(std::string_view body) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(body.data(), body.size()), error);
  if (error) {
    return fail(ErrorCode::kInvalid, "the model list is no JSON: " + error.message());
  }
  const json::value* data = value.is_object() ? value.get_object().if_contains("data") : nullptr;
  if (data == nullptr || !data->is_array()) {
    return fail(ErrorCode::kInvalid, "the model list has no array \"data\"");
  }
  std::vector<std::string> ids;
  for (const json::value& entry : data->get_array()) {
    const json::value* id = entry.is_object() ? entry.get_object().if_contains("id") : nullptr;
    if (id != nullptr && id->is_string() && ids.size() < kMaxModels) {
      ids.emplace_back(id->get_string());
    }
  }
  if (ids.empty()) {
    return fail(ErrorCode::kInvalid, "the model list names no model");
  }
  return ids;
}

}  // namespace fireboss::canary
