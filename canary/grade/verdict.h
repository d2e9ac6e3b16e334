#pragma once
// The verdict on one reply. Order of the failure names = order of classification (design section 5).
#include <string_view>

namespace fireboss::canary {

enum class Verdict {
  kOk,
  kTimeout,
  kHttpError,
  kEncoding,
  kLeak,
  kRepetition,
  kTruncated,
  kEmpty,
  kToolCallMalformed,
  kJsonMalformed,
  kWrongAnswer,
};
// "ok", "http_error", "tool_call_malformed", ...
[[nodiscard]] std::string_view to_string(Verdict verdict);

// What the verdict means for the engine.
enum class Grade { kPass, kFail, kInconclusive };
[[nodiscard]] std::string_view to_string(Grade grade);

}  // namespace fireboss::canary
