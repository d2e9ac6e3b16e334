#pragma once
// From raw bytes to one reply: the transport's faults first, then all deltas put together. The order of
// checks is the order of the rule: no bytes, status, error object, no end.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "canary/grade/response.h"
#include "canary/grade/verdict.h"

namespace fireboss::canary {

struct ToolCall {
  std::string name;
  std::string arguments;           // the text, as it came
  bool arguments_are_text = true;  // false: an object where the API says string
};

struct Usage {
  std::optional<std::int64_t> prompt_tokens, completion_tokens, reasoning_tokens, cached_tokens;
};

// A reply as a client would hold it. U+FFFD stands for whatever was no UTF-8.
struct Reply {
  std::string content, reasoning, refusal;
  std::vector<ToolCall> tool_calls;
  bool legacy_function_call = false;
  std::string finish_reason;  // "" = none came
  Usage usage;
  std::string model, system_fingerprint;
  bool logprob_null = false;
};

struct TransportFault {
  Verdict verdict = Verdict::kHttpError;
  Grade grade = Grade::kFail;
  std::string reason;  // one word if inconclusive
};

struct Assembled {
  Reply reply;                          // as far as it came
  std::optional<TransportFault> fault;  // none: the reply is whole
};

[[nodiscard]] Assembled assemble(const Response& response);

}  // namespace fireboss::canary
