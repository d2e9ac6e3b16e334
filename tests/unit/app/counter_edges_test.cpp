#include "supervisor/app/counter_edges.h"

#include <gtest/gtest.h>

namespace fireboss::app {
namespace {

constexpr Millis kPoll{15'000};

policy::Counters counters(std::int64_t running, std::int64_t tokens) {
  return {running, 0, 0, tokens, false};
}
policy::Counters failed() {
  policy::Counters counters;
  counters.scrape_failed = true;
  return counters;
}

class CounterEdgesTest : public ::testing::Test {
 protected:
  bool poll(const policy::Counters& sample) {
    now_ += kPoll;
    return edges_.on_poll(sample, now_).has_value();
  }
  CounterEdges edges_{Millis{90'000}};
  MonoTime now_{};
};

TEST_F(CounterEdgesTest, TellsTheFirstSampleAndThenNothingWhileItMoves) {
  EXPECT_TRUE(poll(counters(2, 100)));
  for (int i = 1; i < 50; ++i)
    EXPECT_FALSE(poll(counters(2 + i % 2, 100 + i))) << i;
}

TEST_F(CounterEdgesTest, TellsAStandstillTwiceAndItsEndAtOnce) {
  EXPECT_TRUE(poll(counters(2, 100)));
  EXPECT_FALSE(poll(counters(2, 150)));
  EXPECT_TRUE(poll(counters(2, 150)));
  EXPECT_TRUE(poll(counters(2, 150)));
  EXPECT_FALSE(poll(counters(2, 150)));
  EXPECT_TRUE(poll(counters(2, 151)));
  EXPECT_FALSE(poll(counters(2, 152)));
}

TEST_F(CounterEdgesTest, TellsBusyAtOnceAndQuietOnceItHasLasted) {
  EXPECT_TRUE(poll(counters(0, 0)));
  EXPECT_TRUE(poll(counters(1, 5)));
  for (int i = 0; i < 6; ++i)
    EXPECT_FALSE(poll(counters(0, 9))) << i;  // 90 s from the first idle poll are over with the seventh
  EXPECT_TRUE(poll(counters(0, 9)));
  EXPECT_FALSE(poll(counters(0, 9)));
}

TEST_F(CounterEdgesTest, NeedsTwoFailedScrapesToCallItUnknown) {
  EXPECT_TRUE(poll(counters(0, 0)));
  EXPECT_FALSE(poll(failed()));
  EXPECT_FALSE(poll(counters(0, 0)));
  EXPECT_FALSE(poll(failed()));
  EXPECT_TRUE(poll(failed()));
  EXPECT_FALSE(poll(failed()));
  EXPECT_TRUE(poll(counters(0, 0)));
}

}  // namespace
}  // namespace fireboss::app
