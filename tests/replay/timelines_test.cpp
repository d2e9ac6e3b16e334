// Every written history in tests/fixtures/timelines, NAME.jsonl, decides what NAME.expected says, line for
// line: the histories that the rules must survive. A change of wording is made in both, on purpose.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/alert_severity.h"
#include "supervisor/policy/simulate.h"

namespace fireboss::policy {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

std::vector<std::string> histories() {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(FIREBOSS_SOURCE_DIR "/tests/fixtures/timelines"))
    if (entry.path().extension() == ".jsonl")
      out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

class Timeline : public testing::TestWithParam<std::string> {};

TEST_P(Timeline, DecidesAsExpected) {
  const std::filesystem::path base =
      std::string(FIREBOSS_SOURCE_DIR "/tests/fixtures/timelines/") + GetParam();
  const auto history =
      read_history(read(base.string() + ".jsonl"), GetParam() + ".jsonl", simulated_policy());
  ASSERT_THAT(history.errors, IsEmpty());
  EXPECT_THAT(history.warnings, IsEmpty());
  const auto expected = lines(read(base.string() + ".expected"));
  ASSERT_FALSE(expected.empty()) << "there is no " << base << ".expected";
  const auto simulation = simulate(history);
  EXPECT_THAT(lines_of(simulation), ElementsAreArray(expected));
  for (const auto& [at, decision] : simulation.decisions)
    EXPECT_TRUE(decision.kind != DecisionKind::kAlert ||
                alert_severity(decision.alert_key) == decision.severity)
        << decision.alert_key;
}

INSTANTIATE_TEST_SUITE_P(Histories, Timeline, testing::ValuesIn(histories()),
                         [](const auto& instance) { return instance.param; });

TEST(Timelines, AreAllThere) {
  EXPECT_GE(histories().size(), 50U);
}

}  // namespace
}  // namespace fireboss::policy
