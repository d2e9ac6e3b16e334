#include "canary/grade/verdict.h"

namespace fireboss::canary {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kTimeout:
      return "timeout";
    case Verdict::kHttpError:
      return "http_error";
    case Verdict::kEncoding:
      return "encoding";
    case Verdict::kLeak:
      return "leak";
    case Verdict::kRepetition:
      return "repetition";
    case Verdict::kTruncated:
      return "truncated";
    case Verdict::kEmpty:
      return "empty";
    case Verdict::kToolCallMalformed:
      return "tool_call_malformed";
    case Verdict::kJsonMalformed:
      return "json_malformed";
    case Verdict::kWrongAnswer:
      return "wrong_answer";
  }
  return "wrong_answer";
}

std::string_view to_string(Grade grade) {
  switch (grade) {
    case Grade::kPass:
      return "pass";
    case Grade::kFail:
      return "fail";
    case Grade::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

}  // namespace fireboss::canary
