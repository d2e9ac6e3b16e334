#include "canary/grade/text.h"

#include <string>

#include <gtest/gtest.h>

namespace fireboss::canary {
namespace {

TEST(Trim, TakesUnicodeWhiteSpaceFromBothEnds) {
  for (const char32_t point : {U' ', U'\t', U'\n', U'\v', U'\f', U'\r', U'\u0085', U'\u00A0', U'\u1680',
                               U'\u2000', U'\u200A', U'\u2028', U'\u2029', U'\u202F', U'\u205F', U'\u3000'}) {
    const std::string space = utf8(std::u32string(2, point));
    EXPECT_EQ(trim(space + "a b" + space), "a b") << static_cast<unsigned>(point);
  }
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Trim, LeavesEverythingElse) {
  // Zero-width space, byte order mark, half a character.
  for (const char* text : {"\xE2\x80\x8B", "\xEF\xBB\xBF", "\xE3\x80", "a\x80", "\xC2"}) {
    EXPECT_EQ(trim(text), text);
  }
}

TEST(CodePoints, ShowWhatIsNoUtf8AsReplacementCharacters) {
  EXPECT_EQ(code_points("a\xF0\x9F\x94\xA5"), U"a\U0001F525");
  // Overlong, surrogate, beyond U+10FFFF, cut off, stray.
  for (const char* text :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x9F\x94", "\x80"}) {
    EXPECT_EQ(code_points(text), std::u32string(std::string_view(text).size(), U'\uFFFD')) << text;
  }
}

TEST(MendUtf8, LeavesWholeTextAlone) {
  const std::string text = "a\xC4\x8F\xE6\x9D\xB1\xF0\x9F\x94\xA5";
  EXPECT_EQ(mend_utf8(text), text);
  EXPECT_EQ(mend_utf8("a\xFF"), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace fireboss::canary
