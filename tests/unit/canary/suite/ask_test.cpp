#include "canary/suite/ask.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "canary/suite/make_suite.h"
#include "canary/suite/words.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;

RandomBytes bytes(unsigned seed) {
  std::mt19937 engine(seed);
  RandomBytes result{};
  std::generate(result.begin(), result.end(), [&] { return static_cast<std::uint8_t>(engine()); });
  return result;
}

Suite suite(const std::string& cold_by = "nonce") {
  SuiteSource source;
  source.model = "m";
  source.system_prompt.text = "You are careful.";
  source.tools.text = R"([{"type":"function","function":{"name":"read_file"}}])";
  source.variants = {"chat", "chat-stream", "chat-cold", "chat-logprobs"};
  source.extra_body = R"({"seed":7,"temperature":0.5})";
  source.cold_by = cold_by;
  return make_suite(source).value();
}

json::object body_of(const Suite& from, std::size_t variant, unsigned seed = 1) {
  return json::parse(make_ask(from, from.variants.at(variant), "first", bytes(seed)).body).as_object();
}

TEST(Nonce, IsAWordAndTwelveDifferentDigits) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const std::string nonce = make_prompt(bytes(seed)).nonce;
    const std::size_t dash = nonce.find('-');
    ASSERT_NE(dash, std::string::npos);
    EXPECT_TRUE(std::binary_search(kWords.begin(), kWords.end(), nonce.substr(0, dash))) << nonce;
    const std::string code = nonce.substr(dash + 1);
    EXPECT_EQ(code.size(), 12U);
    EXPECT_EQ(std::set<char>(code.begin(), code.end()).size(), 12U) << nonce;
    EXPECT_EQ(code.find_first_not_of("0123456789ABCDEF"), std::string::npos) << nonce;
  }
}

TEST(Nonce, HasMoreThanFortyEightBits) {
  // 512 words and 16!/4! codes.
  double codes = 1;
  for (int i = 16; i > 4; --i) {
    codes *= i;
  }
  EXPECT_GE(std::log2(static_cast<double>(kWords.size()) * codes), 48.0);
  EXPECT_EQ(std::set<std::string_view>(kWords.begin(), kWords.end()).size(), 512U);
  EXPECT_TRUE(std::is_sorted(kWords.begin(), kWords.end()));
  std::set<std::string> seen;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    seen.insert(make_prompt(bytes(seed)).nonce);
  }
  EXPECT_EQ(seen.size(), 20'000U);
}

TEST(Nonce, EveryDigitComesAtEveryPlace) {
  std::array<std::set<char>, 12> places;
  for (unsigned seed = 0; seed < 1'000; ++seed) {
    const std::string nonce = make_prompt(bytes(seed)).nonce;
    for (std::size_t i = 0; i < 12; ++i) {
      places[i].insert(nonce[nonce.size() - 12 + i]);
    }
  }
  for (const auto& place : places) {
    EXPECT_EQ(place.size(), 16U);
  }
}

TEST(Nonce, IsFoundWhereverItStands) {
  const std::string nonce = make_prompt(bytes(3)).nonce;
  EXPECT_EQ(nonces_in(nonce), std::vector<std::string_view>{nonce});
  const std::string glued = "x" + nonce + "y, " + nonce + ".";
  EXPECT_EQ(nonces_in(glued), (std::vector<std::string_view>{nonce, nonce}));
  EXPECT_TRUE(nonces_in("PONG-7F3A and NOSUCHWORD-0123456789AB -0123456789AB").empty());
}

TEST(Ask, HasTheOperatorsPromptToolsAndExtraBody) {
  const json::object body = body_of(suite(), 0);
  EXPECT_EQ(body.at("model"), "m");
  EXPECT_EQ(body.at("messages").as_array().size(), 2U);
  EXPECT_EQ(body.at("messages").at(0).at("content"), "You are careful.");
  const std::string user(body.at("messages").at(1).at("content").as_string());
  EXPECT_EQ(user, "Reply with exactly this text and nothing else: " + make_prompt(bytes(1)).nonce);
  EXPECT_EQ(body.at("tools").at(0).at("function").at("name"), "read_file");
  EXPECT_EQ(body.at("max_tokens"), 64);
  EXPECT_EQ(body.at("seed"), 7);
  EXPECT_EQ(body.at("temperature"), 0.5);
  for (const char* absent : {"stream", "stream_options", "logprobs", "cache_salt"}) {
    EXPECT_FALSE(body.contains(absent)) << absent;
  }
}

TEST(Ask, KeepsWhateverThePromptHolds) {
  SuiteSource source;
  source.system_prompt.text = "a \"b\" \\ c\n\t\x01 \xC4\x8F </s>";
  source.variants = {"chat", "chat-cold"};
  const Suite odd = make_suite(source).value();
  EXPECT_EQ(body_of(odd, 0).at("messages").at(0).at("content"), json::string_view(source.system_prompt.text));
  const std::string cold(body_of(odd, 1).at("messages").at(0).at("content").as_string());
  EXPECT_EQ(cold.substr(cold.size() - source.system_prompt.text.size() - 2),
            "\n\n" + source.system_prompt.text);
}

TEST(Ask, VariantsDiffer) {
  const json::object stream = body_of(suite(), 1);
  EXPECT_EQ(stream.at("stream"), true);
  EXPECT_EQ(stream.at("stream_options").at("include_usage"), true);
  EXPECT_EQ(body_of(suite(), 3).at("logprobs"), true);
}

TEST(Ask, AColdOneSharesNoPrefixWithTheNext) {
  const auto system = [](const json::object& body) {
    return std::string(body.at("messages").at(0).at("content").as_string());
  };
  const std::string first = system(body_of(suite(), 2, 1));
  const std::string second = system(body_of(suite(), 2, 2));
  EXPECT_NE(first.substr(0, 20), second.substr(0, 20));
  EXPECT_EQ(first.substr(first.size() - 18), "\n\nYou are careful.");
  EXPECT_FALSE(body_of(suite(), 2).contains("cache_salt"));

  const json::object salted = body_of(suite("cache_salt"), 2);
  EXPECT_EQ(system(salted), "You are careful.");
  EXPECT_EQ(salted.at("cache_salt").as_string().size(), 32U);
  EXPECT_NE(salted.at("cache_salt"), body_of(suite("cache_salt"), 2, 2).at("cache_salt"));
  EXPECT_TRUE(body_of(suite("both"), 2).contains("cache_salt"));
  EXPECT_NE(system(body_of(suite("both"), 2)), "You are careful.");
}

TEST(Ask, WithoutPromptToolsOrModelLeavesThemOut) {
  const Suite bare = make_suite({}).value();
  const json::object body = body_of(bare, 0);
  EXPECT_EQ(body.at("model"), "first");
  EXPECT_EQ(body.at("messages").as_array().size(), 1U);
  EXPECT_FALSE(body.contains("tools"));
}

TEST(Ask, MaxCompletionTokensTakesThePlaceOfMaxTokens) {
  SuiteSource source;
  source.extra_body = R"({"max_completion_tokens":300})";
  const json::object body = body_of(make_suite(source).value(), 0);
  EXPECT_FALSE(body.contains("max_tokens"));
  EXPECT_EQ(body.at("max_completion_tokens"), 300);
}

TEST(ParseModels, TakesTheIds) {
  EXPECT_EQ(parse_models(R"({"data":[{"id":"a"},{"x":1},{"id":"b"}]})").value(),
            (std::vector<std::string>{"a", "b"}));
  for (const char* wrong : {"", "[]", "{}", R"({"data":[]})", R"({"data":[{"id":1}]})", "<html>"}) {
    EXPECT_FALSE(parse_models(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace fireboss::canary
