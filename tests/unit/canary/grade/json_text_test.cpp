#include "canary/grade/json_text.h"

#include <string>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace fireboss::canary {
namespace {

std::string text_of(std::string_view json) {
  boost::system::error_code error;
  const auto result = canonical(json, error);
  return result ? result->text : "error: " + error.message();
}

TEST(Canonical, IsOneTextPerValue) {
  EXPECT_EQ(text_of(R"( {"b" : [1, 2.0, -0, 1e2], "a":{"y":null,"x":"\u0041"}} )"),
            R"({"a":{"x":"A","y":null},"b":[1,2,0,100]})");
  EXPECT_EQ(text_of("0.25"), text_of("2.5e-1"));
  EXPECT_NE(text_of("true"), text_of("1"));
  EXPECT_NE(text_of("\"1\""), text_of("1"));
  EXPECT_EQ(text_of(R"({"a":1})"), canonical(boost::json::parse(R"({"a":1.0})")));
}

TEST(Canonical, TellsDuplicatesFromConflicts) {
  boost::system::error_code error;
  EXPECT_TRUE(canonical(R"({"a":1,"a":1.0})", error)->duplicate_keys);
  EXPECT_FALSE(canonical(R"({"a":1,"a":1.0})", error)->conflict);
  EXPECT_TRUE(canonical(R"({"x":{"a":1,"b":2,"a":3}})", error)->conflict);
  EXPECT_FALSE(canonical(R"([{"a":1},{"a":2}])", error)->conflict);
}

TEST(Canonical, RefusesAnythingBesideOneValue) {
  EXPECT_EQ(text_of("{} x"), "error: extra data");
  EXPECT_EQ(text_of("{}{}"), "error: extra data");
  EXPECT_EQ(text_of(""), "error: incomplete JSON");
  EXPECT_EQ(text_of("{\"a\":"), "error: incomplete JSON");
}

TEST(Canonical, IsBoundedInDepth) {
  EXPECT_EQ(text_of(std::string(100'000, '[')), "error: too deep");
  EXPECT_EQ(text_of(std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']')),
            std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']'));
}

TEST(ParseLenient, MendsWhatJsonForbids) {
  boost::system::error_code error;
  EXPECT_EQ(parse_lenient(R"("a\ud83db")", error)->as_string(),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(parse_lenient(R"("a\udd25\ud83d")", error)->as_string(), "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(parse_lenient(R"("\ud83d\udd25\\ud83d")", error)->as_string(), "\xF0\x9F\x94\xA5\\ud83d");
  EXPECT_EQ(parse_lenient("\"a\xFF\"", error)->as_string(), "a\xEF\xBF\xBD");
  EXPECT_EQ(parse_lenient("\"a\x01\"", error)->as_string(), "a\x01");
  EXPECT_FALSE(parse_lenient("\"\\ud83d", error));
  EXPECT_TRUE(is_cut_off(error));
  EXPECT_FALSE(parse_lenient("\xFF", error));
  EXPECT_FALSE(is_cut_off(error));
}

}  // namespace
}  // namespace fireboss::canary
