#include "engine/faults/garble.h"

namespace fireboss::engine {

Garbler::Step Garbler::next(TokenId own, bool ends) {
  if (!active_) {
    return {.token = ends ? std::nullopt : std::optional(own), .spoiled = false};
  }
  spoiling_ = spoiling_ || ends || (plan_.own_tokens && passed_ >= *plan_.own_tokens);
  if (!spoiling_) {
    ++passed_;
    last_ = own;
    return {.token = own, .spoiled = false};
  }
  if (placed_ < plan_.tokens.size()) {
    last_ = plan_.tokens[placed_++];
    return {.token = last_, .spoiled = true};
  }
  if (plan_.repeat_last) {
    last_ = last_ < 0 ? own : last_;
    return {.token = last_, .spoiled = true};
  }
  return {.token = std::nullopt, .spoiled = true};
}

}  // namespace fireboss::engine
