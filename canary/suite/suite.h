#pragma once
// What to ask: a suite, parsed and validated. Loaded and hashed as a whole at start and at reload, never
// half-read.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::canary {

enum class Api { kOpenAiChat };
enum class Reasoning { kNone, kField, kInlineTags };
// How a cold variant keeps cached prefixes from serving it. The nonce in front of the system prompt works
// everywhere; some engines refuse an unknown field such as cache_salt with 400.
enum class ColdBy { kNonceFirst, kCacheSalt, kBoth };

// What a reply is compared with, by type.
enum class TaskType { kExactReply, kIntSequence, kJson, kToolCall, kCode };

struct Variant {
  std::string name;  // "chat", "chat-stream", "chat-cold"
  bool stream = false;
  bool cold = false;      // no cached prefix may serve it: a fresh cache salt and the nonce in front
  bool logprobs = false;  // a NaN row becomes an error that can be seen
};

// File contents are in here, not paths: nothing is read from disk after loading.
struct Suite {
  std::string name;
  Api api = Api::kOpenAiChat;
  std::string model;  // model or LoRA name; "" = the first of /v1/models
  std::string base_path = "/v1";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string api_key_credential;  // name of the systemd credential, "" = no key
  std::string extra_body;          // JSON object merged into every request, "" = none
  std::string system_prompt;       // the operator's real one
  std::string tools;               // JSON array text, "" = none
  Reasoning reasoning = Reasoning::kNone;
  ColdBy cold_by = ColdBy::kNonceFirst;
  std::int64_t max_tokens = 64;
  std::vector<Variant> variants;
  std::vector<std::string> special_tokens;  // beyond the built-in list: a leak when in a reply
  std::string hash;                         // SHA-256 (hex) of all of the above in canonical form

  // The system prompt as it stands between the quotes of a JSON string, so that 20 KB need not be escaped for
  // every call. Follows from system_prompt; made with the rest.
  std::string system_prompt_json;
};

// One call to make: the nonce is part of prompt and expected reply.
struct Prompt {
  std::string user;  // "Reply with exactly this text and nothing else: PONG-1F00C4E2A9B7"
  std::string expected;
  std::string nonce;
};

}  // namespace fireboss::canary
