// The names of failures, kind by kind, and their order.
#include <gtest/gtest.h>

#include "tests/unit/canary/grade/replies.h"

namespace fireboss::canary {
namespace {

using namespace testing_replies;

Verdict verdict(const Task& task, const Response& response, const GradeOptions& options = {}) {
  return grade(task, response, options).verdict;
}

TEST(Encoding, CharactersThatNoTextHas) {
  for (const std::string& reply :
       {std::string("PONG-\xEF\xBF\xBD"), std::string("PONG\0", 5), repeat(std::string_view("\0", 1), 40),
        std::string("PONG-7F3A\x1B[0m"), std::string("\xC2\x9F"), std::string("\xEF\xBF\xBF"),
        std::string("PONG<0xF0><0x9F>")}) {
    EXPECT_EQ(verdict(pong(), body(reply)), Verdict::kEncoding) << reply;
  }
}

TEST(Encoding, LoneSurrogatesAndBrokenBytesInTheBody) {
  for (const char* content : {R"("PONG-7F3A\ud83d")", R"("\udd25PONG-7F3A")", "\"PONG-7F3A\xFF\"",
                              "\"PONG-7F3A\xF0\x9F\"", "\"PONG-7F3A\xC0\x80\"", "\"PONG\xED\xA0\x80\""}) {
    Response response;
    response.http_status = 200;
    response.body = std::string(R"({"choices":[{"index":0,"finish_reason":"stop","message":{"content":)") +
                    content + "}}]}";
    EXPECT_EQ(verdict(pong(), response), Verdict::kEncoding) << content;
  }
}

TEST(Encoding, HalvesOfACharacterInTwoChunksAreBroken) {
  const Task fire = exact("\xF0\x9F\x94\xA5");
  const auto raw = [](const char* content) {
    return std::string(R"(data: {"choices":[{"index":0,"delta":{"content":")") + content + "\"}}]}\n\n";
  };
  const std::string end = chunk({}, "stop") + "data: [DONE]\n\n";
  EXPECT_EQ(verdict(fire, events(raw("\\ud83d") + raw("\\udd25") + end)), Verdict::kEncoding);
  EXPECT_EQ(verdict(fire, events(raw("\xF0\x9F") + raw("\x94\xA5") + end)), Verdict::kEncoding);
  EXPECT_EQ(verdict(fire, events(raw("\\ud83d\\udd25") + end)), Verdict::kOk);
}

TEST(Encoding, TheExpectedTextThroughAWrongDecoder) {
  const Task czech = exact(
      "\xC4\x8F\xC3\xA1"
      "bel \xF0\x9F\x94\xA5");
  for (const char* reply : {"\xC3\x84\xC2\x8F\xC3\x83\xC2\xA1"
                            "bel \xC3\xB0\xC2\x9F\xC2\x94\xC2\xA5",
                            "\xC3\x84\xC2\x8F\xC3\x83\xC2\xA1"
                            "bel \xC3\xB0\xC5\xB8\xE2\x80\x9D\xC2\xA5",
                            "??bel ?", "????bel ????", R"(\u010f\u00e1bel \ud83d\udd25)"}) {
    EXPECT_EQ(verdict(czech, body(reply)), Verdict::kEncoding) << reply;
  }
  // Without a control character that would tell by itself: "caf\u00C3\u00A9", and Tokyo in byte-level BPE's
  // alphabet.
  EXPECT_EQ(verdict(exact("caf\xC3\xA9"), body("caf\xC3\x83\xC2\xA9")), Verdict::kEncoding);
  EXPECT_EQ(
      verdict(exact("\xE6\x9D\xB1\xE4\xBA\xAC"), body("\xC3\xA6\xC4\xBF\xC2\xB1\xC3\xA4\xC2\xBA\xC2\xAC")),
      Verdict::kEncoding);
  EXPECT_EQ(verdict(exact("\xE2\x80\x93"), body("\xC3\xA2\xE2\x82\xAC\xE2\x80\x9C")), Verdict::kEncoding);
  EXPECT_EQ(verdict(czech, body("dabel")), Verdict::kWrongAnswer);
  EXPECT_EQ(verdict(pong(), body("????")), Verdict::kWrongAnswer);
}

TEST(Encoding, IsFoundInToolCallsAndBehindEscapes) {
  Shape shape{.finish = "tool_calls"};
  shape.tool_calls.push_back(call("get_weather", R"({"city": "Par\ud83d", "days": 3})"));
  EXPECT_EQ(verdict(weather(), body(nullptr, shape)), Verdict::kEncoding);
  EXPECT_EQ(verdict(paris(), body(R"({"city": "Par\u0000is", "n": 3})")), Verdict::kEncoding);
}

TEST(Leak, SpecialTokensOfEveryFamily) {
  for (const char* mark : {"<|im_end|>",
                           "<|im_start|>user",
                           "<|endoftext|>",
                           "<|eot_id|>",
                           "<|start_header_id|>assistant<|end_header_id|>",
                           "<|end|>",
                           "<|assistant|>",
                           "<|user|>",
                           "<|observation|>",
                           "<|channel|>final<|message|>",
                           "<|return|>",
                           "<|im_middle|>",
                           "<|tool_calls_section_begin|>",
                           "<|start_of_role|>",
                           "<|END_OF_TURN_TOKEN|>",
                           "<|EOT|>",
                           "<\xEF\xBD\x9C"
                           "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
                           "<\xEF\xBD\x9C"
                           "begin of sentence\xEF\xBD\x9C>",
                           "[INST]",
                           "[/INST]",
                           "<<SYS>>",
                           "<s>",
                           "</s>",
                           "<unk>",
                           "<pad>",
                           "<bos>",
                           "<eos>",
                           "<end_of_turn>",
                           "<start_of_turn>model",
                           "<unused42>",
                           "<extra_id_0>",
                           "[gMASK]",
                           "[PAD151645]",
                           "[TOOL_CALLS]",
                           "[/THINK]",
                           "<EOS_TOKEN>",
                           "<|turn>",
                           "<channel|>",
                           "<think>",
                           "</think>",
                           "<thinking>",
                           "</thought>",
                           "<seed:think>",
                           "\xE2\x97\x81/think\xE2\x96\xB7",
                           "<tool_call>",
                           "<function=x>",
                           "<|im_end",
                           "im_end|>",
                           "<|",
                           "<tool_response>",
                           "\xC4\x8A",
                           "\xC4\xA0the",
                           "\xE2\x96\x81the",
                           "im_end",
                           "<fim_middle>"}) {
    EXPECT_EQ(verdict(pong(), body(std::string("PONG-7F3A") + mark)), Verdict::kLeak) << mark;
  }
}

TEST(Leak, OneMoreThanExpectedIsALeak) {
  EXPECT_EQ(verdict(exact("stop at <|im_end|>"), body("stop at <|im_end|><|im_end|>")), Verdict::kLeak);
  EXPECT_EQ(verdict(exact("stop at <|im_end|>"), body("halt at <|im_end|>")), Verdict::kWrongAnswer);
}

TEST(Leak, RoleWordsGluedOrAloneOnALine) {
  for (const char* reply :
       {"PONG-7F3Aassistant", "PONG-7F3Aassistant\n\nAnything else?", "PONG-7F3Auser\nReply with",
        "PONG-7F3Auser Reply with", "PONG-7F3A\nassistant\nPONG-7F3A", "PONG-7F3A\n\nuser\n",
        "assistant\n\nPONG-7F3A", "assistantPONG-7F3A", "assistant PONG-7F3A", "assistant: PONG-7F3A",
        "PONG-7F3A\nUser: next", "PONG-7F3AUSER: next", "PONG-7F3A\n### Instruction:\nx",
        "PONG-7F3A\nHuman: x", "PONG-7F3Amodel\n", "PONG-7F3A.system\n",
        "analysisThe user wants a code.assistantfinalPONG-7F3A", "PONG-7F3A assistant",
        "PONG-7F3Aipython\n"}) {
    EXPECT_EQ(verdict(pong(), body(reply)), Verdict::kLeak) << reply;
  }
  for (const char* reply : {"the ecosystem", "I am an assistant and cannot do that.",
                            "The user said PONG-7F3B", "file-system", "superuser", "No tool for that"}) {
    EXPECT_EQ(verdict(pong(), body(reply)), Verdict::kWrongAnswer) << reply;
  }
}

TEST(Leak, InJsonIntegersAndToolNames) {
  EXPECT_EQ(verdict(paris(), body(R"({"city":"Paris","n":3}<|im_end|>)")), Verdict::kLeak);
  EXPECT_EQ(verdict(paris(), body("{\"city\":\"Paris\",\"n\":3}assistant\n\nx")), Verdict::kLeak);
  EXPECT_EQ(verdict(task(R"({"type": "int_sequence", "expected": [1, 2]})"), body("1, 2</s>")),
            Verdict::kLeak);
  for (const char* name : {"get_weather<|channel|>json", "get_weathercommentary", "<|message|>get_weather",
                           "get_weatherassistant"}) {
    Shape shape{.finish = "tool_calls"};
    shape.tool_calls.push_back(call(name, R"({"city": "Paris", "days": 3})"));
    EXPECT_EQ(verdict(weather(), body(nullptr, shape)), Verdict::kLeak) << name;
  }
  for (const char* arguments :
       {R"({"city": "Paris<|im_end|>", "days": 3})", R"({"city": "</think>Paris", "days": 3})",
        R"({"city": "Paris", "days": 3}<|im_end)"}) {
    Shape shape{.finish = "tool_calls"};
    shape.tool_calls.push_back(call("get_weather", arguments));
    EXPECT_EQ(verdict(weather(), body(nullptr, shape)), Verdict::kLeak) << arguments;
  }
}

TEST(Leak, OfTheOperatorsOwnTokens) {
  const std::vector<std::string> tokens = {"@@STOP@@"};
  EXPECT_EQ(verdict(pong(), body("PONG-7F3A@@STOP@@"), {.special_tokens = tokens, .issued = {}}),
            Verdict::kLeak);
  EXPECT_EQ(verdict(pong(), body("PONG-7F3A@@STOP@@")), Verdict::kWrongAnswer);
}

TEST(Leak, IsNotSeenInOrdinaryCodeOrMarkup) {
  const Task code = task(R"({"type": "code", "expected": {"contains": ["x"]}})");
  for (const char* reply : {"<s>old</s> a |> b <| c", "vector<pair<int, int>> y;", "if (a<b||c>d) {}",
                            "<response>1</response>"}) {
    EXPECT_EQ(verdict(code, body(reply)), Verdict::kWrongAnswer) << reply;
  }
}

TEST(Repetition, OfAnyPeriodAlsoAfterARightStart) {
  for (const std::string& reply :
       {repeat("!", 64), "PONG-7F3A" + repeat(" the", 30), "PONG-7F3A" + repeat("!", 12),
        repeat("PONG-7F3A ", 8), repeat("the the\n", 20), repeat("\xE6\x9D\xB1\xE4\xBA\xAC", 9),
        "x " + repeat("abcdefghijklmnopqrstuvwx", 6),
        repeat("Please provide the text that you want me to repeat.\n", 7), "PONG" + repeat(" ok", 40) + " o",
        "PONG" + repeat("7F", 40) + ".", repeat("\n", 64), "PONG" + repeat("\n", 64),
        "1" + repeat("0", 30)}) {
    EXPECT_EQ(verdict(pong(), body(reply)), Verdict::kRepetition) << reply;
  }
}

TEST(Repetition, IsNotSeenInShortTails) {
  for (const std::string& reply :
       {std::string("PONG-7F3B!!!"), std::string("Hmm..."), std::string("no no no"),
        std::string("PONG-7F3B\n\n\n\n\n\n\n\n"), std::string("7777777")}) {
    EXPECT_EQ(verdict(pong(), body(reply)), Verdict::kWrongAnswer) << reply;
  }
  // As much of it as the expected text has.
  EXPECT_EQ(verdict(exact("Stop!!!!!!!!!!!!"), body("Stap!!!!!!!!!!!!")), Verdict::kWrongAnswer);
}

TEST(Repetition, WhateverWhiteSpaceIsBetween) {
  EXPECT_EQ(verdict(pong(), body("x the the\nthe  the\n\nthe the   the\nthe\n\n\nthe the")),
            Verdict::kRepetition);
}

TEST(Repetition, OfReasoningThatNeverCameToAnAnswer) {
  EXPECT_EQ(verdict(pong(), body("", {.finish = "length", .reasoning = repeat(" wait", 100)})),
            Verdict::kRepetition);
}

TEST(Repetition, AsTheEngineItselfSays) {
  EXPECT_EQ(verdict(pong(), body("hm hm", {.finish = "repetition"})), Verdict::kRepetition);
}

TEST(Truncated, AtTheCapWhateverFinishReasonSays) {
  Task capped = pong();
  capped.max_tokens = 64;
  EXPECT_EQ(verdict(capped, body("PONG-7", {.finish = "stop", .tokens = 64})), Verdict::kTruncated);
  EXPECT_EQ(verdict(capped, body("Let me think about it", {.finish = "length", .tokens = 64})),
            Verdict::kTruncated);
  EXPECT_EQ(verdict(capped, body("PONG-7", {.finish = "stop", .tokens = 63})), Verdict::kWrongAnswer);
  EXPECT_EQ(verdict(capped, body("Let me think about it", {.finish = "length", .tokens = {}})),
            Verdict::kTruncated);
}

TEST(Truncated, WithoutAKnownCapIfRightSoFar) {
  EXPECT_EQ(verdict(pong(), body("PONG-7", {.finish = "length"})), Verdict::kTruncated);
  EXPECT_EQ(verdict(pong(), body("Something else", {.finish = "length"})), Verdict::kWrongAnswer);
  EXPECT_EQ(verdict(paris(), body(R"({"city":"Par)", {.finish = "length"})), Verdict::kTruncated);
  EXPECT_EQ(verdict(task(R"({"type": "int_sequence", "expected": [1, 2, 13]})"),
                    body("1, 2, 1", {.finish = "length"})),
            Verdict::kTruncated);
  EXPECT_EQ(verdict(task(R"({"type": "int_sequence", "expected": [1, 2, 13]})"),
                    body("1, 3", {.finish = "length"})),
            Verdict::kWrongAnswer);
  Shape shape{.finish = "length"};
  shape.tool_calls.push_back(call("get_weather", R"({"city": "Par)"));
  EXPECT_EQ(verdict(weather(), body(nullptr, shape)), Verdict::kTruncated);
}

TEST(Empty, NothingAtAll) {
  EXPECT_EQ(verdict(pong(), body("")), Verdict::kEmpty);
  EXPECT_EQ(verdict(pong(), body(nullptr, {.tokens = 37})), Verdict::kEmpty);
  EXPECT_EQ(verdict(pong(), body(" \n\n")), Verdict::kEmpty);
  EXPECT_EQ(verdict(paris(), body("")), Verdict::kEmpty);
  EXPECT_EQ(verdict(weather(), body(nullptr, {.finish = "tool_calls"})), Verdict::kEmpty);
  EXPECT_EQ(verdict(pong(), stream({})), Verdict::kEmpty);
  EXPECT_EQ(verdict(pong(), body("", {.reasoning = "PONG-7F3A"})), Verdict::kEmpty);
}

TEST(ToolCall, InTheText) {
  for (const char* reply :
       {"<tool_call>\n{\"name\": \"get_weather\"}\n</tool_call>",
        "{\"name\": \"get_weather\", \"arguments\": {}}", "```json\n{\"name\": \"get_weather\"}\n```",
        "get_weather(city=\"Paris\", days=3)",
        "<function=get_weather><parameter=city>Paris</parameter></function>",
        "[TOOL_CALLS] [{\"name\": \"get_weather\"}]", "<|python_tag|>{\"name\": \"get_weather\"}",
        "<|tool_call_begin|>functions.get_weather:0",
        "<\xEF\xBD\x9C"
        "tool\xE2\x96\x81"
        "calls\xE2\x96\x81"
        "begin\xEF\xBD\x9C>get_weather",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>",
        "<minimax:tool_call>\n<invoke name=\"get_weather\">", "commentary to=functions.get_weather json{}"}) {
    EXPECT_EQ(verdict(weather(), body(reply)), Verdict::kToolCallMalformed) << reply;
  }
  EXPECT_EQ(verdict(weather(), stream({"<tool", "_call>{\"na", "me\":\"x\"}</tool_", "call>"})),
            Verdict::kToolCallMalformed);
  EXPECT_EQ(verdict(weather(), body("It is sunny in Paris.")), Verdict::kWrongAnswer);
}

TEST(ToolCall, Malformed) {
  struct Wrong {
    const char* name;
    json::value arguments;
  };
  const std::vector<Wrong> wrongs = {
      {"get_weather", R"("{\"city\": \"Paris\", \"days\": 3}")"},           // encoded twice
      {"get_weather", "```json\n{\"city\": \"Paris\", \"days\": 3}\n```"},  // fenced
      {"get_weather", R"({"city": "Paris", "days": 3)"},                    // cut off
      {"get_weather", R"({"city": "Paris", "days": 3}{"city": "Paris"})"},  // twice
      {"get_weather", R"({"city": "Paris", "days": "3"})"},                 // another type
      {"get_weather", R"({"city": "Paris"})"},                              // a key is missing
      {"get_weather", R"({"city": "Paris", "days": 3, "unit": "c"})"},      // one too many
      {"get_weather", ""},
      {"get_weather", R"({"city": "Paris", "days": 3}</tool_call>)"},  // the parser stopped too late
      {"get_weather", json::object{{"city", "Paris"}, {"days", 3}}},   // no text
      {"", R"({"city": "Paris", "days": 3})"},
      {"get_weatherget_weather", R"({"city": "Paris", "days": 3})"},
      {"functions.get_weather", R"({"city": "Paris", "days": 3})"},
      {"get_weather\n", R"({"city": "Paris", "days": 3})"},
      {"get_wea", R"({"city": "Paris", "days": 3})"},
  };
  for (const Wrong& wrong : wrongs) {
    Shape shape{.finish = "tool_calls"};
    shape.tool_calls.push_back(call(wrong.name, wrong.arguments));
    EXPECT_EQ(verdict(weather(), body(nullptr, shape)), Verdict::kToolCallMalformed)
        << wrong.name << " " << wrong.arguments;
  }
}

TEST(ToolCall, TwoAreOneTooMany) {
  Shape shape{.finish = "tool_calls"};
  shape.tool_calls.push_back(call("get_weather", R"({"city": "Paris", "days": 3})"));
  shape.tool_calls.push_back(call("get_weather", R"({"city": "Paris", "days": 3})"));
  EXPECT_EQ(verdict(weather(), body(nullptr, shape)), Verdict::kToolCallMalformed);
}

TEST(ToolCall, WellFormedButWrong) {
  Shape value{.finish = "tool_calls"};
  value.tool_calls.push_back(call("get_weather", R"({"city": "London", "days": 3})"));
  EXPECT_EQ(verdict(weather(), body(nullptr, value)), Verdict::kWrongAnswer);
  Shape name{.finish = "tool_calls"};
  name.tool_calls.push_back(call("read_file", R"({"city": "Paris", "days": 3})"));
  EXPECT_EQ(verdict(weather(), body(nullptr, name)), Verdict::kWrongAnswer);
}

TEST(Order, TheEarlierNameWins) {
  EXPECT_EQ(verdict(pong(), body("\xEF\xBF\xBD<|im_end|>" + repeat("!", 40))), Verdict::kEncoding);
  EXPECT_EQ(verdict(pong(), body("<|im_end|>" + repeat("!", 40))), Verdict::kLeak);
  Task capped = pong();
  capped.max_tokens = 40;
  EXPECT_EQ(verdict(capped, body(repeat("!", 40), {.finish = "length", .tokens = 40})), Verdict::kRepetition);
  EXPECT_EQ(verdict(capped, body("", {.finish = "length", .tokens = 40})), Verdict::kTruncated);
}

}  // namespace
}  // namespace fireboss::canary
