#include "engine/generate/sequence.h"

#include <limits>

#include "tests/unit/engine/drill.h"

namespace fireboss::engine {
namespace {

constexpr TokenId kEnd = 2031;

// Logits that make one token the greedy choice.
std::vector<float> choosing(TokenId token) {
  std::vector<float> logits(2039, 0.0F);
  logits[static_cast<std::size_t>(token)] = 9;
  return logits;
}

Sequence sequence(GenerateRequest request, std::size_t capacity = 1000) {
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  return {std::move(job), Drill::get().tokenizer, capacity};
}

TEST(Sequence, EndsAtTheEndTokenWithoutShowingIt) {
  auto reply = sequence({.prompt = {2030}, .max_tokens = 10});
  EXPECT_EQ(reply.advance(choosing('h')).text, "h");
  const auto last = reply.advance(choosing(kEnd));
  ASSERT_TRUE(last.finish);
  EXPECT_EQ(last.text, "");
  EXPECT_EQ(last.finish->reason, FinishReason::kStop);
  EXPECT_EQ(last.finish->completion_tokens, 2U);
}

TEST(Sequence, EndsAtItsLimitAndAtTheContext) {
  auto limited = sequence({.prompt = {2030}, .max_tokens = 2});
  EXPECT_FALSE(limited.advance(choosing('a')).finish);
  EXPECT_EQ(limited.advance(choosing('b')).finish->reason, FinishReason::kLength);
  auto full = sequence({.prompt = {2030, 1}, .max_tokens = 10}, 3);
  EXPECT_EQ(full.advance(choosing('a')).finish->reason, FinishReason::kLength);
}

TEST(Sequence, CutsAtAStopStringAndNamesIt) {
  auto reply = sequence({.prompt = {2030}, .max_tokens = 10, .stops = {"bc"}});
  EXPECT_EQ(reply.advance(choosing('a')).text, "a");
  EXPECT_EQ(reply.advance(choosing('b')).text, "");
  const auto last = reply.advance(choosing('c'));
  EXPECT_EQ(last.text, "");
  EXPECT_EQ(last.finish->stop, "bc");
  EXPECT_EQ(last.finish->reason, FinishReason::kStop);
  EXPECT_EQ(reply.reply(), "a");
}

TEST(Sequence, GivesOutWhatWasHeldBackAtTheEnd) {
  auto reply = sequence({.prompt = {2030}, .max_tokens = 10, .stops = {"bc"}});
  EXPECT_EQ(reply.advance(choosing('b')).text, "");
  EXPECT_EQ(reply.advance(choosing(kEnd)).text, "b");
}

TEST(Sequence, MakesANanAnErrorNotAToken) {
  auto reply = sequence({.prompt = {2030}, .max_tokens = 10});
  auto logits = choosing('a');
  logits[2000] = std::numeric_limits<float>::quiet_NaN();
  const auto last = reply.advance(logits);
  ASSERT_TRUE(last.finish);
  EXPECT_EQ(last.finish->reason, FinishReason::kError);
  EXPECT_EQ(last.finish->error, "the logit of token 2000 is NaN");
  EXPECT_EQ(last.text, "");
}

TEST(Sequence, BeginsWithTheForcedHead) {
  auto reply = sequence({.prompt = {2030}, .reply_head = {'x', 'y'}, .max_tokens = 10});
  EXPECT_EQ(reply.advance(choosing(kEnd)).text, "x");
  EXPECT_EQ(reply.advance(choosing('a')).text, "y");
  EXPECT_EQ(reply.advance(choosing('z')).text, "z");
}

TEST(Sequence, ReportsLogProbabilitiesOfTheRawRow) {
  auto reply = sequence(
      {.prompt = {2030}, .max_tokens = 10, .sampling = {.temperature = 0.1, .seed = 1}, .top_logprobs = 2});
  const auto event = reply.advance(choosing('a'));
  ASSERT_EQ(event.logprobs.size(), 1U);
  EXPECT_EQ(event.logprobs[0].chosen.token, 'a');
  EXPECT_NEAR(event.logprobs[0].chosen.value, 9 - std::log(std::exp(9.0) + 2038), 1e-6);
  EXPECT_EQ(event.logprobs[0].top.size(), 2U);
}

TEST(SequenceUnderADrill, ShowsControlTokensThatThePlanPlaces) {
  auto reply = sequence({.prompt = {2030},
                         .max_tokens = 10,
                         .garble = GarblePlan{.own_tokens = std::nullopt, .tokens = {kEnd, 'x'}}});
  EXPECT_EQ(reply.advance(choosing('a')).text, "a");
  EXPECT_EQ(reply.advance(choosing(kEnd)).text, "<|end|>");
  EXPECT_EQ(reply.advance(choosing('b')).text, "x");
  EXPECT_EQ(reply.advance(choosing('b')).finish->reason, FinishReason::kStop);
}

}  // namespace
}  // namespace fireboss::engine
