#include "engine/sampler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace fireboss::engine {
namespace {

// Likeliest first, the lower id first among equals.
struct ByLogit {
  std::span<const float> logits;
  bool operator()(TokenId a, TokenId b) const {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  }
};

std::vector<TokenId> likeliest(std::span<const float> logits, std::size_t count) {
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  count = std::min(count, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    ByLogit{logits});
  ids.resize(count);
  return ids;
}

}  // namespace

Result<TokenId> Sampler::pick(std::span<const float> logits) {
  float highest = -std::numeric_limits<float>::infinity();
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) {
      return fail(ErrorCode::kInternal, fmt::format("the logit of token {} is NaN", i));
    }
    if (logits[i] > highest) {
      highest = logits[i];
      best = i;
    }
  }
  if (std::isinf(highest)) {
    return fail(ErrorCode::kInternal, highest > 0 ? "a logit is infinite" : "no token has a finite logit");
  }
  if (sampling_.temperature <= 0 || sampling_.top_k == 1) {
    return static_cast<TokenId>(best);
  }
  const auto ids = likeliest(logits, sampling_.top_k == 0 ? logits.size() : sampling_.top_k);
  std::vector<double> weights;
  weights.reserve(ids.size());
  for (const auto id : ids) {
    weights.push_back(std::exp((static_cast<double>(logits[static_cast<std::size_t>(id)]) - highest) /
                               sampling_.temperature));
  }
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0;
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < sampling_.top_p * all)) {
    kept += weights[count++];
  }
  // 53 random bits, so that the draw is the same with every standard library.
  double draw = static_cast<double>(random_() >> 11) * 0x1p-53 * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    draw -= weights[i];
    if (draw < 0) {
      return ids[i];
    }
  }
  return ids[count - 1];
}

TokenLogprobs log_probabilities(std::span<const float> logits, TokenId chosen, std::size_t count) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(static_cast<double>(logit) - highest);
  }
  const double shift = highest + std::log(sum);
  const auto of = [&](TokenId id) {
    return Logprob{id, static_cast<double>(logits[static_cast<std::size_t>(id)]) - shift};
  };
  TokenLogprobs out{.chosen = of(chosen), .top = {}};
  for (const auto id : likeliest(logits, count)) {
    out.top.push_back(of(id));
  }
  return out;
}

}  // namespace fireboss::engine
