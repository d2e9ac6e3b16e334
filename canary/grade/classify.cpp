#include "canary/grade/classify.h"

#include <boost/json/serialize.hpp>

#include "canary/grade/json_text.h"
#include "canary/grade/leak.h"
#include "canary/grade/repetition.h"
#include "canary/grade/text.h"

namespace fireboss::canary {
namespace {

TextKind kind_of(const Task& task) {
  switch (task.type) {
    case TaskType::kExactReply:
    case TaskType::kIntSequence:
    case TaskType::kJson:
      return TextKind::kProse;
    case TaskType::kToolCall:
      return TextKind::kToolTask;
    case TaskType::kCode:
      return TextKind::kCode;
  }
  return TextKind::kProse;
}

// The strings of a JSON text: "\u0000" and "\ud83d" hide behind escapes.
std::string strings_of(std::string_view text) {
  boost::system::error_code error;
  const std::optional<Canonical> value = canonical(trim(text), error);
  return value ? value->strings : std::string{};
}

std::string without_snippets(const Task& task, std::string_view content) {
  std::string rest(content);
  for (const std::string& snippet : task.snippets) {
    const std::size_t at = rest.find(snippet);
    if (!snippet.empty() && at != std::string::npos) {
      rest.replace(at, snippet.size(), " ");
    }
  }
  return rest;
}

bool is_blank(std::string_view text) {
  return trim(text).empty();
}

std::optional<Finding> encoding_of(std::string_view text, const std::string& expected) {
  if (auto fault = encoding_fault(text, expected)) {
    return Finding{Verdict::kEncoding, std::move(*fault)};
  }
  return std::nullopt;
}

std::optional<Finding> any_encoding_fault(const Task& task, const Reply& reply, std::string_view text,
                                          std::string expected) {
  const bool is_json = task.type == TaskType::kJson || task.type == TaskType::kToolCall;
  if (is_json) {
    expected += "\n" + strings_of(boost::json::serialize(task.json));
  }
  auto found = encoding_of(text, expected);
  if (!found && task.type == TaskType::kJson) {
    found = encoding_of(strings_of(text), expected);
  }
  for (const ToolCall& call : reply.tool_calls) {
    if (!found) {
      found = encoding_of(call.name + "\n" + call.arguments + "\n" + strings_of(call.arguments), expected);
    }
  }
  if (!found && is_blank(text)) {
    found = encoding_of(reply.reasoning, expected);
  }
  return found;
}

std::optional<Finding> any_leak(const Task& task, const Reply& reply, std::string_view text,
                                const std::string& expected, std::span<const std::string> special_tokens) {
  auto found = leak(text, expected, kind_of(task), special_tokens);
  for (const ToolCall& call : reply.tool_calls) {
    if (!found) {
      found = leak(call.name, task.tool, TextKind::kProse, special_tokens);
    }
    if (!found) {
      found = leak(call.arguments, expected, TextKind::kToolTask, special_tokens);
    }
  }
  if (!found) {
    return std::nullopt;
  }
  return Finding{Verdict::kLeak, "'" + *found + "' in the reply"};
}

std::optional<Finding> any_repetition(const Reply& reply, std::string_view text,
                                      const std::string& expected) {
  auto found = repetition(text, expected);
  for (const ToolCall& call : reply.tool_calls) {
    if (!found) {
      found = repetition(call.arguments, expected);
    }
  }
  if (!found && is_blank(text)) {
    found = repetition(reply.reasoning, {});
  }
  if (!found && reply.finish_reason != "repetition") {
    return std::nullopt;
  }
  return Finding{Verdict::kRepetition, found ? "the last " + std::to_string(found->length) +
                                                   " characters repeat every " + std::to_string(found->period)
                                             : "the engine says so"};
}

struct Cap {
  bool known = false;    // tokens counted against a cap that we know
  bool reached = false;  // by the count or by finish_reason
};

Cap cap_of(const Task& task, const Reply& reply) {
  const bool says_length = reply.finish_reason == "length" || reply.finish_reason == "max_tokens";
  if (!task.max_tokens || !reply.usage.completion_tokens) {
    return {task.max_tokens.has_value() && says_length, says_length};
  }
  // The finish reason may lie in either direction; the count does not.
  const bool at_cap = *reply.usage.completion_tokens >= *task.max_tokens;
  return {at_cap, at_cap || says_length};
}

}  // namespace

std::optional<Finding> garbage(const Task& task, const Reply& reply, std::string_view content,
                               std::span<const std::string> special_tokens) {
  const std::string expected = expected_text(task);
  const std::string text = without_snippets(task, content);
  if (auto found = any_encoding_fault(task, reply, text, expected)) {
    return found;
  }
  const std::string beside = task.snippets.empty() ? expected : std::string{};
  if (auto found = any_leak(task, reply, text, beside, special_tokens)) {
    return found;
  }
  return any_repetition(reply, text, expected);
}

Finding classify(const Task& task, const Reply& reply, std::string_view content, const Comparison& comparison,
                 std::span<const std::string> special_tokens) {
  if (auto found = garbage(task, reply, content, special_tokens)) {
    return *found;
  }
  const Cap cap = cap_of(task, reply);
  const bool nothing = is_blank(content) && reply.tool_calls.empty() && reply.refusal.empty();
  const bool cut = comparison.right_so_far || nothing;
  if (cap.known || (cap.reached && cut)) {
    const bool reasoned = !is_blank(reply.reasoning) || reply.usage.reasoning_tokens.value_or(0) > 0;
    return {Verdict::kTruncated, "the cap on tokens was reached", reasoned && cut};
  }
  if (nothing) {
    return {Verdict::kEmpty, reply.legacy_function_call ? "function_call instead of tool_calls" : "no text"};
  }
  if (comparison.malformed) {
    return {task.type == TaskType::kToolCall ? Verdict::kToolCallMalformed : Verdict::kJsonMalformed,
            comparison.detail};
  }
  return {Verdict::kWrongAnswer, comparison.detail.empty() ? "not the expected text" : comparison.detail};
}

}  // namespace fireboss::canary
