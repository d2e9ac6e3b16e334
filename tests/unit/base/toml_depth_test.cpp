#include "base/toml_depth.h"

#include <string>

#include <gtest/gtest.h>

namespace fireboss {
namespace {

TEST(TomlDepth, CountsThePartsOfKeysAndHeaders) {
  EXPECT_EQ(line_of_deep_key("a.b.c = 1\n[d.e.f]\n", 3), std::nullopt);
  EXPECT_EQ(line_of_deep_key("a = 1\n\na.b.c.d = 1\n", 3), 3U);
  EXPECT_EQ(line_of_deep_key("[a.b.c.d]", 3), 1U);
  EXPECT_EQ(line_of_deep_key("[[a.b.c.d]]", 3), 1U);
  EXPECT_EQ(line_of_deep_key("x = { a = 1, b . c . d . e = 2 }", 3), 1U);
  EXPECT_EQ(line_of_deep_key("\"a\".'b.b.b.b'.\"c\\\".\".d = 1", 3), 1U);
}

TEST(TomlDepth, DotsOfValuesCommentsAndTextsAreNoParts) {
  EXPECT_EQ(line_of_deep_key("a = [1.5, 2.5, 3.5, 4.5] # a.b.c.d.e\n# a.b.c.d.e\n", 3), std::nullopt);
  EXPECT_EQ(line_of_deep_key("a = \"....\\\"....\"\nb = '....\\'\nc = '....'\n", 3), std::nullopt);
  EXPECT_EQ(
      line_of_deep_key("a = \"\"\"\n....\n\\\"\"\"....\n\"\"\"\"\"\nb = '''\n....'....''....\n'''\n", 3),
      std::nullopt);
}

TEST(TomlDepth, FindsTheKeyBehindATextOfManyLines) {
  EXPECT_EQ(line_of_deep_key("a = \"\"\"\n....\n\"\"\"\"\"\na.b.c.d = 1", 3), 4U);
  EXPECT_EQ(line_of_deep_key("a = ''''\n....\n'''\na.b.c.d = 1", 3), 4U);
  EXPECT_EQ(line_of_deep_key("a = \"never closed\na.b.c.d = 1", 3), 2U);
}

TEST(TomlDepth, EndsWhereTheTextEnds) {
  for (const auto* text : {"", "\"", "'", "\"\"\"", "'''", "\"\\", "\"\"\"\\", "#", "\"\"", "''"})
    EXPECT_EQ(line_of_deep_key(text, 3), std::nullopt) << text;
}

}  // namespace
}  // namespace fireboss
