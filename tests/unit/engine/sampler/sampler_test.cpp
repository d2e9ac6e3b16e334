#include "engine/sampler/sampler.h"

#include <cmath>
#include <limits>
#include <map>

#include <gmock/gmock.h>

namespace fireboss::engine {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::map<TokenId, int> counts(Sampling sampling, const std::vector<float>& logits, int draws = 20'000) {
  Sampler sampler(sampling);
  std::map<TokenId, int> out;
  for (int i = 0; i < draws; ++i) {
    ++out[sampler.pick(logits).value()];
  }
  return out;
}

TEST(GreedySampler, TakesTheLowestIdAmongEquals) {
  Sampler sampler({});
  EXPECT_EQ(sampler.pick(std::vector<float>{1, 3, -kInfinity, 3}), 1);
}

TEST(Sampler, RefusesARowWithANanWhereverItStands) {
  for (std::size_t at = 0; at < 3; ++at) {
    std::vector<float> logits{1, 2, 3};
    logits[at] = kNan;
    EXPECT_EQ(Sampler({}).pick(logits).error().code, ErrorCode::kInternal);
    EXPECT_EQ(Sampler({.temperature = 1}).pick(logits).error().code, ErrorCode::kInternal);
  }
}

TEST(Sampler, RefusesARowWithNothingToChooseFrom) {
  EXPECT_FALSE(Sampler({}).pick(std::vector<float>{-kInfinity, -kInfinity}));
  EXPECT_FALSE(Sampler({}).pick(std::vector<float>{1, kInfinity}));
}

TEST(Sampler, DrawsByProbability) {
  const auto drawn = counts({.temperature = 1, .seed = 5}, {std::log(0.5F), std::log(0.3F), std::log(0.2F)});
  EXPECT_NEAR(drawn.at(0), 10'000, 300);
  EXPECT_NEAR(drawn.at(1), 6'000, 300);
  EXPECT_NEAR(drawn.at(2), 4'000, 300);
}

TEST(Sampler, SharpensWithALowTemperature) {
  const auto drawn =
      counts({.temperature = 0.5, .seed = 5}, {std::log(0.5F), std::log(0.25F), std::log(0.25F)});
  EXPECT_NEAR(drawn.at(0), 20'000 * 4.0 / 6, 300);
}

TEST(Sampler, KeepsTheSmallestSetThatReachesTopP) {
  const std::vector<float> logits{std::log(0.5F), std::log(0.3F), std::log(0.2F)};
  EXPECT_EQ(counts({.temperature = 1, .top_p = 0.5, .seed = 5}, logits).size(), 1U);
  EXPECT_EQ(counts({.temperature = 1, .top_p = 0.51, .seed = 5}, logits).size(), 2U);
  EXPECT_EQ(counts({.temperature = 1, .top_k = 2, .seed = 5}, logits).size(), 2U);
  // Exactly reached is reached.
  EXPECT_EQ(counts({.temperature = 1, .top_p = 0.5, .seed = 5}, {1, 1}).size(), 1U);
}

TEST(Sampler, RepeatsItselfWithTheSameSeed) {
  const std::vector<float> logits(50, 0.0F);
  const auto drawn = [&](std::uint64_t seed) {
    Sampler sampler({.temperature = 1, .seed = seed});
    std::vector<TokenId> out;
    for (int i = 0; i < 20; ++i) {
      out.push_back(sampler.pick(logits).value());
    }
    return out;
  };
  EXPECT_EQ(drawn(3), drawn(3));
  EXPECT_NE(drawn(3), drawn(4));
}

TEST(LogProbabilities, AreNormalisedAndSorted) {
  const std::vector<float> logits{1000.0F, 1000.0F + std::log(2.0F), -kInfinity, 1000.0F};
  const auto out = log_probabilities(logits, 0, 3);
  EXPECT_NEAR(out.chosen.value, std::log(0.25), 1e-4);
  ASSERT_EQ(out.top.size(), 3U);
  EXPECT_EQ(out.top[0].token, 1);
  EXPECT_NEAR(out.top[0].value, std::log(0.5), 1e-4);
  EXPECT_EQ(out.top[1].token, 0);
  EXPECT_EQ(out.top[2].token, 3);
}

}  // namespace
}  // namespace fireboss::engine
