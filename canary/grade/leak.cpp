#include "canary/grade/leak.h"

#include <array>

#include <re2/re2.h>

#include "canary/grade/text.h"

namespace fireboss::canary {
namespace {

// Marks that nothing but a chat template writes. One family a line; a family's whole form is matched, not a
// list of its members, because every release adds some.
constexpr const char* kTokens =
    // ChatML, Qwen, Llama 3, Phi, GLM, Harmony (gpt-oss), Kimi, Granite, Command R, Falcon, StarCoder
    R"((<\s?\|\s?[^|<>\n]{1,64}\s?\|\s?>)"
    // DeepSeek: full-width bars, words joined by U+2581
    R"(|<\s?｜\s?[^｜<>\n]{1,64}\s?｜\s?>)"
    // Llama 2, Mistral
    R"(|\[/?INST\]|<</?SYS>>)"
    R"(|\[/?(?:TOOL_CALLS?|TOOL_RESULTS|AVAILABLE_TOOLS|TOOL_CONTENT|SYSTEM_PROMPT|THINK|ARGS|CALL_ID|MODEL_SETTINGS|IMG|IMG_BREAK|IMG_END|PREFIX|SUFFIX|MIDDLE)\])"
    // ChatGLM, BERT-like, llama.cpp's names for unused and unknown ids
    R"(|\[(?:[gs]?MASK|CLS|SEP|BOS|EOS|EOT|EOP|SOP)\]|\[PAD\d*\]|\[UNK(?:_BYTE_0x[0-9A-Fa-f]+)?[^\]\n]{0,8}\])"
    // Gemma, T5, Nemotron, Llama and Qwen fill-in, vision markers
    R"(|<(?:begin|start|end)_of_[a-z_]+>|<unused_?\d+>|<extra_id_\d+>|<extra_\d+>|<SPECIAL_\d+>|<reserved_\w*\d+>)"
    R"(|<[A-Z_]+_TOKEN>|<fim_[a-z]+>|<endoftext>|<image_soft_token>|<\|[a-z_]{2,32}>|<[a-z_]{2,32}\|>)"
    // Kimi-VL
    R"(|◁/?[a-z]+▷)"
    // SentencePiece and byte-level BPE pieces that were never decoded
    R"(|▁|Ġ|Ċ))";

// The same, but a programming language or HTML may have them too.
constexpr const char* kAmbiguousTokens =
    R"((</?s>|</?(?:unk|pad|bos|eos|mask|cls|sep|sop|eop|eod)>)"
    R"(|(?:</?|/)(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|seed:think|mm:think)>)"
    // Half of a mark: its other half was cut off or eaten.
    R"(|<\|[a-z][a-z_]{2,32}|[a-z_]{2,32}\|>|<[|｜]\s*$)"
    // The names without their brackets.
    R"(|(?:im_start|im_end|im_sep|im_middle|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end_of_text)\b)"
    R"(|(?:endoftext|endofprompt|start_of_turn|end_of_turn|start_of_role|end_of_role|begin_of_sentence|end_of_sentence)\b))";

constexpr const char* kToolMarks =
    R"((</?(?:tool_calls?|tool_response|function_calls?|tools|TOOLCALL|tool_code|arg_key|arg_value|longcat_tool_call)>)"
    R"(|</?[a-z]+:(?:tool_calls?|function_calls?|invoke)\b[^>\n]*>)"
    R"(|<function=|</function>|<parameter=|</parameter>|<invoke\s|</invoke>|functools\[|\bto=functions\.)"
    R"(|<\|?/?tool[^<>\n]{0,48}>|<[|｜][^<>\n]{0,24}(?:tool|python_tag|action_|plugin|DSML)[^<>\n]{0,64}>|\[/?TOOL_CALLS?\]))";

constexpr const char* kRoles =
    "(?:assistant|user|system|tool|model|human|developer|ipython|observation|environment|bot)";

const RE2& token_pattern() {
  static const RE2 pattern(kTokens);
  return pattern;
}
const RE2& ambiguous_pattern() {
  static const RE2 pattern(std::string("(?m)") + kAmbiguousTokens);
  return pattern;
}
const RE2& tool_pattern() {
  static const RE2 pattern(kToolMarks);
  return pattern;
}

// A turn's header whose special tokens were skipped in decoding: the role alone on its line, glued behind a
// sign that ends no lower-case word ("ecosystem" is one), or as a transcript's label.
const RE2& role_pattern() {
  static const RE2 pattern(std::string("(?m)(") +
                           // alone on a line
                           "^[ \\t]*(?i:" + kRoles + ")[ \\t]*:?[ \\t]*$" +
                           // glued, then the line ends
                           "|\\S(?:assistant)\\s*$|[^\\sa-z_/\\\\-]" + kRoles + "\\s*$" +
                           // Harmony's channels behind the role
                           "|assistant(?:final|analysis|commentary)|\\A(?:analysis|commentary)[A-Z{\"]" +
                           // transcripts
                           "|^#{2,3} ?(?:Instruction|Response|Input|Human|Assistant|User|System)\\b:?" +
                           "|^(?:USER|ASSISTANT|SYSTEM|Human|User|Assistant|System): ?)");
  return pattern;
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++found;
  }
  return found;
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

// The first match that stands in `text` more often than in `expected`.
std::optional<std::string> unexpected(const RE2& pattern, std::string_view text, std::string_view expected) {
  re2::StringPiece rest = piece(text);
  re2::StringPiece match;
  while (RE2::FindAndConsume(&rest, pattern, &match)) {
    const std::string_view found(match.data(), match.size());
    if (count(text, found) > count(expected, found)) {
      return std::string(found);
    }
  }
  return std::nullopt;
}

// The right answer with a role word before or behind it: "PONG-7F3Aassistant", "assistant PONG-7F3A".
std::optional<std::string> role_beside_answer(std::string_view text, std::string_view expected) {
  const std::string_view whole = trim(text);
  const std::string_view answer = trim(expected);
  if (answer.empty()) {
    return std::nullopt;
  }
  re2::StringPiece role;
  const std::size_t at = whole.find(answer);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  static const RE2 glued(std::string("\\A((?i:") + kRoles + "|commentary|analysis))");
  static const RE2 before(std::string("((?i:") + kRoles + "|final)[ :\\n]*)\\z");
  const std::string_view after = whole.substr(at + answer.size());
  if (RE2::PartialMatch(piece(after), glued, &role)) {
    return std::string(role.data(), role.size());
  }
  static const RE2 spaced(std::string("\\A[ \\t]+((?i:") + kRoles + "))(?:\\s*\\z|\\s*\\n|:)");
  if (RE2::PartialMatch(piece(after), spaced, &role)) {
    return std::string(role.data(), role.size());
  }
  if (at > 0 && at <= 16 && RE2::FullMatch(piece(whole.substr(0, at)), before, &role)) {
    return std::string(role.data(), role.size());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> leak(std::string_view text, std::string_view expected, TextKind kind,
                                std::span<const std::string> special_tokens) {
  for (const std::string& token : special_tokens) {
    if (!token.empty() && count(text, token) > count(expected, token)) {
      return token;
    }
  }
  // A call written as text, in a task that asks for one, is a malformed call: its marks are taken out first.
  std::string without_calls(text);
  if (kind == TextKind::kToolTask) {
    RE2::GlobalReplace(&without_calls, tool_pattern(), " ");
    text = without_calls;
  }
  if (auto found = unexpected(token_pattern(), text, expected)) {
    return found;
  }
  if (kind == TextKind::kCode) {
    return std::nullopt;
  }
  if (auto found = unexpected(ambiguous_pattern(), text, expected)) {
    return found;
  }
  if (kind == TextKind::kProse) {
    if (auto found = unexpected(tool_pattern(), text, expected)) {
      return found;
    }
  }
  if (auto found = unexpected(role_pattern(), text, expected)) {
    return found;
  }
  return role_beside_answer(text, expected);
}

bool has_tool_markup(std::string_view text) {
  return RE2::PartialMatch(piece(text), tool_pattern());
}

}  // namespace fireboss::canary
