#include "canary/suite/make_suite.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace fireboss::canary {
namespace {

SuiteSource source() {
  SuiteSource result;
  result.name = "vllm";
  result.model = "m";
  result.system_prompt = {"/etc/fireboss/prompt.md", "You are careful."};
  result.tools = {"", R"([{"type": "function", "function": {"name": "read_file", "parameters": {}}}])"};
  result.extra_body = R"({"seed": 7})";
  return result;
}

// "key: message" of the only problem; all of them if there are several.
std::string problem(const SuiteSource& from) {
  const auto suite = make_suite(from);
  std::string text;
  if (!suite) {
    for (const SuiteProblem& each : suite.error()) {
      text += (text.empty() ? "" : " | ") + each.key + ": " + each.message;
    }
  }
  return text;
}

template <typename Change>
std::string problem_with(Change change) {
  SuiteSource changed = source();
  change(changed);
  return problem(changed);
}

TEST(MakeSuite, TakesWhatIsThere) {
  const auto suite = make_suite(source());
  ASSERT_TRUE(suite) << problem(source());
  EXPECT_EQ(suite->variants.size(), 3U);
  EXPECT_TRUE(suite->variants[1].stream);
  EXPECT_TRUE(suite->variants[2].cold);
  EXPECT_EQ(suite->tools, R"([{"type":"function","function":{"name":"read_file","parameters":{}}}])");
  EXPECT_EQ(suite->hash.size(), 64U);
}

TEST(MakeSuite, TheHashIsOfTheContentAndNotOfItsSpellingOrPlace) {
  const std::string hash = make_suite(source())->hash;
  SuiteSource same = source();
  same.tools.text = R"([ {"type":"function","function":{"name":"read_file","parameters":{} }} ])";
  same.system_prompt.path = "/elsewhere";
  same.base_path = "/v1/";
  same.name = "another name";
  EXPECT_EQ(make_suite(same)->hash, hash);
  const auto differs = [&](auto change) {
    SuiteSource other = source();
    change(other);
    const auto suite = make_suite(other);
    return suite && suite->hash != hash;
  };
  EXPECT_TRUE(differs([](SuiteSource& s) { s.model = "n"; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.base_path = "/v2"; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.headers = {{"x", "y"}}; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.api_key_credential = "key"; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.extra_body = R"({"seed": 8})"; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.system_prompt.text += " "; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.tools = {}; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.reasoning = "field", s.max_tokens = 512; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.cold_by = "both"; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.max_tokens = 65; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.variants = {"chat"}; }));
  EXPECT_TRUE(differs([](SuiteSource& s) { s.special_tokens = {"@@"}; }));
}

TEST(MakeSuite, ReportsEveryProblemInOnePass) {
  SuiteSource bad = source();
  bad.api = "anthropic";
  bad.max_tokens = 0;
  bad.variants = {"chat", "chat", "chatty"};
  EXPECT_EQ(
      problem(bad),
      "api: 'anthropic' is not supported; use 'openai-chat' | max_tokens: must be from 32 (well above the "
      "answer) to 131072 | variants: 'chat' is named twice | variants: 'chatty' is none of chat, "
      "chat-stream, "
      "chat-cold, chat-logprobs");
}

TEST(MakeSuite, NamesTheKeyAndWhatToDo) {
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.base_path = "v1"; }),
            "base_path: must begin with '/' and hold no space, '?' or '#', like \"/v1\"");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.base_path = "/v1?x"; }).substr(0, 10), "base_path:");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.model = "a\nb"; }),
            "model: must be one line of at most 256 characters");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.api_key_credential = "/etc/key"; }).substr(0, 19),
            "api_key_credential:");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.reasoning = "yes"; }),
            "reasoning: 'yes' is none of none, field, inline_tags");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.cold_by = "ice"; }),
            "cold_by: 'ice' is none of nonce, cache_salt, both");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.reasoning = "field"; }).substr(0, 30),
            "max_tokens: must be at least 2");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.variants = {}; }), "variants: must name at least one");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.special_tokens = {""}; }),
            "special_tokens: each must have 1 to 128 bytes");
}

TEST(MakeSuite, GuardsTheHeaders) {
  const auto with = [](const char* name, const char* value) {
    return problem_with([&](SuiteSource& s) { s.headers = {{name, value}}; });
  };
  EXPECT_EQ(with("x-team", "ops"), "");
  EXPECT_EQ(with("Host", "x"), "headers.Host: is set by Fireboss itself; remove it");
  EXPECT_EQ(with("a b", "x"), "headers.a b: is no header name");
  EXPECT_EQ(with("x", "a\r\nb: c"), "headers.x: must be one line of at most 4096 characters");
  EXPECT_NE(with("Authorization", "Bearer x").find("api_key_credential"), std::string::npos);
  EXPECT_EQ(problem_with([](SuiteSource& s) {
              s.headers = {{"X-A", "1"}, {"x-a", "2"}};
            }),
            "headers.x-a: is given twice");
}

TEST(MakeSuite, ChecksTheTexts) {
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.system_prompt.text = std::string(1024 * 1024 + 1, 'x'); }),
            "system_prompt_file: /etc/fireboss/prompt.md is larger than 1MiB");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.system_prompt.text = ""; }),
            "system_prompt_file: /etc/fireboss/prompt.md is empty");
  EXPECT_EQ(problem_with([](SuiteSource& s) { s.system_prompt.text = "a\xFF"; }),
            "system_prompt_file: /etc/fireboss/prompt.md is no UTF-8 text");
  EXPECT_EQ(problem_with([](SuiteSource& s) {
              s.system_prompt = {"", std::string("a\0b", 3)};
            }),
            "system_prompt: is no UTF-8 text");
}

TEST(MakeSuite, ChecksTheTools) {
  const auto with = [](const std::string& text) {
    return problem_with([&](SuiteSource& s) { s.tools = {"t.json", text}; });
  };
  EXPECT_EQ(with("{}"), "tools_file: t.json must be a JSON array of function tools");
  EXPECT_EQ(with("[1,"), "tools_file: t.json must be a JSON array of function tools: incomplete JSON");
  EXPECT_EQ(with(""), "tools_file: t.json must be a JSON array of function tools: incomplete JSON");
  EXPECT_EQ(with("[]"), "tools_file: t.json must hold 1 to 256 tools");
  EXPECT_EQ(with(R"([{"type":"function","function":{}}])"),
            R"(tools_file: t.json tool 1 must be {"type": "function", "function": {"name": ..., ...}})");
  EXPECT_EQ(
      with(R"([{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}])"),
      "tools_file: t.json tool 2 has the name of another: 'a'");
}

TEST(MakeSuite, ChecksTheExtraBody) {
  const auto with = [](const std::string& text) {
    return problem_with([&](SuiteSource& s) { s.extra_body = text; });
  };
  EXPECT_EQ(with("[]"), "extra_body: must be a JSON object");
  EXPECT_EQ(with("{"), "extra_body: must be a JSON object: incomplete JSON");
  EXPECT_EQ(with(R"({"stream": true})"),
            "extra_body: must not hold 'stream': choose the variant chat-stream");
  EXPECT_EQ(with(R"({"temperature": 0.1, "chat_template_kwargs": {"enable_thinking": false}})"), "");
}

}  // namespace
}  // namespace fireboss::canary
