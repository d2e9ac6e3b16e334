#include "canary/grade/grade.h"

#include "canary/grade/assemble.h"
#include "canary/grade/classify.h"
#include "canary/grade/compare.h"
#include "canary/grade/text.h"
#include "canary/suite/ask.h"

namespace fireboss::canary {
namespace {

// Every token is a byte at least; the rest is for the tokens that end a reply or open a turn.
constexpr std::int64_t kTokensBesideText = 8;

Signals signals_of(const Task& task, const Response& response, const Reply& reply, Reasoning reasoning) {
  Signals signals;
  if (!reply.finish_reason.empty()) {
    signals.finish_reason = reply.finish_reason;
  }
  signals.finish_reason_length = reply.finish_reason == "length" || reply.finish_reason == "max_tokens";
  signals.prompt_tokens = reply.usage.prompt_tokens;
  signals.completion_tokens = reply.usage.completion_tokens;
  signals.reasoning_tokens = reply.usage.reasoning_tokens;
  signals.cached_tokens = reply.usage.cached_tokens;
  signals.logprob_null = reply.logprob_null;
  signals.unasked_reasoning = reasoning == Reasoning::kNone && !trim(reply.reasoning).empty();
  if (response.latency) {
    signals.latency_ms = response.latency->count();
  }
  if (response.first_byte) {
    signals.first_byte_ms = response.first_byte->count();
  }
  if (const auto& tokens = reply.usage.completion_tokens) {
    const bool uncounted_reasoning = !trim(reply.reasoning).empty() && !reply.usage.reasoning_tokens;
    const auto bytes = static_cast<std::int64_t>(expected_text(task).size());
    const std::int64_t over = *tokens - reply.usage.reasoning_tokens.value_or(0) - bytes - kTokensBesideText;
    if (over > 0 && !uncounted_reasoning) {
      signals.tokens_over_expected = over;
    }
    if (response.latency && response.latency->count() > 0) {
      signals.tokens_per_second_milli = *tokens * 1'000'000 / response.latency->count();
    }
  }
  return signals;
}

// An exact nonce of another call. The nonce of this one is not foreign, wherever it stands.
std::optional<std::string> foreign_nonce_in(std::string_view text, const Task& task,
                                            const GradeOptions& options) {
  if (!options.issued) {
    return std::nullopt;
  }
  const std::string own = expected_text(task);
  for (const std::string_view nonce : nonces_in(text)) {
    if (own.find(nonce) == std::string::npos && options.issued(nonce)) {
      return std::string(nonce);
    }
  }
  return std::nullopt;
}

std::optional<std::string> foreign_nonce(const Reply& reply, const Task& task, const GradeOptions& options) {
  for (const std::string* text : {&reply.content, &reply.reasoning, &reply.refusal}) {
    if (auto found = foreign_nonce_in(*text, task, options)) {
      return found;
    }
  }
  for (const ToolCall& call : reply.tool_calls) {
    if (auto found = foreign_nonce_in(call.name + " " + call.arguments, task, options)) {
      return found;
    }
  }
  return std::nullopt;
}

void apply(Graded& graded, Finding finding) {
  graded.verdict = finding.verdict;
  graded.grade = finding.budget ? Grade::kInconclusive : Grade::kFail;
  graded.reason = finding.budget ? "budget" : std::move(finding.reason);
}

// Nothing overrules equality. Of a code reply, though, only snippets were compared, and of a tool task only
// the call: what stands around them is looked at as well.
std::optional<Finding> around(const Task& task, const Reply& reply, std::string_view content,
                              const GradeOptions& options) {
  const bool compared_in_part =
      task.type == TaskType::kToolCall || (task.type == TaskType::kCode && !task.snippets.empty());
  if (!compared_in_part || trim(content).empty()) {
    return std::nullopt;
  }
  Reply beside;
  beside.content = reply.content;
  return garbage(task, beside, content, options.special_tokens);
}

}  // namespace

Graded grade(const Task& task, const Response& response, const GradeOptions& options) {
  Assembled assembled = assemble(response);
  Reply& reply = assembled.reply;
  const Split split = split_reasoning(reply.content, options.reasoning);
  reply.reasoning += split.reasoning;
  const std::string content(split.content);

  Graded graded;
  graded.signals = signals_of(task, response, reply, options.reasoning);
  graded.model = reply.model;
  graded.system_fingerprint = reply.system_fingerprint;
  if (assembled.fault) {
    graded.verdict = assembled.fault->verdict;
    graded.grade = assembled.fault->grade;
    graded.reason = assembled.fault->reason;
    // A slow or endless answer proves nothing, but garbage in what came of it does.
    if (graded.grade == Grade::kInconclusive && !content.empty()) {
      if (auto found = garbage(task, reply, content, options.special_tokens)) {
        apply(graded, std::move(*found));
      }
    }
    graded.foreign_nonce = foreign_nonce(reply, task, options);
    return graded;
  }
  const Comparison comparison = compare(task, reply, content);
  graded.signals.duplicate_keys = comparison.duplicate_keys;
  if (comparison.equal) {
    auto found = around(task, reply, content, options);
    if (!found) {
      graded.verdict = Verdict::kOk;
      graded.grade = Grade::kPass;
      return graded;
    }
    apply(graded, std::move(*found));
  } else {
    apply(graded, classify(task, reply, content, comparison, options.special_tokens));
  }
  graded.foreign_nonce = foreign_nonce(reply, task, options);
  return graded;
}

std::string_view grader_version() {
  return "1";
}

std::string inconclusive_text(std::string_view reason) {
  return "inconclusive:" + std::string(reason);
}

std::string result_text(const Graded& graded) {
  if (graded.foreign_nonce) {
    return "foreign_nonce";
  }
  switch (graded.grade) {
    case Grade::kPass:
    case Grade::kFail:
      return std::string(to_string(graded.verdict));
    case Grade::kInconclusive:
      return inconclusive_text(graded.reason);
  }
  return inconclusive_text("unknown");
}

boost::json::object to_json(const Signals& signals) {
  boost::json::object object;
  const auto put = [&](const char* key, const std::optional<std::int64_t>& value) {
    if (value) {
      object[key] = *value;
    }
  };
  const auto flag = [&](const char* key, bool value) {
    if (value) {
      object[key] = true;
    }
  };
  put("cached_tokens", signals.cached_tokens);
  put("completion_tokens", signals.completion_tokens);
  flag("duplicate_keys", signals.duplicate_keys);
  if (signals.finish_reason) {
    object["finish_reason"] = *signals.finish_reason;
  }
  flag("finish_reason_length", signals.finish_reason_length);
  put("first_byte_ms", signals.first_byte_ms);
  put("latency_ms", signals.latency_ms);
  flag("logprob_null", signals.logprob_null);
  put("prompt_tokens", signals.prompt_tokens);
  put("reasoning_tokens", signals.reasoning_tokens);
  put("tokens_over_expected", signals.tokens_over_expected);
  put("tokens_per_second_milli", signals.tokens_per_second_milli);
  flag("unasked_reasoning", signals.unasked_reasoning);
  return object;
}

}  // namespace fireboss::canary
