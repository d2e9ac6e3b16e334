#pragma once
// How a drill spoils one reply: what is put in place of the model's own tokens, and from where on. Pure.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

struct GarblePlan {
  // Number of the model's own tokens that are let through; nullopt: all, up to the end of the reply.
  std::optional<std::size_t> own_tokens{};
  std::vector<TokenId> tokens{};  // what follows; control tokens among them are shown as text
  bool repeat_last = false;       // then the last token again and again, until the limit of the request
};

// Walks one reply along its plan.
class Garbler {
 public:
  struct Step {
    std::optional<TokenId> token;  // nullopt: the reply ends here
    bool spoiled = false;          // the token is not the model's own
  };

  Garbler() = default;
  explicit Garbler(GarblePlan plan) : plan_(std::move(plan)), active_(true) {}

  // What to emit where the model chose `own`; `ends` says that this token would end the reply.
  [[nodiscard]] Step next(TokenId own, bool ends);

 private:
  GarblePlan plan_;
  bool active_ = false;
  bool spoiling_ = false;
  std::size_t passed_ = 0;  // own tokens let through
  std::size_t placed_ = 0;  // of plan_.tokens
  TokenId last_ = -1;
};

}  // namespace fireboss::engine
