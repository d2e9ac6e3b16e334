#pragma once
// Equality of a whole reply with what was expected, by type; and, for an unequal one, how near it came.
#include <string>
#include <string_view>

#include "canary/grade/assemble.h"
#include "canary/grade/task.h"
#include "canary/suite/suite.h"

namespace fireboss::canary {

struct Comparison {
  bool equal = false;
  // Unequal, but everything that is there is right so far: the answer was cut off.
  bool right_so_far = false;
  bool duplicate_keys = false;
  // kJson, kToolCall: the form itself is wrong, not only a value in it.
  bool malformed = false;
  std::string detail;  // for people
};

// `content` is the reply's content without reasoning that the suite says stands in it.
[[nodiscard]] Comparison compare(const Task& task, const Reply& reply, std::string_view content);

// The expected value as text: what may stand in a reply without being a fault.
[[nodiscard]] std::string expected_text(const Task& task);

// Reasoning::kInlineTags: what stands behind the closing think tag (the template may have written the opening
// one), nothing if it was never closed. Otherwise the content as it is.
struct Split {
  std::string_view reasoning, content;
};
[[nodiscard]] Split split_reasoning(std::string_view content, Reasoning reasoning);

}  // namespace fireboss::canary
