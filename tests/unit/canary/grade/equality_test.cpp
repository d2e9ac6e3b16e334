// Equality by type: what is ok, and that nothing overrules it.
#include <gtest/gtest.h>

#include "tests/unit/canary/grade/replies.h"

namespace fireboss::canary {
namespace {

using namespace testing_replies;

Verdict verdict(const Task& task, const Response& response, const GradeOptions& options = {}) {
  return grade(task, response, options).verdict;
}

TEST(ExactReply, IsTrimmedAtItsEndsOnly) {
  EXPECT_EQ(verdict(pong(), body("PONG-7F3A")), Verdict::kOk);
  EXPECT_EQ(verdict(pong(), body(" \n\tPONG-7F3A\r\n\n")), Verdict::kOk);
  EXPECT_EQ(verdict(pong(), body("\xC2\xA0PONG-7F3A\xE3\x80\x80")), Verdict::kOk);
  EXPECT_EQ(verdict(pong(), body("PONG -7F3A")), Verdict::kWrongAnswer);
  EXPECT_EQ(verdict(exact("a  b"), body("a b")), Verdict::kWrongAnswer);
}

TEST(ExactReply, IsNotMetByAReplyThatOnlyContainsIt) {
  for (const char* reply : {"The text is PONG-7F3A", "PONG-7F3A.", "\"PONG-7F3A\"", "`PONG-7F3A`",
                            "pong-7f3a", "PONG-7F3A PONG-7F3A", "**PONG-7F3A**", "PONG-7F3", "PONG-7F3B"}) {
    EXPECT_EQ(verdict(pong(), body(reply)), Verdict::kWrongAnswer) << reply;
  }
}

TEST(ExactReply, EqualIsOkWhateverElseLooksWrong) {
  EXPECT_EQ(verdict(exact("!!!!!!!!!!!!!!!!!!!!!!!!"), body("!!!!!!!!!!!!!!!!!!!!!!!!")), Verdict::kOk);
  EXPECT_EQ(verdict(exact("<|im_end|>"), body("<|im_end|>")), Verdict::kOk);
  EXPECT_EQ(verdict(exact("</think>assistant\nuser\n"), body("</think>assistant\nuser")), Verdict::kOk);
  EXPECT_EQ(verdict(exact("\xEF\xBF\xBD"), body("\xEF\xBF\xBD")), Verdict::kOk);
  EXPECT_EQ(verdict(pong(), body("PONG-7F3A", {.finish = "length", .tokens = 4000})), Verdict::kOk);
  Task capped = pong();
  capped.max_tokens = 9;
  EXPECT_EQ(verdict(capped, body("PONG-7F3A", {.finish = "length", .tokens = 9})), Verdict::kOk);
  EXPECT_EQ(verdict(pong(), body("PONG-7F3A", {.finish = "tool_calls"})), Verdict::kOk);
}

TEST(ExactReply, SurvivesAnyCutOfTheStream) {
  const std::string text =
      "\xC4\x8F\xC3\xA1"
      "bel \xF0\x9F\x94\xA5";
  EXPECT_EQ(verdict(exact(text), stream({text})), Verdict::kOk);
  EXPECT_EQ(verdict(exact(text), stream({"\xC4\x8F",
                                         "\xC3\xA1"
                                         "b",
                                         "el ", "\xF0\x9F\x94\xA5"})),
            Verdict::kOk);
  EXPECT_EQ(verdict(pong(), stream({"PO", "NG-", "", "7F3A", " "})), Verdict::kOk);
}

TEST(ExactReply, TakesContentInParts) {
  EXPECT_EQ(
      verdict(pong(),
              body_with(json::parse(R"([{"type":"text","text":"PONG-"},{"type":"text","text":"7F3A"}])"))),
      Verdict::kOk);
}

TEST(ExactReply, IsNotMetByAnUnaskedToolCallBesideIt) {
  Shape shape{.finish = "tool_calls"};
  shape.tool_calls.push_back(call("read_file", R"({"path":"x"})"));
  EXPECT_EQ(verdict(pong(), body("PONG-7F3A", shape)), Verdict::kWrongAnswer);
  EXPECT_EQ(verdict(pong(), body(nullptr, shape)), Verdict::kWrongAnswer);
}

TEST(ExactReply, LeavesTheReasoningFieldAlone) {
  EXPECT_EQ(verdict(pong(), body("PONG-7F3A", {.reasoning = "</think><|im_end|>\xEF\xBF\xBD"})),
            Verdict::kOk);
}

TEST(InlineReasoning, IsTakenOffOnlyWhenTheSuiteSaysSo) {
  const GradeOptions inline_tags{.reasoning = Reasoning::kInlineTags, .special_tokens = {}, .issued = {}};
  for (const char* reply :
       {"<think>They want a code.</think>\n\nPONG-7F3A", "They want a code.</think>PONG-7F3A", "PONG-7F3A"}) {
    EXPECT_EQ(verdict(pong(), body(reply), inline_tags), Verdict::kOk) << reply;
  }
  EXPECT_EQ(verdict(pong(), body("<think>x</think>PONG-7F3A")), Verdict::kLeak);
  EXPECT_EQ(verdict(pong(), body("<think>x</think>PONG-7F3A</think>"), inline_tags), Verdict::kLeak);
}

TEST(IntSequence, IsParsed) {
  const Task three = task(R"({"type": "int_sequence", "expected": [1, 2, -3]})");
  for (const char* reply :
       {"1, 2, -3", "1 2 -3", "1,2,-3", "1\n2\n-3\n", "[1, 2, -3]", "1; 2; -3", "01, 02, -3.", "1. 2. -3."}) {
    EXPECT_EQ(verdict(three, body(reply)), Verdict::kOk) << reply;
  }
  for (const char* reply : {"1, 2", "1, 2, -3, 4", "2, 1, -3", "1, 2, 3", "Here: 1, 2, -3", "1, 2, -3 done",
                            "1, 2, -3x", "1.2.-3", "1, 2, 12345678901234567890", "one, two", "1, 2, -3.5"}) {
    EXPECT_EQ(verdict(three, body(reply)), Verdict::kWrongAnswer) << reply;
  }
}

TEST(Json, IsComparedByValue) {
  for (const char* reply : {R"({"city":"Paris","n":3})", "\n{ \"n\" : 3.0,\n \"city\" : \"Paris\" }\n",
                            R"({"n":3e0,"city":"Par\u0069s"})"}) {
    EXPECT_EQ(verdict(paris(), body(reply)), Verdict::kOk) << reply;
  }
  for (const char* reply :
       {R"({"city":"London","n":3})", R"({"city":"Paris","n":4})", R"({"city":"Paris","n":3.5})",
        R"({"city":"Pari","n":3})", R"({"city":"Paris ","n":3})"}) {
    EXPECT_EQ(verdict(paris(), body(reply)), Verdict::kWrongAnswer) << reply;
  }
  const Task list = task(R"({"type": "json_schema", "expected": {"a": [1, 2]}})");
  EXPECT_EQ(verdict(list, body(R"({"a": [2, 1]})")), Verdict::kWrongAnswer);
}

TEST(Json, AKeyTwiceIsOkOnlyIfEveryReaderSeesTheSame) {
  const Graded same = grade(paris(), body(R"({"city":"Paris","n":3,"city":"Paris"})"));
  EXPECT_EQ(same.verdict, Verdict::kOk);
  EXPECT_TRUE(same.signals.duplicate_keys);
  EXPECT_EQ(verdict(paris(), body(R"({"city":"London","n":3,"city":"Paris"})")), Verdict::kJsonMalformed);
}

TEST(Json, MalformedOrOfTheWrongShape) {
  for (const char* reply :
       {"```json\n{\"city\":\"Paris\",\"n\":3}\n```", R"({"city":"Paris","n":3} That is it.)",
        R"(Sure: {"city":"Paris","n":3})", R"({"city":"Paris{"city":"Paris","n":3})",
        R"({"city":"Paris","n":3}{"city":"Paris","n":3})", R"({'city':'Paris','n':3})",
        R"({"city":"Paris","n":3)", R"({"city":"Paris","n":3,})", R"({"city":"Paris","n":NaN})",
        R"({"city":"Paris"})", R"({"city":"Paris","n":3,"x":1})", R"([{"city":"Paris","n":3}])",
        R"("{\"city\":\"Paris\",\"n\":3}")", "Paris", "null", "{}"}) {
    EXPECT_EQ(verdict(paris(), body(reply)), Verdict::kJsonMalformed) << reply;
  }
}

TEST(Json, TypesCountWhereTheSchemaNamesThem) {
  const Task typed = task(R"({"type": "json_schema", "expected": {"n": 3}, "schema": {"type": "object",
      "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]}})");
  EXPECT_EQ(verdict(typed, body(R"({"n":"3"})")), Verdict::kJsonMalformed);
  EXPECT_EQ(verdict(typed, body(R"({"n":10})")), Verdict::kJsonMalformed);
  EXPECT_EQ(verdict(typed, body(R"({"n":4})")), Verdict::kWrongAnswer);
}

TEST(ToolCall, NeedsExactlyOneRightCall) {
  Shape right{.finish = "tool_calls"};
  right.tool_calls.push_back(call("get_weather", R"({"days": 3.0, "city": "Paris"})"));
  EXPECT_EQ(verdict(weather(), body(nullptr, right)), Verdict::kOk);
  EXPECT_EQ(verdict(weather(), body("\n\n", right)), Verdict::kOk);
  EXPECT_EQ(verdict(weather(), body("I will look that up.", right)), Verdict::kOk);
  Shape stopped = right;
  stopped.finish = "stop";  // a named tool choice ends like that
  EXPECT_EQ(verdict(weather(), body(nullptr, stopped)), Verdict::kOk);
}

TEST(ToolCall, GarbageBesideARightCallIsNoPass) {
  Shape right{.finish = "tool_calls"};
  right.tool_calls.push_back(call("get_weather", R"({"days": 3, "city": "Paris"})"));
  EXPECT_EQ(verdict(weather(), body("<|im_end|>", right)), Verdict::kLeak);
  EXPECT_EQ(verdict(weather(), body("Let me see.</think>", right)), Verdict::kLeak);
}

TEST(ToolCall, FragmentsAreJoinedByIndex) {
  const auto fragment = [](const json::object& part) { return chunk({{"tool_calls", json::array{part}}}); };
  const std::string end = chunk({}, "tool_calls") + "data: [DONE]\n\n";
  const std::string start = fragment(
      {{"index", 0}, {"id", "c1"}, {"function", json::object{{"name", "get_weather"}, {"arguments", ""}}}});
  const auto arguments = [&](const json::value& index, const char* text) {
    json::object part{{"function", json::object{{"arguments", text}}}};
    if (!index.is_null()) {
      part["index"] = index;
    }
    return fragment(part);
  };
  EXPECT_EQ(verdict(weather(), events(start + arguments(0, "{\"city\": \"Pa") +
                                      arguments(0, "ris\", \"days\": 3}") + end)),
            Verdict::kOk);
  EXPECT_EQ(verdict(weather(), events(start + arguments(nullptr, "{\"city\": \"Paris\", ") +
                                      arguments(nullptr, "\"days\": 3}") + end)),
            Verdict::kOk);
  EXPECT_EQ(verdict(weather(), events(start + arguments(0, "{\"city\": \"Paris\", \"days\": 3}") +
                                      arguments(1, "{}") + end)),
            Verdict::kToolCallMalformed);
}

TEST(Code, NeedsEverySnippetUntouched) {
  const Task code =
      task(R"({"type": "code", "expected": {"contains": ["a <b && c> d", "stop=[\"<|im_end|>\"]"]}})");
  const std::string right = "```\na <b && c> d\nstop=[\"<|im_end|>\"]\n```";
  EXPECT_EQ(verdict(code, body(right)), Verdict::kOk);
  EXPECT_EQ(verdict(code, body("```\na <b && c> d\n```")), Verdict::kWrongAnswer);
  EXPECT_EQ(verdict(code, body("```\na <b && c > d\nstop=[\"<|im_end|>\"]\n```")), Verdict::kWrongAnswer);
  // Holding them is not being equal to them: what stands around them is looked at.
  EXPECT_EQ(verdict(code, body(right + "<|im_end|>\n<|im_start|>")), Verdict::kLeak);
  EXPECT_EQ(verdict(code, body(right + repeat(" the", 50))), Verdict::kRepetition);
  EXPECT_EQ(verdict(code, body(right + "\xEF\xBF\xBD")), Verdict::kEncoding);
}

TEST(Code, ExactTextIsComparedWhole) {
  const Task code = task(R"({"type": "code", "expected": "x = 1\ny = 2"})");
  EXPECT_EQ(verdict(code, body("x = 1\ny = 2\n")), Verdict::kOk);
  EXPECT_EQ(verdict(code, body("x = 1\n y = 2\n")), Verdict::kWrongAnswer);
}

}  // namespace
}  // namespace fireboss::canary
