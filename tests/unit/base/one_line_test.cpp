#include "base/one_line.h"

#include <string>

#include <gtest/gtest.h>

namespace fireboss {
namespace {

TEST(OneLine, HasASpaceForEveryControlCharacter) {
  EXPECT_EQ(one_line(std::string("a\nb\0c\x1b[2J\x7f\t", 11), 100), "a b c [2J  ");
  EXPECT_EQ(one_line("Zoë 🔥", 100), "Zoë 🔥");
  EXPECT_EQ(one_line("", 100), "");
}

TEST(OneLine, IsCutButNotInsideOfACharacter) {
  EXPECT_EQ(one_line("abcdef", 6), "abcdef");
  EXPECT_EQ(one_line("abcdef", 5), "abcde...");
  EXPECT_EQ(one_line("abcd🔥", 7), "abcd...");
  EXPECT_EQ(one_line("abcd🔥", 8), "abcd🔥");
  EXPECT_EQ(one_line("\x80\x80\x80", 2), "...");
}

}  // namespace
}  // namespace fireboss
