#include "supervisor/app/role_census.h"

#include <gmock/gmock.h>

namespace fireboss::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RoleCensusTest : public ::testing::Test {
 protected:
  std::optional<policy::Census> look(Millis after, const std::vector<std::string>& commands,
                                     const std::string& life = "a") {
    now_ += after;
    return census_.on_look(life, commands, now_);
  }
  const std::vector<std::string> all_{"python3 -m vllm.entrypoints.openai.api_server", "VLLM::EngineCore"};
  const std::vector<std::string> no_core_{"python3 -m vllm.entrypoints.openai.api_server"};
  RoleCensus census_{{"api_server", "EngineCore"}, Millis{5'000}};
  MonoTime now_{};
};

TEST_F(RoleCensusTest, EverybodyThereIsNoNews) {
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(look(Millis{15'000}, all_)) << i;
  EXPECT_EQ(census_.next_look(), Millis{15'000});
}

TEST_F(RoleCensusTest, AMissIsToldAtOnceAndOnceMoreAtTheSecondLook) {
  EXPECT_FALSE(look(Millis{0}, all_));
  const auto first = look(Millis{15'000}, no_core_);
  ASSERT_TRUE(first);
  EXPECT_THAT(first->missing, ElementsAre("EngineCore"));
  EXPECT_EQ(first->life, "a");
  EXPECT_EQ(census_.next_look(), Millis{5'000});
  EXPECT_FALSE(look(Millis{4'999}, no_core_));
  EXPECT_EQ(census_.next_look(), Millis{5'000});
  const auto second = look(Millis{1}, no_core_);
  ASSERT_TRUE(second);
  EXPECT_THAT(second->missing, ElementsAre("EngineCore"));
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(look(Millis{15'000}, no_core_)) << i;
  EXPECT_EQ(census_.next_look(), Millis{15'000});
}

TEST_F(RoleCensusTest, ARoleThatIsBackIsToldAndMissedAnew) {
  ASSERT_TRUE(look(Millis{0}, no_core_));
  const auto back = look(Millis{5'000}, all_);
  ASSERT_TRUE(back);
  EXPECT_THAT(back->missing, IsEmpty());
  EXPECT_TRUE(look(Millis{15'000}, no_core_));
  EXPECT_TRUE(look(Millis{5'000}, no_core_));
}

TEST_F(RoleCensusTest, AnotherRoleMissingIsAnotherMiss) {
  ASSERT_TRUE(look(Millis{0}, no_core_));
  const auto none = look(Millis{5'000}, {});
  ASSERT_TRUE(none);
  EXPECT_THAT(none->missing, ElementsAre("api_server", "EngineCore"));
  EXPECT_FALSE(look(Millis{4'999}, {}));
  EXPECT_TRUE(look(Millis{1}, {}));
}

TEST_F(RoleCensusTest, ANewLifeBeginsWithEverybodyThere) {
  ASSERT_TRUE(look(Millis{0}, no_core_));
  const auto other = look(Millis{5'000}, no_core_, "b");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->life, "b");
  EXPECT_FALSE(look(Millis{4'999}, no_core_, "b"));
}

TEST_F(RoleCensusTest, IsConfiguredByRolesAlone) {
  EXPECT_TRUE(census_.configured());
  EXPECT_FALSE(RoleCensus({}, Millis{5'000}).configured());
}

}  // namespace
}  // namespace fireboss::app
