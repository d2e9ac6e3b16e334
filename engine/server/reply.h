#pragma once
// The JSON of replies in OpenAI's form. Pure: ids and times are arguments.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "engine/chat/conversation.h"
#include "engine/generate/request.h"
#include "engine/sampler/sampler.h"
#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

struct Usage {
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;
  std::size_t completion_tokens = 0;
};

// What all replies to one request have in common.
struct ReplyHead {
  std::string id{};
  std::int64_t created = 0;  // seconds since the epoch
  std::string model{};
  std::string fingerprint{};
};

struct Choice {
  std::string content{};
  std::vector<ToolCall> calls{};
  std::optional<boost::json::value> logprobs{};
  std::string finish_reason{};
  std::optional<std::string> stop{};
};

// {"error": {"message", "type", "param": null, "code"}}; the type follows from the HTTP status.
[[nodiscard]] std::string error_body(unsigned status, std::string_view message);

[[nodiscard]] boost::json::value logprobs_json(const std::vector<TokenLogprobs>& tokens,
                                               const Tokenizer& tokenizer);

[[nodiscard]] std::string completion_body(const ReplyHead& head, const Choice& choice, const Usage& usage);

// Chunks of a stream, as JSON texts without "data: ".
[[nodiscard]] std::string role_chunk(const ReplyHead& head);
// `first_call` is the index of the first of `calls` within the whole reply. `finish_reason` empty: null.
[[nodiscard]] std::string delta_chunk(const ReplyHead& head, const Choice& delta, std::size_t first_call);
[[nodiscard]] std::string usage_chunk(const ReplyHead& head, const Usage& usage);

[[nodiscard]] std::string models_body(const std::vector<std::string>& names, std::int64_t created,
                                      std::size_t context);

}  // namespace fireboss::engine
