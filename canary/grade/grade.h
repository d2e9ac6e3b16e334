#pragma once
// Names what one reply is worth. Pure: the same inputs give the same verdict, whenever it is asked.
//
// The order is the rule (design section 5): transport first, then the whole reply is put together, then it is
// compared with the expected value by type. Equal is ok and nothing overrules it; only an unequal reply is
// looked at for what went wrong.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "canary/grade/response.h"
#include "canary/grade/task.h"
#include "canary/grade/verdict.h"

namespace fireboss::canary {

// Beside the verdict; they alert only when sustained. None: the reply did not tell.
struct Signals {
  std::optional<std::string> finish_reason;  // of a reply that has one
  bool finish_reason_length = false;
  std::optional<std::int64_t> prompt_tokens, completion_tokens, reasoning_tokens, cached_tokens;
  std::optional<std::int64_t> tokens_over_expected;  // more than the expected text can take, reasoning apart
  std::optional<std::int64_t> latency_ms, first_byte_ms;
  std::optional<std::int64_t> tokens_per_second_milli;  // 12,500 = 12.5 tokens a second
  bool logprob_null = false;       // a log-probability that is no number: how some engines write NaN
  bool duplicate_keys = false;     // JSON with a key twice, both with the same value
  bool unasked_reasoning = false;  // a reasoning field although the suite says there is none
};

struct Graded {
  Verdict verdict = Verdict::kWrongAnswer;
  Grade grade = Grade::kFail;
  // kInconclusive: one word, as in "inconclusive:busy". Else words for people; "" for a pass.
  std::string reason;
  Signals signals;
  // A nonce that was issued to another call and stands in this reply: contamination, degraded by itself.
  std::optional<std::string> foreign_nonce;
  std::string model, system_fingerprint;  // as the reply claims; "" if it does not
};

struct GradeOptions {
  Reasoning reasoning = Reasoning::kNone;
  std::span<const std::string> special_tokens;  // beyond the built-in ones
  // Whether that exact nonce was issued by us within the window; not called for the task's own.
  std::function<bool(std::string_view)> issued;
};

[[nodiscard]] Graded grade(const Task& task, const Response& response, const GradeOptions& options = {});

// Kept with every decision: changes whenever a verdict could.
[[nodiscard]] std::string_view grader_version();

// "ok", a failing verdict's name, "inconclusive:REASON" or "foreign_nonce": the spelling that the policy
// takes and that histories are written in.
[[nodiscard]] std::string result_text(const Graded& graded);
// Every call of a run whose life changed under it.
[[nodiscard]] std::string inconclusive_text(std::string_view reason);

// The signals as JSON with whole numbers only; unknown ones are left out.
[[nodiscard]] boost::json::object to_json(const Signals& signals);

// One line of a written case file {"id", "task", "response"} -> {"id", "verdict", "grade", "signals",
// "reason"}. The error says what is wrong with the line; the caller adds its number.
[[nodiscard]] Result<boost::json::object> grade_case(std::string_view line);

}  // namespace fireboss::canary
