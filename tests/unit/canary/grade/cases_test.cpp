// Every shared case that has a reply, through the library.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "canary/grade/grade.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;

struct Case {
  std::string id, line;
  std::vector<std::string> accepted;  // the label first
};

std::vector<Case> read_cases() {
  std::ifstream file(std::string(FIREBOSS_SOURCE_DIR) + "/tests/fixtures/cases.jsonl");
  std::vector<Case> cases;
  std::string line;
  while (std::getline(file, line)) {
    const json::value value = json::parse(line);
    if (value.at("response").is_null()) {
      continue;
    }
    Case one{std::string(value.at("id").as_string()), line, {}};
    one.accepted.emplace_back(value.at("response_verdict").as_string());
    if (const json::value* more = value.as_object().if_contains("accept_verdicts"); more->is_array()) {
      for (const json::value& verdict : more->as_array()) {
        one.accepted.emplace_back(verdict.as_string());
      }
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

class SharedCase : public testing::TestWithParam<Case> {};

TEST_P(SharedCase, HasTheVerdictOfItsLabel) {
  const auto graded = grade_case(GetParam().line);
  ASSERT_TRUE(graded) << graded.error().message;
  const std::string verdict(graded->at("verdict").as_string());
  EXPECT_EQ(verdict, GetParam().accepted.front())
      << graded->at("reason")
      << (std::find(GetParam().accepted.begin(), GetParam().accepted.end(), verdict) !=
                  GetParam().accepted.end()
              ? " (accepted)"
              : "");
}

INSTANTIATE_TEST_SUITE_P(Cases, SharedCase, testing::ValuesIn(read_cases()), [](const auto& test) {
  std::string name = test.param.id;
  name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
  return name;
});

TEST(SharedCases, AreAllThere) {
  EXPECT_EQ(read_cases().size(), 38U);
}

}  // namespace
}  // namespace fireboss::canary
