#include "supervisor/policy/keys.h"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/nearest.h"

namespace fireboss::policy {
namespace {

using ::testing::HasSubstr;

Result<Policy> from(const char* text) {
  return policy_from_json(boost::json::parse(text).as_object(), Policy{});
}
std::string error_of(const char* text) {
  const auto policy = from(text);
  return policy ? "no error" : policy.error().message;
}

TEST(PolicyKeys, LayAWrittenConfigOverTheDefaults) {
  const auto policy = from(R"({"mode": "enforce", "maintenance_grace": "1h",
      "canary": {"every": "5m", "n": 8, "k": 3, "rule": "confirm", "variants": ["chat"]},
      "recycle": {"max_age": "4h"}, "traffic": {"quiet_tokens": 0}})");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->mode, Mode::kEnforce);
  EXPECT_EQ(policy->maintenance_grace, std::chrono::hours{1});
  EXPECT_EQ(policy->canary_every, std::chrono::minutes{5});
  EXPECT_EQ(policy->n, 8);
  EXPECT_EQ(policy->k, 3);
  EXPECT_EQ(policy->rule, Rule::kConfirm);
  EXPECT_THAT(policy->variants, ::testing::ElementsAre("chat"));
  EXPECT_EQ(policy->max_age, Millis{std::chrono::hours{4}});
  EXPECT_EQ(policy->quiet_tokens, 0);
  EXPECT_EQ(policy->budget, 2) << "what is not written keeps its default";
}

TEST(PolicyKeys, TellEveryMistakeOfAWrittenConfig) {
  EXPECT_EQ(
      error_of(R"({"canary": {"evry": "5m", "n": 0}, "restart": {"budget": "two"}, "mode": 1})"),
      "unknown key 'canary.evry' (did you mean 'canary.every'?); canary.n: 0 is out of range: 1 to 64 is "
      "allowed; restart.budget: must be a whole number; mode: must be one of \"observe\", \"enforce\"");
  EXPECT_THAT(error_of(R"({"canary": {"n": 2, "k": 3}})"), HasSubstr("canary.k: k = 3 is more than n = 2"));
  EXPECT_THAT(error_of(R"({"canary": 5})"), HasSubstr("unknown key 'canary'"));
  EXPECT_THAT(error_of(R"({"canary": {"n": null}})"), HasSubstr("must be a text, a whole number or a list"));
  EXPECT_THAT(error_of(R"({"canary": {"variants": ["chat", 1]}})"), HasSubstr("must be a list of texts"));
  EXPECT_THAT(error_of(R"({"canary": {"n": 4.5}})"), HasSubstr("must be a text, a whole number or a list"));
}

TEST(PolicyKeys, AllowExactlyTheirRange) {
  const auto set = [](const char* name, KeyValue value) {
    Policy policy;
    return set_key(policy, *find_key(name), value).has_value();
  };
  EXPECT_FALSE(set("canary.every", "59999ms"));
  EXPECT_TRUE(set("canary.every", "1m"));
  EXPECT_TRUE(set("canary.every", "24h"));
  EXPECT_FALSE(set("canary.every", "24h1ms"));
  EXPECT_FALSE(set("canary.n", std::int64_t{0}));
  EXPECT_TRUE(set("canary.n", std::int64_t{1}));
  EXPECT_TRUE(set("canary.n", std::int64_t{64}));
  EXPECT_FALSE(set("canary.n", std::int64_t{65}));
  EXPECT_FALSE(set("traffic.quiet_tokens", std::int64_t{-1}));
  EXPECT_TRUE(set("restart.drain", "0s"));
}

// Each key writes a field of its own, and reads back what it wrote.
TEST(PolicyKeys, AreEachAFieldOfTheirOwn) {
  for (const auto& key : keys()) {
    Policy policy;
    KeyValue value;
    std::string written;
    switch (key.type) {
      case KeyType::kDuration:
        value = written = format_duration(Millis{key.most});
        break;
      case KeyType::kInteger:
        value = key.most;
        written = std::to_string(key.most);
        break;
      case KeyType::kWord:
        value = written = std::string(key.words.back());
        break;
      case KeyType::kWordList:
        value = std::vector<std::string>{"one", "two"};
        written = "one, two";
        break;
    }
    ASSERT_TRUE(set_key(policy, key, value)) << key.name;
    for (const auto& other : keys()) {
      const auto expected = &other == &key ? written : value_text(Policy{}, other);
      EXPECT_EQ(value_text(policy, other), expected) << "set " << key.name << ", looked at " << other.name;
    }
  }
}

TEST(PolicyKeys, StayTheSameForTheDefaults) {
  Policy again;
  for (const auto& key : keys()) {
    const auto text = value_text(Policy{}, key);
    if (text.empty() || key.type == KeyType::kWordList)
      continue;
    const auto value =
        key.type == KeyType::kInteger ? KeyValue{std::int64_t{std::stoll(text)}} : KeyValue{text};
    EXPECT_TRUE(set_key(again, key, value)) << key.name << ": the default is not allowed";
  }
  EXPECT_TRUE(conflicts(Policy{}).empty());
}

TEST(Nearest, FindsASlipAndNothingFarther) {
  constexpr std::string_view kKnown[] = {"max_age", "overdue_after", "drain"};
  EXPECT_EQ(nearest("max_aeg", kKnown), "max_age");
  EXPECT_EQ(nearest("maxage", kKnown), "max_age");
  EXPECT_EQ(nearest("dran", kKnown), "drain");
  EXPECT_EQ(nearest("rain", kKnown), "drain");
  EXPECT_EQ(nearest("budget", kKnown), std::nullopt);
  EXPECT_EQ(nearest("", kKnown), std::nullopt);
  EXPECT_EQ(nearest(std::string(65, 'a'), kKnown), std::nullopt);
}

}  // namespace
}  // namespace fireboss::policy
