#include "engine/server/reply.h"

#include <limits>

#include "tests/unit/engine/drill.h"

namespace fireboss::engine {
namespace {

const ReplyHead kHead{.id = "chatcmpl-1", .created = 5, .model = "drill", .fingerprint = "fp"};
constexpr Usage kUsage{.prompt_tokens = 10, .cached_tokens = 4, .completion_tokens = 3};

TEST(ReplyJson, OfAnErrorIsNested) {
  EXPECT_EQ(
      error_body(429, "busy \xFF"),
      "{\"error\":{\"message\":\"busy \uFFFD\",\"type\":\"rate_limit_error\",\"param\":null,\"code\":429}}");
}

TEST(ReplyJson, OfACompletionHasTextAndUsage) {
  const auto value =
      boost::json::parse(completion_body(kHead, {.content = "hi", .finish_reason = "stop"}, kUsage));
  EXPECT_EQ(value.at("object"), "chat.completion");
  EXPECT_EQ(value.at("system_fingerprint"), "fp");
  EXPECT_EQ(value.at("choices").at(0).at("message").at("content"), "hi");
  EXPECT_FALSE(value.at("choices").at(0).at("message").as_object().contains("tool_calls"));
  EXPECT_EQ(value.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(value.at("usage").at("total_tokens"), 13);
  EXPECT_EQ(value.at("usage").at("prompt_tokens_details").at("cached_tokens"), 4);
}

TEST(ReplyJson, OfAToolCallHasNoContent) {
  const auto value = boost::json::parse(completion_body(
      kHead, {.calls = {{.name = "f", .arguments = "{\"x\":1}"}}, .finish_reason = "tool_calls"}, kUsage));
  const auto& message = value.at("choices").at(0).at("message");
  EXPECT_TRUE(message.at("content").is_null());
  EXPECT_EQ(message.at("tool_calls").at(0).at("function").at("arguments"), "{\"x\":1}");
  EXPECT_EQ(message.at("tool_calls").at(0).at("type"), "function");
}

TEST(ReplyJson, OfAStreamNumbersToolCallsThroughTheReply) {
  const auto value = boost::json::parse(delta_chunk(kHead, {.calls = {{.name = "f", .arguments = "{}"}}}, 2));
  EXPECT_EQ(value.at("choices").at(0).at("delta").at("tool_calls").at(0).at("index"), 2);
  EXPECT_TRUE(value.at("choices").at(0).at("finish_reason").is_null());
  EXPECT_TRUE(boost::json::parse(usage_chunk(kHead, kUsage)).at("choices").as_array().empty());
}

TEST(ReplyJson, OfLogProbabilitiesHasNoInfinity) {
  const auto& tokenizer = Drill::get().tokenizer;
  const auto value = logprobs_json(
      {{.chosen = {'A', -0.5}, .top = {{'A', -0.5}, {0xC3, -std::numeric_limits<double>::infinity()}}}},
      tokenizer);
  const auto& entry = value.at("content").at(0);
  EXPECT_EQ(entry.at("token"), "A");
  EXPECT_EQ(entry.at("logprob"), -0.5);
  EXPECT_EQ(entry.at("top_logprobs").at(1).at("logprob"), -9999.0);
  EXPECT_EQ(entry.at("top_logprobs").at(1).at("bytes").at(0), 0xC3);
  EXPECT_EQ(entry.at("top_logprobs").at(1).at("token"), "\uFFFD");
}

}  // namespace
}  // namespace fireboss::engine
