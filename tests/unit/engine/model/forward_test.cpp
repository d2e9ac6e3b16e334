#include "engine/model/forward.h"

#include <algorithm>
#include <cmath>

#include "tests/unit/engine/drill.h"

namespace fireboss::engine {
namespace {

constexpr std::size_t kContext = 8192;

class ForwardOfThisProcessor : public testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(All, ForwardOfThisProcessor, testing::ValuesIn(usable_kernels()),
                         [](const auto& test) { return std::string(test.param->name + 4); });

// Feeds tokens in chunks, returns the logits after the last one.
std::vector<float> feed(Forward& forward, KvCache& cache, std::span<const TokenId> tokens,
                        std::size_t position, std::size_t chunk) {
  std::vector<float> out;
  for (std::size_t i = 0; i < tokens.size(); i += chunk) {
    const auto part = tokens.subspan(i, std::min(chunk, tokens.size() - i));
    const std::vector<Segment> segments{{.cache = &cache,
                                         .tokens = part,
                                         .position = position + i,
                                         .wants_logits = i + part.size() == tokens.size()}};
    for (const auto row : forward.run(segments)) {
      out.assign(row.begin(), row.end());
    }
  }
  return out;
}

// The figures in reference.jsonl come from PyTorch in 32 bits, with five decimals.
TEST_P(ForwardOfThisProcessor, AgreesWithTheReference) {
  constexpr double kTolerance = 1e-3;
  const auto& drill = Drill::get();
  Forward forward(drill.weights, *GetParam(), kContext, 512);
  double worst = 0;
  for (const auto& reference : references()) {
    KvCache cache(drill.weights.shape, kContext);
    auto logits = feed(forward, cache, reference.prompt_ids, 0, 512);
    std::size_t position = reference.prompt_ids.size();
    for (std::size_t i = 0; i < reference.reply_ids.size(); ++i) {
      const auto best = std::ranges::max_element(logits) - logits.begin();
      ASSERT_EQ(best, reference.reply_ids[i]) << reference.name << ", token " << i;
      for (const auto& [token, logit] : reference.top5[i]) {
        const double difference = std::fabs(logits[static_cast<std::size_t>(token)] - logit);
        ASSERT_LT(difference, kTolerance) << reference.name << ", token " << i << ", id " << token;
        worst = std::max(worst, difference);
      }
      const auto token = static_cast<TokenId>(best);
      logits = feed(forward, cache, std::span(&token, 1), position++, 1);
    }
  }
  RecordProperty("worst_difference", std::to_string(worst));
  std::printf("largest difference of a top-5 logit: %.2g of %.2g\n", worst, kTolerance);
}

TEST(Forward, GivesTheSameRowHoweverItIsBatchedAndShared) {
  const auto& drill = Drill::get();
  const auto prompt = references()[2].prompt_ids;
  const auto& kernels = *usable_kernels().front();
  Forward one(drill.weights, kernels, kContext, 512);
  Forward two(drill.weights, kernels, kContext, 512, 2);
  KvCache whole(drill.weights.shape, kContext);
  KvCache pieces(drill.weights.shape, kContext);
  KvCache shared(drill.weights.shape, kContext);
  const auto expected = feed(one, whole, prompt, 0, 512);
  EXPECT_EQ(feed(one, pieces, prompt, 0, 97), expected);
  EXPECT_EQ(feed(two, shared, prompt, 0, 512), expected);

  // Beside another sequence that is just being read.
  const auto other = references()[1].prompt_ids;
  KvCache beside(drill.weights.shape, kContext);
  KvCache second(drill.weights.shape, kContext);
  (void)feed(one, beside, std::span(prompt).first(prompt.size() - 3), 0, 512);
  const std::vector<Segment> segments{
      {.cache = &second, .tokens = other, .position = 0, .wants_logits = false},
      {.cache = &beside,
       .tokens = std::span(prompt).last(3),
       .position = prompt.size() - 3,
       .wants_logits = true}};
  const auto rows = one.run(segments);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(std::vector<float>(rows[0].begin(), rows[0].end()), expected);
}

TEST(KvCachePrefix, ServesAsIfItHadBeenComputed) {
  const auto& drill = Drill::get();
  const auto prompt = references()[2].prompt_ids;
  Forward forward(drill.weights, *usable_kernels().front(), kContext, 512);
  KvCache first(drill.weights.shape, kContext);
  KvCache copy(drill.weights.shape, kContext);
  const auto expected = feed(forward, first, prompt, 0, 512);
  copy.copy_prefix(first, 1000);
  EXPECT_EQ(feed(forward, copy, std::span(prompt).subspan(1000), 1000, 512), expected);
}

}  // namespace
}  // namespace fireboss::engine
