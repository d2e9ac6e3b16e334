#pragma once
// From a row of logits to a token, and to log-probabilities. Pure: the same seed and rows give the same
// tokens.
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

struct Sampling {
  double temperature = 0;  // 0: greedy, the lowest id among equals
  double top_p = 1;        // in (0, 1]: the smallest set of likeliest tokens with at least this probability
  std::size_t top_k = 0;   // 0: no limit
  std::uint64_t seed = 0;
};

class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), random_(sampling.seed) {}

  // kInternal when the row holds a NaN or nothing but minus infinity: such a row has no right token, and any
  // choice from it would be a wrong answer that looks like a good one.
  [[nodiscard]] Result<TokenId> pick(std::span<const float> logits);

 private:
  Sampling sampling_;
  std::mt19937_64 random_;
};

struct Logprob {
  TokenId token = 0;
  double value = 0;  // natural logarithm, before temperature and top_p
};

struct TokenLogprobs {
  Logprob chosen;
  std::vector<Logprob> top{};  // likeliest first
};

// Log-probabilities of `chosen` and of the `count` likeliest tokens of a row without NaN.
[[nodiscard]] TokenLogprobs log_probabilities(std::span<const float> logits, TokenId chosen,
                                              std::size_t count);

}  // namespace fireboss::engine
