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
  std::optional<policy::Counters> look(const policy::Counters& sample, Millis after = kPoll) {
    now_ += after;
    return edges_.on_poll(sample, own_, now_);
  }
  bool poll(const policy::Counters& sample) { return look(sample).has_value(); }
  // Watched for long enough without traffic.
  void quiet(std::int64_t tokens = 0) {
    for (int i = 0; i < 7; ++i)
      poll(counters(0, tokens));
  }

  policy::Policy policy_;  // quiet_for 90 s, quiet_tokens 64
  CounterEdges edges_{policy_};
  OwnCalls own_;
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

TEST_F(CounterEdgesTest, TellsQuietOnlyAfterQuietForOfWatching) {
  EXPECT_EQ(look(counters(0, 0))->busy, std::nullopt);
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(poll(counters(0, 0))) << i;
  EXPECT_EQ(look(counters(0, 0))->busy, false);
  EXPECT_FALSE(poll(counters(0, 0)));
}

TEST_F(CounterEdgesTest, TellsBusyAtOnceAndQuietOnceItHasLasted) {
  quiet();
  EXPECT_EQ(look(counters(1, 50))->busy, true);
  EXPECT_FALSE(poll(counters(0, 200)));
  EXPECT_FALSE(look(counters(0, 200), Millis{89'999}));
  EXPECT_EQ(look(counters(0, 200), Millis{1})->busy, false);
}

// Requests that come and go between two polls.
TEST_F(CounterEdgesTest, TellsBusyByTheTokensAlone) {
  quiet();
  EXPECT_FALSE(poll(counters(0, 63)));
  EXPECT_EQ(look(counters(0, 64))->busy, true);
  for (int i = 0; i < 30; ++i)
    EXPECT_FALSE(poll(counters(0, 264 + 200 * i))) << i;
}

TEST_F(CounterEdgesTest, PingsOfOtherMonitorsAreNoTraffic) {
  quiet();
  for (int i = 1; i < 200; ++i)
    EXPECT_FALSE(poll(counters(0, 10 * i))) << i;
}

TEST_F(CounterEdgesTest, OwnCallsAreNoTraffic) {
  policy_.quiet_tokens = 0;
  quiet(1000);
  own_ = {.in_flight = 1, .most_tokens = 256, .completion_tokens = 0};
  EXPECT_FALSE(poll(counters(1, 1020)));
  own_ = {.in_flight = 0, .most_tokens = 0, .completion_tokens = 32};
  EXPECT_FALSE(poll(counters(0, 1032)));
  EXPECT_EQ(look(counters(0, 1033))->busy, true);
}

TEST_F(CounterEdgesTest, AnothersRequestBesideOursIsTraffic) {
  quiet();
  own_.in_flight = 1;
  const auto edge = look(counters(2, 0));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->busy, true);
  EXPECT_EQ(edge->running, 2);
}

// The engine's counter may lag behind the reply.
TEST_F(CounterEdgesTest, ACounterThatLagsBehindOurReplyDoesNotGoBack) {
  quiet(1000);
  own_.completion_tokens = 32;
  EXPECT_FALSE(poll(counters(0, 1000)));
  EXPECT_FALSE(poll(counters(0, 1032)));
  EXPECT_FALSE(poll(counters(0, 1095)));
  EXPECT_EQ(look(counters(0, 1096))->busy, true);
}

TEST_F(CounterEdgesTest, OurOwnRequestThatHangsIsAStandstillAndNoTraffic) {
  quiet(1000);
  own_ = {.in_flight = 1, .most_tokens = 256, .completion_tokens = 0};
  EXPECT_FALSE(poll(counters(1, 1000)));
  for (int i = 0; i < 2; ++i) {
    const auto edge = look(counters(1, 1000));
    ASSERT_TRUE(edge);
    EXPECT_EQ(edge->running, 1);
    EXPECT_EQ(edge->busy, false);
  }
  EXPECT_FALSE(poll(counters(1, 1000)));
}

TEST_F(CounterEdgesTest, ACounterThatGoesBackIsAnotherProcesss) {
  quiet(5000);
  own_.completion_tokens = 32;
  EXPECT_EQ(look(counters(0, 3))->busy, std::nullopt);
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(poll(counters(0, 3))) << i;
  EXPECT_EQ(look(counters(0, 3))->busy, false);
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
