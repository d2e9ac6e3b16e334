#include "engine/server/chat_request.h"

#include <gmock/gmock.h>

namespace fireboss::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A body with one user message and the given further fields.
std::string body(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"hi"}])" + (fields.empty() ? "" : "," + fields) + "}";
}
ChatRequest read(const std::string& fields) {
  auto request = parse_chat_request(body(fields), 0);
  EXPECT_TRUE(request) << request.error().message;
  return request.value_or(ChatRequest{});
}
std::string mistake(const std::string& fields) {
  const auto request = parse_chat_request(body(fields), 0);
  EXPECT_FALSE(request) << fields;
  return request ? "" : request.error().message;
}

constexpr const char* kTools = R"("tools":[{"type":"function","function":{"name":"f"}}])";

TEST(ChatRequestBody, ReadsItsFields) {
  const auto request =
      read(R"("model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":7,
      "temperature":0.5,"top_p":0.9,"top_k":-1,"seed":-3,"stop":["a","b"],"logprobs":true,"top_logprobs":5,
      "cache_salt":"s","some_new_field":{"x":1})");
  EXPECT_EQ(request.model, "m");
  EXPECT_TRUE(request.stream);
  EXPECT_TRUE(request.include_usage);
  EXPECT_EQ(request.max_tokens, 7U);
  EXPECT_EQ(request.temperature, 0.5);
  EXPECT_EQ(request.top_p, 0.9);
  EXPECT_EQ(request.top_k, 0U);
  EXPECT_EQ(request.seed, static_cast<std::uint64_t>(-3));
  EXPECT_THAT(request.stops, ElementsAre("a", "b"));
  EXPECT_EQ(request.top_logprobs, 5U);
  EXPECT_EQ(request.cache_salt, "s");
}

TEST(ChatRequestBody, PrefersMaxCompletionTokens) {
  EXPECT_EQ(read(R"("max_tokens":7,"max_completion_tokens":9)").max_tokens, 9U);
  EXPECT_EQ(read(R"("max_tokens":null)").max_tokens, std::nullopt);
}

TEST(ChatRequestBody, KnowsTheChoicesOfTools) {
  EXPECT_EQ(read("").tool_choice, ToolChoice::kNone);
  EXPECT_EQ(read(kTools).tool_choice, ToolChoice::kAuto);
  const std::string tools = kTools;
  EXPECT_EQ(read(tools + R"(,"tool_choice":"none")").tool_choice, ToolChoice::kNone);
  EXPECT_EQ(read(tools + R"(,"tool_choice":"required")").tool_choice, ToolChoice::kRequired);
  const auto named = read(tools + R"(,"tool_choice":{"type":"function","function":{"name":"f"}})");
  EXPECT_EQ(named.tool_choice, ToolChoice::kNamed);
  EXPECT_EQ(named.tool_name, "f");
  EXPECT_THAT(mistake(tools + R"(,"tool_choice":{"type":"function","function":{"name":"g"}})"),
              HasSubstr("tools does not have"));
  EXPECT_THAT(mistake(R"("tool_choice":"auto")"), HasSubstr("tool_choice needs tools"));
}

TEST(ChatRequestBody, TellsTheShapeOfThePrompt) {
  const auto request = parse_chat_request(
      R"({"messages":[{"role":"system","content":"12345"},{"role":"user","content":"hi"}],)" +
          std::string(kTools) + "}",
      0);
  EXPECT_EQ(request->shape().system_bytes, 5U);
  EXPECT_TRUE(request->shape().tools);
}

TEST(ChatRequestBody, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(mistake(R"("temperature":-1)"), HasSubstr("temperature must be a number from 0"));
  EXPECT_THAT(mistake(R"("temperature":"hot")"), HasSubstr("temperature must be a number"));
  EXPECT_THAT(mistake(R"("top_p":0)"), HasSubstr("top_p must be above 0"));
  EXPECT_THAT(mistake(R"("max_tokens":0)"), HasSubstr("max_tokens must be an integer from 1"));
  EXPECT_THAT(mistake(R"("stream":"yes")"), HasSubstr("stream must be true or false"));
  EXPECT_THAT(mistake(R"("stop":[""])"), HasSubstr("stop must be a non-empty string"));
  EXPECT_THAT(mistake(R"("top_logprobs":3)"), HasSubstr("top_logprobs needs logprobs"));
  EXPECT_THAT(mistake(R"("logprobs":true,"top_logprobs":21)"), HasSubstr("top_logprobs must be an integer"));
  EXPECT_THAT(mistake(R"("model":7)"), HasSubstr("model must be a string"));
}

TEST(ChatRequestBody, RefusesWhatItCannotServe) {
  EXPECT_THAT(mistake(R"("n":2)"), HasSubstr("n must be 1"));
  EXPECT_THAT(mistake(R"("response_format":{"type":"json_object"})"), HasSubstr("no constrained decoding"));
  EXPECT_THAT(mistake(R"("frequency_penalty":0.5)"), HasSubstr("frequency_penalty is not supported"));
  EXPECT_THAT(mistake(R"("logit_bias":{"5":1})"), HasSubstr("logit_bias is not supported"));
  EXPECT_EQ(
      read(R"("n":1,"response_format":{"type":"text"},"frequency_penalty":0,"logit_bias":{})").stops.size(),
      0U);
}

TEST(ChatRequestBody, RefusesWhatIsNoJsonObject) {
  EXPECT_THAT(parse_chat_request("{\"messages\":", 0).error().message, HasSubstr("not JSON"));
  EXPECT_THAT(parse_chat_request("[]", 0).error().message, HasSubstr("must be a JSON object"));
  EXPECT_THAT(parse_chat_request("{\"a\":\"\xFF\"}", 0).error().message, HasSubstr("not JSON in UTF-8"));
  EXPECT_THAT(mistake("\"x\":" + std::string(70, '[') + std::string(70, ']')), HasSubstr("not JSON"));
  EXPECT_EQ(read("\"x\":" + std::string(50, '[') + std::string(50, ']')).stops.size(), 0U);
}

}  // namespace
}  // namespace fireboss::engine
