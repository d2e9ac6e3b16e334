#include "supervisor/config/load_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/config_fixture.h"

namespace fireboss::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTools =
    R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}])";

using LoadSuiteTest = ConfigTest;

TEST_F(LoadSuiteTest, HoldsTheContentsOfItsFiles) {
  put("prompts/system.txt", "You are helpful. Gr\xc3\xbc\xc3\x9f Gott.\n");
  put("prompts/tools.json", kTools);
  const auto suite = engine_of(load_engine(R"([engine.vllm.suite]
name = "main"
model = "m"
base_path = "/api/v1"
headers = { X-Team = "platform" }
api_key_credential = "key"
extra_body = '{"a": 1}'
system_prompt_file = "prompts/system.txt"
tools_file = "prompts/tools.json"
reasoning = "field"
max_tokens = 512
variants = ["chat", "chat-stream"]
cold_by = "both"
special_tokens = ["<|x|>"]
)"))
                         .suite;
  EXPECT_EQ(suite.name, "main");
  EXPECT_EQ(suite.model, "m");
  EXPECT_EQ(suite.base_path, "/api/v1");
  EXPECT_THAT(suite.headers, ElementsAre(std::pair<std::string, std::string>("X-Team", "platform")));
  EXPECT_EQ(suite.api_key_credential, "key");
  EXPECT_THAT(suite.system_prompt, HasSubstr("Gr\xc3\xbc\xc3\x9f"));
  EXPECT_THAT(suite.tools, HasSubstr("\"name\":\"f\""));
  EXPECT_EQ(suite.reasoning, canary::Reasoning::kField);
  EXPECT_EQ(suite.max_tokens, 512);
  ASSERT_EQ(suite.variants.size(), 2U);
  EXPECT_EQ(suite.variants[1].name, "chat-stream");
  EXPECT_EQ(suite.cold_by, canary::ColdBy::kBoth);
  EXPECT_THAT(suite.special_tokens, ElementsAre("<|x|>"));
}

TEST_F(LoadSuiteTest, ReadsAFileOfItsOwnWithPathsRelativeToThat) {
  put("suites/system.txt", "prompt");
  put("suites/main.toml", "model = \"m\"\nsystem_prompt_file = \"system.txt\"\n");
  const auto engine = engine_of(load_engine("suite = \"suites/main.toml\"\n"));
  EXPECT_EQ(engine.suite.model, "m");
  EXPECT_EQ(engine.suite.system_prompt, "prompt");
}

TEST_F(LoadSuiteTest, TellsMistakesInAFileOfItsOwnThere) {
  put("suites/main.toml", "modle = \"m\"\nmax_tokens = \"many\"\n");
  const auto loaded = load_engine("suite = \"suites/main.toml\"\n");
  std::vector<std::string> texts;
  for (const auto& error : loaded.errors)
    texts.push_back(error.text());
  EXPECT_THAT(texts,
              ElementsAre(HasSubstr("suites/main.toml:1:1: unknown key 'modle' (did you mean 'model'?)"),
                          HasSubstr("suites/main.toml:2:14: 'suite.max_tokens' must be a whole number")));
}

TEST_F(LoadSuiteTest, ChangesItsHashWithItsFiles) {
  put("system.txt", "one");
  const auto first = engine_of(load_engine("suite.system_prompt_file = \"system.txt\"\n")).suite.hash;
  put("system.txt", "two");
  EXPECT_NE(engine_of(load(main_file())).suite.hash, first);
}

TEST_F(LoadSuiteTest, TakesItsVariantsFromTheCanaryAndTheOtherWayRound) {
  auto engine = engine_of(load_engine("canary.variants = [\"chat\"]\n"));
  ASSERT_EQ(engine.suite.variants.size(), 1U);
  EXPECT_EQ(engine.suite.variants[0].name, "chat");
  engine = engine_of(load_engine("suite.variants = [\"chat-stream\"]\n"));
  EXPECT_THAT(engine.policy.variants, ElementsAre("chat-stream"));
}

TEST_F(LoadSuiteTest, BlamesTheKeyThatIsWrong) {
  EXPECT_THAT(errors("suite.api = \"soap\"\n"), ElementsAre(HasSubstr("4:13: 'suite.api': ")));
  EXPECT_THAT(errors("suite.extra_body = \"{\"\n"), ElementsAre(HasSubstr("4:20: 'suite.extra_body': ")));
  EXPECT_THAT(errors("suite.tools = \"no json\"\n"), ElementsAre(HasSubstr("4:15: 'suite.tools': ")));
  EXPECT_THAT(errors("suite.max_tokens = 0\n"), ElementsAre(HasSubstr("4:20: 'suite.max_tokens': ")));
  EXPECT_THAT(errors("canary.variants = [\"shout\"]\n"), ElementsAre(HasSubstr("4:19: 'canary.variants': ")));
  EXPECT_THAT(errors("[engine.vllm.suite.headers]\nX-Team = \"a\"\nAuthorization = \"Bearer x\"\n"),
              ElementsAre(HasSubstr("6:17: 'suite.headers.Authorization': a key does not belong")));
  put("tools.json", "no json");
  EXPECT_THAT(errors("suite.tools_file = \"tools.json\"\n"),
              ElementsAre(HasSubstr("4:20: 'suite.tools_file': ")));
}

TEST_F(LoadSuiteTest, TellsAnEmptyPromptFileOnce) {
  put("system.txt", "");
  const auto loaded = load_engine("suite.system_prompt_file = \"system.txt\"\n");
  EXPECT_THAT(short_errors(loaded), ElementsAre(HasSubstr("system.txt is empty")));
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST_F(LoadSuiteTest, RefusesPromptsThatAreNotUtf8OrTooLong) {
  put("system.txt", "abc\xc3(");
  EXPECT_THAT(errors("suite.system_prompt_file = \"system.txt\"\n"),
              ElementsAre(HasSubstr("is not UTF-8: first bad byte at offset 3")));
  put("system.txt", std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(errors("suite.system_prompt_file = \"system.txt\"\n"),
              ElementsAre(HasSubstr("longer than 1MiB")));
}

}  // namespace
}  // namespace fireboss::config
