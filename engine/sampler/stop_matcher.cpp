#include "engine/sampler/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace fireboss::engine {

std::string StopMatcher::push(std::string_view piece) {
  if (matched_) {
    return {};
  }
  held_ += piece;
  std::size_t first_end = std::string::npos;
  std::size_t begin = 0;
  for (const auto& stop : stops_) {
    const auto at = held_.find(stop);
    // Of two that end at the same place, the one that begins earlier.
    if (at != std::string::npos && (first_end == std::string::npos || at + stop.size() < first_end ||
                                    (at + stop.size() == first_end && at < begin))) {
      first_end = at + stop.size();
      begin = at;
      matched_ = stop;
    }
  }
  if (matched_) {
    held_.resize(begin);
    return std::exchange(held_, {});
  }
  std::size_t hold = 0;
  for (const auto& stop : stops_) {
    for (std::size_t size = std::min(stop.size() - 1, held_.size()); size > hold; --size) {
      if (std::string_view(held_).substr(held_.size() - size) == std::string_view(stop).substr(0, size)) {
        hold = size;
      }
    }
  }
  std::string out = held_.substr(0, held_.size() - hold);
  held_.erase(0, out.size());
  return out;
}

std::string StopMatcher::finish() {
  return std::exchange(held_, {});
}

}  // namespace fireboss::engine
