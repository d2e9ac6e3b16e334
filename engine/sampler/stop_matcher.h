#pragma once
// Finds stop strings in a text that arrives in pieces, and never lets a part of one out.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fireboss::engine {

class StopMatcher {
 public:
  // No stop string may be empty.
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // Takes the next piece; returns the text that is now certain to belong to the reply. After a match it is
  // the text before the stop string, and later pieces are dropped.
  [[nodiscard]] std::string push(std::string_view piece);
  // What was held back at the end of the reply as the possible beginning of a stop string.
  [[nodiscard]] std::string finish();
  // The stop string that was found: the one that is complete first.
  [[nodiscard]] const std::optional<std::string>& matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  std::optional<std::string> matched_;
};

}  // namespace fireboss::engine
