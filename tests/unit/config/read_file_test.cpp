#include "supervisor/config/read_file.h"

#include <gtest/gtest.h>

namespace fireboss::config {
namespace {

TEST(Utf8, AcceptsEveryLengthUpToTheLastCodePoint) {
  const std::string text =
      "a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
  EXPECT_EQ(utf8_valid_length(text), text.size());
  EXPECT_EQ(utf8_valid_length(""), 0U);
}

TEST(Utf8, StopsAtTheFirstBadSequence) {
  for (const auto* bad :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3("})
    EXPECT_EQ(utf8_valid_length(std::string("ok") + bad), 2U) << ::testing::PrintToString(bad);
}

}  // namespace
}  // namespace fireboss::config
