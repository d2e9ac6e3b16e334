#pragma once
// The conversation of a chat request, and its rendering by the drill chat template:
//   <|begin|><|system|>TEXT[\n\n]# Tools\nTOOL\nTOOL<|end|><|user|>TEXT<|end|>...<|assistant|>
// Tools follow the first system message, or make a system turn of their own if there is none.
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

struct ToolCall {
  std::string name{};
  std::string arguments{};  // JSON text
};

enum class Role { kSystem, kUser, kAssistant, kTool };

struct Message {
  Role role = Role::kUser;
  std::string content{};
  std::vector<ToolCall> tool_calls{};
};

struct Conversation {
  std::vector<Message> messages{};
  std::vector<std::string> tools{};  // each as one line of JSON
};

// Reads the "messages" and "tools" of an OpenAI chat request. Errors (kInvalid) name the element, e.g.
// "messages[2].role".
[[nodiscard]] Result<Conversation> parse_conversation(const boost::json::object& request);

// The control tokens that the template writes; absent from a model that was made for another template.
struct ChatTokens {
  TokenId begin, end, system, user, assistant, tool;

  [[nodiscard]] static Result<ChatTokens> find(const Tokenizer& tokenizer);
};

// Token ids up to and including <|assistant|>. Message text never becomes a control token.
[[nodiscard]] std::vector<TokenId> render(const Conversation& conversation, const Tokenizer& tokenizer,
                                          const ChatTokens& tokens);

}  // namespace fireboss::engine
