#include "canary/grade/compare.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <boost/json/serialize.hpp>

#include "canary/grade/json_text.h"
#include "canary/grade/leak.h"
#include "canary/grade/schema.h"
#include "canary/grade/text.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;

bool is_proper_beginning(std::string_view part, std::string_view whole) {
  return part.size() < whole.size() && whole.substr(0, part.size()) == part;
}

Comparison compare_text(std::string_view expected, const Reply& reply, std::string_view content) {
  const std::string_view is = trim(content);
  const std::string_view should = trim(expected);
  if (!reply.tool_calls.empty()) {
    return {.detail = "a tool call that was not asked for"};
  }
  return {.equal = is == should, .right_so_far = is_proper_beginning(is, should), .detail = {}};
}

struct Integers {
  std::vector<std::int64_t> values;
  bool clean = true;  // nothing but integers and what separates them
};

// Integers separated by white space, commas or semicolons; brackets around all of them and a full stop behind
// one are harmless.
Integers read_integers(std::string_view text, std::size_t limit) {
  Integers result;
  std::string_view rest = trim(text);
  if (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
  }
  while (!rest.empty()) {
    const char c = rest.front();
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ';') {
      rest.remove_prefix(1);
      continue;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || result.values.size() > limit) {
      result.clean = false;
      return result;
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (!rest.empty() && rest.front() == '.' && (rest.size() == 1 || rest[1] == ' ' || rest[1] == '\n')) {
      rest.remove_prefix(1);
    }
    result.values.push_back(value);
    constexpr std::string_view kEnds = " \t\n\r,;";
    if (!rest.empty() && kEnds.find(rest.front()) == std::string_view::npos) {
      result.clean = false;
      return result;
    }
  }
  return result;
}

Comparison compare_integers(const Task& task, const Reply& reply, std::string_view content) {
  if (!reply.tool_calls.empty()) {
    return {.detail = "a tool call that was not asked for"};
  }
  const Integers is = read_integers(content, task.integers.size());
  Comparison result{.equal = is.clean && is.values == task.integers, .detail = {}};
  if (!result.equal && is.clean && !is.values.empty() && is.values.size() <= task.integers.size()) {
    // The last one may be cut off in its middle: "1, 2, 3, 1" for 1 to 40 up to 13.
    const std::size_t whole = is.values.size() - 1;
    const std::string last = std::to_string(is.values[whole]);
    const std::string should = std::to_string(task.integers[whole]);
    result.right_so_far = std::equal(is.values.begin(), is.values.end() - 1, task.integers.begin()) &&
                          should.compare(0, last.size(), last) == 0;
  }
  return result;
}

Comparison compare_json_text(std::string_view text, const json::value& expected,
                             const std::optional<json::value>& schema) {
  boost::system::error_code error;
  const std::optional<Canonical> is = canonical(trim(text), error);
  if (!is) {
    return {.right_so_far = is_cut_off(error), .malformed = true, .detail = error.message()};
  }
  if (is->conflict) {
    return {.malformed = true, .detail = "a key twice with different values"};
  }
  if (is->text == canonical(expected)) {
    return {.equal = true, .duplicate_keys = is->duplicate_keys, .detail = {}};
  }
  const std::optional<json::value> value = parse_lenient(trim(text), error);
  if (!value) {
    return {.malformed = true, .detail = error.message()};
  }
  if (schema) {
    if (auto mismatch = schema_mismatch(*value, *schema)) {
      return {.malformed = true, .detail = "schema_mismatch: " + *mismatch};
    }
  } else if (!same_shape(*value, expected)) {
    return {.malformed = true, .detail = "schema_mismatch: not the expected keys and types"};
  }
  return {.detail = "well-formed, but another value"};
}

Comparison compare_json(const Task& task, const Reply& reply, std::string_view content) {
  if (!reply.tool_calls.empty()) {
    return {.detail = "a tool call that was not asked for"};
  }
  return compare_json_text(content, task.json, task.schema);
}

// A name that is the expected one with something lost or added was damaged; any other was chosen.
bool is_damaged_name(std::string_view name, std::string_view expected) {
  const bool identifier = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  });
  return name.empty() || !identifier || name.find(expected) != std::string_view::npos ||
         expected.find(name) != std::string_view::npos;
}

Comparison compare_tool_call(const Task& task, const Reply& reply, std::string_view content) {
  if (reply.tool_calls.empty()) {
    const bool written_out = reply.legacy_function_call || has_tool_markup(content) ||
                             content.find(task.tool) != std::string_view::npos ||
                             content.find("\"arguments\"") != std::string_view::npos;
    return {.malformed = written_out, .detail = written_out ? "the call stands in the text" : "no tool call"};
  }
  if (reply.tool_calls.size() > 1) {
    return {.malformed = true,
            .detail = std::to_string(reply.tool_calls.size()) + " tool calls instead of one"};
  }
  const ToolCall& call = reply.tool_calls.front();
  if (!call.arguments_are_text) {
    return {.malformed = true, .detail = "arguments are no text"};
  }
  Comparison result = compare_json_text(call.arguments, task.json, std::nullopt);
  if (call.name != task.tool) {
    const bool damaged = result.malformed || is_damaged_name(call.name, task.tool);
    return {.malformed = damaged, .detail = "another tool's name"};
  }
  return result;
}

Comparison compare_code(const Task& task, const Reply& reply, std::string_view content) {
  if (task.snippets.empty()) {
    return compare_text(task.text, reply, content);
  }
  const bool all = std::all_of(task.snippets.begin(), task.snippets.end(), [&](const std::string& snippet) {
    return content.find(snippet) != std::string_view::npos;
  });
  // Which snippets a cut-off reply would still have had nobody can tell.
  return {.equal = all && reply.tool_calls.empty(), .right_so_far = !all, .detail = {}};
}

}  // namespace

Comparison compare(const Task& task, const Reply& reply, std::string_view content) {
  switch (task.type) {
    case TaskType::kExactReply:
      return compare_text(task.text, reply, content);
    case TaskType::kIntSequence:
      return compare_integers(task, reply, content);
    case TaskType::kJson:
      return compare_json(task, reply, content);
    case TaskType::kToolCall:
      return compare_tool_call(task, reply, content);
    case TaskType::kCode:
      return compare_code(task, reply, content);
  }
  return {};
}

std::string expected_text(const Task& task) {
  switch (task.type) {
    case TaskType::kExactReply:
      return task.text;
    case TaskType::kIntSequence: {
      std::string text;
      for (const std::int64_t value : task.integers) {
        text += (text.empty() ? "" : ", ") + std::to_string(value);
      }
      return text;
    }
    case TaskType::kJson:
      return json::serialize(task.json);
    case TaskType::kToolCall:
      return task.tool + " " + json::serialize(task.json);
    case TaskType::kCode: {
      std::string text = task.text;
      for (const std::string& snippet : task.snippets) {
        text += (text.empty() ? "" : "\n") + snippet;
      }
      return text;
    }
  }
  return {};
}

Split split_reasoning(std::string_view content, Reasoning reasoning) {
  if (reasoning != Reasoning::kInlineTags) {
    return {{}, content};
  }
  constexpr std::string_view kPairs[][2] = {{"<think>", "</think>"},     {"<thinking>", "</thinking>"},
                                            {"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"},
                                            {"[THINK]", "[/THINK]"},     {"◁think▷", "◁/think▷"}};
  for (const auto& [open, close] : kPairs) {
    const std::size_t end = content.find(close);
    if (end != std::string_view::npos) {
      return {content.substr(0, end), content.substr(end + close.size())};
    }
    if (trim(content).substr(0, open.size()) == open) {
      return {content, {}};
    }
  }
  return {{}, content};
}

}  // namespace fireboss::canary
