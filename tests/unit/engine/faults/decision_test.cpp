#include "engine/faults/decision.h"

#include <gmock/gmock.h>

#include "tests/unit/engine/drill.h"

namespace fireboss::engine {
namespace {

using namespace std::chrono_literals;

constexpr PromptShape kBare{};
constexpr PromptShape kSystem{.system_bytes = 17'000};
constexpr PromptShape kSystemAndTools{.system_bytes = 17'000, .tools = true};
constexpr Millis kOld{6 * 3'600'000 + 36 * 60'000};  // 6.6 h

int clean_of_20(const PromptShape& shape, Millis age, std::uint64_t seed) {
  int clean = 0;
  for (std::uint64_t number = 0; number < 20; ++number) {
    clean += degraded({}, age, shape, seed, number) == Spoil::kNone;
  }
  return clean;
}

TEST(GarbleChance, IsThatOfTheCase) {
  EXPECT_EQ(garble_chance(kOld, 4h, kBare), 0);
  EXPECT_NEAR(garble_chance(kOld, 4h, kSystem), 0.149, 0.001);
  EXPECT_NEAR(garble_chance(kOld, 4h, kSystemAndTools), 0.994, 0.001);
  EXPECT_NEAR(garble_chance(84min, 4h, kSystemAndTools), 0.0103, 0.0005);
  EXPECT_NEAR(garble_chance(4h, 4h, kSystemAndTools), 0.5, 1e-9);
  EXPECT_EQ(garble_chance(0s, 4h, kSystemAndTools), 0);
}

// 20 of 20, 17 of 20, 0 of 20: the middle of many seeds.
TEST(DegradedReplies, AreAsManyAsInTheCase) {
  int bare = 0;
  int system = 0;
  int tools = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    bare += clean_of_20(kBare, kOld, seed);
    system += clean_of_20(kSystem, kOld, seed);
    tools += clean_of_20(kSystemAndTools, kOld, seed);
  }
  EXPECT_EQ(bare, 200 * 20);
  EXPECT_NEAR(system / 200.0, 17, 0.4);
  EXPECT_LT(tools / 200.0, 0.5);
}

TEST(DegradedReplies, ComeInAllKindsAndErrorsOnlyWithTools) {
  std::map<Spoil, int> with_tools;
  std::map<Spoil, int> without;
  for (std::uint64_t number = 0; number < 4000; ++number) {
    ++with_tools[degraded({}, 100h, kSystemAndTools, 1, number)];
    ++without[degraded({}, 100h, kSystem, 1, number)];
  }
  EXPECT_NEAR(with_tools[Spoil::kHttp500], 200, 60);
  for (const auto spoil : {Spoil::kAfterStop, Spoil::kFragment, Spoil::kOtherText, Spoil::kRepeat}) {
    EXPECT_GT(with_tools[spoil], 100);
    EXPECT_GT(without[spoil], 5);
  }
  EXPECT_EQ(without[Spoil::kHttp500], 0);
}

TEST(DegradedReplies, FollowSpeedAndOffset) {
  const auto setting = parse_fault("degrade=half-age=10s,speed=10").value();
  EXPECT_EQ(degraded(setting, 50ms, kSystemAndTools, 1, 0), Spoil::kNone);
  EXPECT_NE(degraded(setting, 5s, kSystemAndTools, 1, 0), Spoil::kNone);
  const auto old = parse_fault("degrade=half-age=10s,offset=1h").value();
  EXPECT_NE(degraded(old, 0s, kSystemAndTools, 1, 0), Spoil::kNone);
}

TEST(Draw, IsUniformAndRepeatable) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double x = draw(42, i, 1);
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 3, 2));
}

TEST(GarblePlans, LeakSpecialTokensAfterTheWholeReply) {
  const auto& tokenizer = Drill::get().tokenizer;
  const auto plan = garble_plan(Spoil::kAfterStop, tokenizer, "", 1, 1);
  EXPECT_FALSE(plan.own_tokens);
  ASSERT_GT(plan.tokens.size(), 5U);
  EXPECT_EQ(plan.tokens[0], 2031);
  EXPECT_EQ(plan.tokens[1], 2030);
}

TEST(GarblePlans, GiveAnothersText) {
  const auto& tokenizer = Drill::get().tokenizer;
  const auto plan = garble_plan(Spoil::kOtherText, tokenizer, "ECHO-12", 1, 1);
  EXPECT_EQ(plan.own_tokens, 0U);
  EXPECT_EQ(plan.tokens, tokenizer.encode("ECHO-12"));
}

TEST(Garbler, LetsEverythingThroughWithoutAPlan) {
  Garbler garbler;
  EXPECT_EQ(garbler.next(5, false).token, 5);
  EXPECT_FALSE(garbler.next(5, false).spoiled);
  EXPECT_EQ(garbler.next(5, true).token, std::nullopt);
}

TEST(Garbler, SpoilsAfterTheOwnTokens) {
  Garbler garbler({.own_tokens = 1, .tokens = {8, 9}});
  EXPECT_EQ(garbler.next(5, false).token, 5);
  EXPECT_EQ(garbler.next(6, false).token, 8);
  EXPECT_TRUE(garbler.next(6, false).spoiled);
  EXPECT_EQ(garbler.next(6, false).token, std::nullopt);
}

TEST(Garbler, RepeatsForEver) {
  Garbler garbler({.own_tokens = 2, .tokens = {}, .repeat_last = true});
  EXPECT_EQ(garbler.next(5, false).token, 5);
  EXPECT_EQ(garbler.next(6, false).token, 6);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(garbler.next(7, i % 2 == 0).token, 6);
  }
}

TEST(Garbler, WaitsForTheEndOfTheReply) {
  Garbler garbler({.own_tokens = std::nullopt, .tokens = {8}});
  EXPECT_EQ(garbler.next(5, false).token, 5);
  EXPECT_EQ(garbler.next(6, true).token, 8);
  EXPECT_EQ(garbler.next(6, false).token, std::nullopt);
}

}  // namespace
}  // namespace fireboss::engine
