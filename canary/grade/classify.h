#pragma once
// Names what is wrong with a whole reply that is not the expected one. Only called for unequal replies.
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "canary/grade/assemble.h"
#include "canary/grade/compare.h"
#include "canary/grade/task.h"
#include "canary/grade/verdict.h"

namespace fireboss::canary {

struct Finding {
  Verdict verdict = Verdict::kWrongAnswer;
  std::string reason;
  // The cap was used up by reasoning before the answer could be finished: the suite's fault, not the
  // engine's.
  bool budget = false;
};

[[nodiscard]] Finding classify(const Task& task, const Reply& reply, std::string_view content,
                               const Comparison& comparison, std::span<const std::string> special_tokens);

// Garbage that is no part of the compared value: encoding, leak, repetition, in this order. Also for what
// came of a reply that broke off, and for what stands around a code reply's snippets or beside a right tool
// call.
[[nodiscard]] std::optional<Finding> garbage(const Task& task, const Reply& reply, std::string_view content,
                                             std::span<const std::string> special_tokens);

}  // namespace fireboss::canary
