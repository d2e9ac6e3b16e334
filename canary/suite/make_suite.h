#pragma once
// From texts that somebody else has read to a checked Suite. Every problem is reported in one pass, each with
// the key it belongs to, so that the reader of the file can add line and column.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "canary/suite/suite.h"

namespace fireboss::canary {

struct SuiteText {
  std::string path;  // where it came from, for messages; "" = written in place
  std::string text;
};

// As written in the suite's TOML; the member's name is the key. Absent keys keep these defaults.
struct SuiteSource {
  std::string name;
  std::string api = "openai-chat";
  std::string model;
  std::string base_path = "/v1";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string api_key_credential;
  std::string extra_body;
  SuiteText system_prompt;         // keys system_prompt, system_prompt_file
  SuiteText tools;                 // keys tools, tools_file
  std::string reasoning = "none";  // none, field, inline_tags
  std::string cold_by = "nonce";   // nonce, cache_salt, both
  std::int64_t max_tokens = 64;
  std::vector<std::string> variants = {"chat", "chat-stream", "chat-cold"};
  std::vector<std::string> special_tokens;
};

struct SuiteProblem {
  std::string key;      // "max_tokens"; "" if it is about the whole
  std::string message;  // what is wrong and what to do
};

[[nodiscard]] tl::expected<Suite, std::vector<SuiteProblem>> make_suite(const SuiteSource& source);

// The names that `variants` may hold, in order: for messages and for docs.
[[nodiscard]] const std::vector<Variant>& known_variants();

}  // namespace fireboss::canary
