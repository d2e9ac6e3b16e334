#include "engine/sampler/stop_matcher.h"

#include <gtest/gtest.h>

namespace fireboss::engine {
namespace {

struct Outcome {
  std::string text;
  std::optional<std::string> stop;
};

Outcome run(std::vector<std::string> stops, std::string_view reply, std::size_t step) {
  StopMatcher matcher(std::move(stops));
  Outcome out;
  for (std::size_t i = 0; i < reply.size(); i += step) {
    out.text += matcher.push(reply.substr(i, step));
  }
  out.text += matcher.finish();
  out.stop = matcher.matched();
  return out;
}

TEST(StopMatcher, CutsAtAStopThatSpansPieces) {
  for (std::size_t step = 1; step < 8; ++step) {
    const auto outcome = run({"END"}, "one ENE END two", step);
    EXPECT_EQ(outcome.text, "one ENE ") << step;
    EXPECT_EQ(outcome.stop, "END");
  }
}

TEST(StopMatcher, LetsNoPartOfAStopOutBeforeItIsDecided) {
  StopMatcher matcher({"abc"});
  EXPECT_EQ(matcher.push("xab"), "x");
  EXPECT_EQ(matcher.push("abd"), "ababd");
  EXPECT_EQ(matcher.push("ab"), "");
  EXPECT_EQ(matcher.finish(), "ab");
  EXPECT_FALSE(matcher.matched());
}

TEST(StopMatcher, TakesTheStopThatIsCompleteFirst) {
  EXPECT_EQ(run({"bcd", "c"}, "abcde", 5).text, "ab");
  EXPECT_EQ(run({"bcd", "c"}, "abcde", 1).text, "ab");
  EXPECT_EQ(run({"c", "abc"}, "xabc", 4).text, "x");
}

TEST(StopMatcher, DropsWhatComesAfterTheMatch) {
  StopMatcher matcher({"."});
  EXPECT_EQ(matcher.push("a.b"), "a");
  EXPECT_EQ(matcher.push("c"), "");
  EXPECT_EQ(matcher.finish(), "");
}

}  // namespace
}  // namespace fireboss::engine
