#include "supervisor/ctl/escape.h"

#include <gtest/gtest.h>

namespace fireboss::ctl {
namespace {

TEST(Escape, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(escape("PONG-7F3A naïve 東京 🚀"), "PONG-7F3A naïve 東京 🚀");
}

TEST(Escape, DisarmsControlBytes) {
  EXPECT_EQ(escape("a\x1b[31mred\x07\n\tb\x7f"), "a\\x1b[31mred\\x07\\n\\tb\\x7f");
  EXPECT_EQ(escape("\xc2\x9b"), "\\xc2\\x9b");  // C1 CSI
  EXPECT_EQ(escape(std::string_view("\0", 1)), "\\x00");
}

TEST(Escape, ShowsWhatIsNotUtf8ByteByByte) {
  EXPECT_EQ(escape("\xff"
                   "a\xc3"),
            "\\xffa\\xc3");
  EXPECT_EQ(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escape("\xc0\xaf"), "\\xc0\\xaf");           // overlong
}

TEST(Escape, DisarmsTextThatRunsBackwards) {
  EXPECT_EQ(escape("a\xe2\x80\xae"
                   "b"),
            "a\\xe2\\x80\\xaeb");
}

}  // namespace
}  // namespace fireboss::ctl
