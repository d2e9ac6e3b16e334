#pragma once
// The body of POST /v1/chat/completions, read and checked. Unknown fields are ignored, as other engines do;
// fields that change the meaning of a request and that this engine cannot serve are refused by name.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/chat/conversation.h"
#include "engine/faults/decision.h"
#include "engine/sampler/sampler.h"

namespace fireboss::engine {

enum class ToolChoice { kNone, kAuto, kRequired, kNamed };

struct ChatRequest {
  std::string model{};  // empty: not given
  Conversation conversation;
  ToolChoice tool_choice = ToolChoice::kNone;
  std::string tool_name{};  // of kNamed
  bool stream = false;
  bool include_usage = false;  // a last chunk with the usage, in a stream
  std::optional<std::size_t> max_tokens{};
  double temperature = 0;
  double top_p = 1;
  std::size_t top_k = 0;
  std::optional<std::uint64_t> seed{};
  std::vector<std::string> stops{};
  std::optional<std::size_t> top_logprobs{};  // set when logprobs are wanted
  std::string cache_salt{};
  bool ignore_end = false;

  [[nodiscard]] PromptShape shape() const;
};

// kInvalid: the message names the field. `temperature` is used when the request does not say.
[[nodiscard]] Result<ChatRequest> parse_chat_request(std::string_view body, double temperature);

}  // namespace fireboss::engine
