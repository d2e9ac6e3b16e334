#include "engine/chat/reply_splitter.h"

#include <gmock/gmock.h>

namespace fireboss::engine {
namespace {

// The reply fed in pieces of `step` bytes.
ReplyPart split(std::string_view reply, std::size_t step, bool tools = true) {
  ReplySplitter splitter(tools);
  ReplyPart all;
  const auto add = [&](ReplyPart part) {
    all.content += part.content;
    all.calls.insert(all.calls.end(), part.calls.begin(), part.calls.end());
  };
  for (std::size_t i = 0; i < reply.size(); i += step) {
    add(splitter.push(reply.substr(i, step)));
  }
  add(splitter.finish());
  return all;
}

class ReplySplitterAtEveryStep : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Steps, ReplySplitterAtEveryStep, testing::Values(1, 2, 3, 7, 1000));

TEST_P(ReplySplitterAtEveryStep, FindsCallsBetweenTexts) {
  const auto part = split(
      "a<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":[1, 2]}}</tool_call>b"
      "<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>",
      GetParam());
  EXPECT_EQ(part.content, "ab");
  ASSERT_EQ(part.calls.size(), 2U);
  EXPECT_EQ(part.calls[0].name, "f");
  EXPECT_EQ(part.calls[0].arguments, "{\"x\":[1,2]}");
  EXPECT_EQ(part.calls[1].name, "g");
}

TEST_P(ReplySplitterAtEveryStep, LeavesWhatIsNoCallAsText) {
  for (const std::string_view reply :
       {"<tool_call>{\"name\":\"f\"</tool_call>", "<tool_call>{\"name\":\"f\",\"arguments\":{}}", "<tool_cal",
        "a<b", "<tool_call>{\"name\":1,\"arguments\":{}}</tool_call>x"}) {
    const auto part = split(reply, GetParam());
    EXPECT_EQ(part.content, reply);
    EXPECT_TRUE(part.calls.empty());
  }
}

TEST_P(ReplySplitterAtEveryStep, LooksForNoCallsWithoutTools) {
  const std::string_view reply = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
  EXPECT_EQ(split(reply, GetParam(), false).content, reply);
}

TEST_P(ReplySplitterAtEveryStep, KeepsCharactersWhole) {
  EXPECT_EQ(split("é\xF0\x9F\x90\xA6 ok", GetParam()).content, "é\xF0\x9F\x90\xA6 ok");
}

TEST_P(ReplySplitterAtEveryStep, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(split("a\xFF\xC3(b\xED\xA0\x80 \xF0\x9F", GetParam()).content,
            "a\uFFFD\uFFFD(b\uFFFD\uFFFD\uFFFD \uFFFD");
}

}  // namespace
}  // namespace fireboss::engine
