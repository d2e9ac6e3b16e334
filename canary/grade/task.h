#pragma once
// What one reply is compared with. Made by the suite for a canary, or read from a written case
// ({"type": "exact_reply", "expected": ..., "prompt": ..., "max_tokens": ..., "schema": ...}).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "canary/suite/suite.h"

namespace fireboss::canary {

struct Task {
  TaskType type = TaskType::kExactReply;
  std::string text;                          // kExactReply; kCode without snippets
  std::vector<std::int64_t> integers;        // kIntSequence
  boost::json::value json;                   // kJson; kToolCall: the arguments
  std::string tool;                          // kToolCall: its name
  std::vector<std::string> snippets;         // kCode: all of them must be in the reply, untouched
  std::optional<boost::json::value> schema;  // kJson: tells a wrong shape from a wrong value
  std::optional<std::int64_t> max_tokens;    // the cap that was asked for
};

// Fields that are not known are ignored; a missing or ill-typed one is an error that names it.
[[nodiscard]] Result<Task> parse_task(const boost::json::value& json);

// The task behind a canary's own prompt.
[[nodiscard]] Task exact_task(const Prompt& prompt, std::int64_t max_tokens);

}  // namespace fireboss::canary
