#pragma once
// Does a reply show what belongs to the chat template and not to the answer?
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fireboss::canary {

enum class TextKind {
  kProse,     // an exact reply, integers, JSON
  kToolTask,  // content beside or instead of a tool call: a call written as text is not a leak
  kCode,      // only marks that no programming language has
};

// Special tokens (whole or broken), template marks, think tags and role words that stand more often in `text`
// than in `expected`. Returns the first one found, for people.
[[nodiscard]] std::optional<std::string> leak(std::string_view text, std::string_view expected, TextKind kind,
                                              std::span<const std::string> special_tokens = {});

// The marks in which models write tool calls: a call that the engine's parser let through as text.
[[nodiscard]] bool has_tool_markup(std::string_view text);

}  // namespace fireboss::canary
