// Replies are untrusted: whatever comes, the grader answers, and always the same.
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "tests/unit/canary/grade/replies.h"

namespace fireboss::canary {
namespace {

using namespace testing_replies;

std::vector<std::string> lines_of_cases() {
  std::ifstream file(std::string(FIREBOSS_SOURCE_DIR) + "/tests/fixtures/cases.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Bytes changed, cut, doubled, put in: a few at a time.
std::string damaged(std::string text, std::mt19937& random) {
  const auto at = [&] { return text.empty() ? 0 : random() % text.size(); };
  constexpr std::string_view kPieces[] = {"\"",         "\\",     "{",  "[", "\\ud83d", "\xF0",
                                          "<|im_end|>", "data: ", "\n", ",", "null"};
  for (unsigned times = random() % 4 + 1; times > 0; --times) {
    switch (random() % 4) {
      case 0:
        if (!text.empty()) {
          text[at()] = static_cast<char>(random());
        }
        break;
      case 1:
        text.erase(at(), random() % 20);
        break;
      case 2:
        text.insert(at(), kPieces[random() % std::size(kPieces)]);
        break;
      default:
        text.insert(at(), text.substr(at(), random() % 40));
    }
  }
  return text;
}

TEST(Grader, AnswersWhateverTheLineIs) {
  std::mt19937 random(4711);
  const std::vector<std::string> lines = lines_of_cases();
  ASSERT_FALSE(lines.empty());
  for (int round = 0; round < 4'000; ++round) {
    const std::string line = damaged(lines[random() % lines.size()], random);
    const auto first = grade_case(line);
    const auto second = grade_case(line);
    ASSERT_EQ(first.has_value(), second.has_value());
    if (first) {
      EXPECT_EQ(*first, *second) << line;
    } else {
      EXPECT_FALSE(first.error().message.empty());
    }
  }
}

TEST(Grader, NeverPassesADamagedBodyWithAnotherText) {
  std::mt19937 random(42);
  const std::string fine = stream({"PONG-7F3A"}).body;
  for (int round = 0; round < 4'000; ++round) {
    Response response = events(damaged(fine, random));
    const Graded graded = grade(pong(), response);
    if (graded.verdict == Verdict::kOk) {
      EXPECT_NE(response.body.find("PONG-7F3A"), std::string::npos) << response.body;
      EXPECT_NE(response.body.find("[DONE]"), std::string::npos) << response.body;
    }
  }
}

// Each of these was once, or could be, quadratic: the test's own timeout is the bound.
TEST(Grader, TakesLinearTimeForHugeReplies) {
  constexpr int kMany = 500'000;
  EXPECT_EQ(grade(pong(), events(repeat("data: {\n", kMany))).verdict, Verdict::kHttpError);
  EXPECT_EQ(grade(pong(), events(repeat("data: {}\n", kMany))).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), events(repeat(": ping\n\n", kMany))).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), body(repeat("PONG-", kMany) + "x")).verdict, Verdict::kRepetition);
  EXPECT_EQ(grade(pong(), body("a" + repeat(" ", kMany) + "b")).verdict, Verdict::kRepetition);
  EXPECT_EQ(grade(exact("<|a|>"), body(repeat("<|a|>", kMany))).verdict, Verdict::kLeak);
  EXPECT_EQ(grade(pong(), body(repeat("OTTER-0123456789AB ", kMany)),
                  {.reasoning = Reasoning::kNone,
                   .special_tokens = {},
                   .issued = [](std::string_view) { return false; }})
                .verdict,
            Verdict::kRepetition);
}

TEST(Grader, BoundsWhatItReads) {
  EXPECT_EQ(result_text(grade(pong(), events(std::string(17 * 1024 * 1024, 'x')))), "inconclusive:too_large");
}

}  // namespace
}  // namespace fireboss::canary
