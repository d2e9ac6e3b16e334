#pragma once
// Splits a reply that arrives in pieces into text and tool calls: <tool_call>{"name": ..., "arguments":
// {...}}
// </tool_call>. What looks like a call but cannot be read as one stays text.
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/conversation.h"
#include "engine/chat/utf8_stream.h"

namespace fireboss::engine {

struct ReplyPart {
  std::string content{};  // valid UTF-8
  std::vector<ToolCall> calls{};
};

class ReplySplitter {
 public:
  // `tools` false: everything is text.
  explicit ReplySplitter(bool tools) : tools_(tools) {}

  [[nodiscard]] ReplyPart push(std::string_view bytes);
  [[nodiscard]] ReplyPart finish();

 private:
  ReplyPart split(std::string_view text);

  bool tools_;
  bool inside_ = false;  // held_ begins after <tool_call>
  std::string held_{};
  Utf8Stream utf8_;
};

}  // namespace fireboss::engine
