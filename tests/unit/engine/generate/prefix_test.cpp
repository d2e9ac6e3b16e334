#include "engine/generate/prefix.h"

#include <vector>

#include <gtest/gtest.h>

namespace fireboss::engine {
namespace {

using Tokens = std::vector<TokenId>;

const Tokens kSystem{1, 2, 3, 4, 5, 6, 7, 8};
const Tokens kFirst{1, 2, 3, 4, 5, 6, 7, 8, 20, 21};
const Tokens kSecond{1, 2, 3, 4, 5, 6, 7, 8, 30};
const Tokens kOther{1, 9, 9, 9};
const Tokens kNothing{};

TEST(PrefixReuse, ContinuesTheLongestCommonPrefixInPlace) {
  const std::vector<SlotView> slots{{.tokens = kOther, .salt = "", .busy = false, .last_used = 1},
                                    {.tokens = kFirst, .salt = "", .busy = false, .last_used = 2}};
  const auto placement = place(slots, kSecond, "");
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->slot, 1U);
  EXPECT_EQ(placement->source, 1U);
  EXPECT_EQ(placement->reused, 8U);
}

TEST(PrefixReuse, LeavesTheLastTokenToBeComputed) {
  const std::vector<SlotView> slots{{.tokens = kFirst, .salt = "", .busy = false, .last_used = 1}};
  EXPECT_EQ(place(slots, kFirst, "")->reused, kFirst.size() - 1);
  EXPECT_EQ(place(slots, kSystem, "")->reused, kSystem.size() - 1);
}

TEST(PrefixReuse, NeverCrossesSalts) {
  const std::vector<SlotView> slots{{.tokens = kFirst, .salt = "a", .busy = false, .last_used = 5},
                                    {.tokens = kNothing, .salt = "", .busy = false, .last_used = 0}};
  EXPECT_EQ(place(slots, kFirst, "b")->reused, 0U);
  EXPECT_EQ(place(slots, kFirst, "")->reused, 0U);
  EXPECT_EQ(place(slots, kFirst, "b")->slot, 1U);
  EXPECT_EQ(place(slots, kFirst, "a")->reused, 9U);
}

TEST(PrefixReuse, CopiesFromABusySlot) {
  const std::vector<SlotView> slots{{.tokens = kFirst, .salt = "", .busy = true, .last_used = 2},
                                    {.tokens = kOther, .salt = "", .busy = false, .last_used = 1}};
  const auto placement = place(slots, kSecond, "");
  EXPECT_EQ(placement->slot, 1U);
  EXPECT_EQ(placement->source, 0U);
  EXPECT_EQ(placement->reused, 8U);
}

TEST(PrefixReuse, SparesALongSequenceThatSharesLittle) {
  const std::vector<SlotView> slots{{.tokens = kFirst, .salt = "", .busy = false, .last_used = 1},
                                    {.tokens = kNothing, .salt = "", .busy = false, .last_used = 0}};
  const auto placement = place(slots, kOther, "");
  EXPECT_EQ(placement->slot, 1U);
  EXPECT_EQ(placement->source, 0U);
  EXPECT_EQ(placement->reused, 1U);
}

TEST(PrefixReuse, TakesTheLeastRecentlyUsedSlotOtherwise) {
  const std::vector<SlotView> slots{{.tokens = kFirst, .salt = "", .busy = false, .last_used = 7},
                                    {.tokens = kFirst, .salt = "", .busy = false, .last_used = 3}};
  EXPECT_EQ(place(slots, Tokens{50, 51}, "")->slot, 1U);
}

TEST(PrefixReuse, WaitsWhenAllSlotsAreBusy) {
  const std::vector<SlotView> slots{{.tokens = kFirst, .salt = "", .busy = true, .last_used = 1}};
  EXPECT_FALSE(place(slots, kFirst, ""));
}

}  // namespace
}  // namespace fireboss::engine
