#include "supervisor/app/port_silence.h"

#include <gtest/gtest.h>

namespace fireboss::app {
namespace {

TEST(PortSilence, TwoRunsTimedOutAndNoByteBetweenThem) {
  PortSilence silence;
  EXPECT_FALSE(silence.on_run(1, 5000));
  EXPECT_TRUE(silence.watching());
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(silence.on_look(5000));
  const auto told = silence.on_run(2, 5000);
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->any_sent);
  EXPECT_FALSE(silence.on_run(3, 5000)) << "an edge is told once";
}

TEST(PortSilence, OneByteIsProgressAndIsToldOnce) {
  PortSilence silence;
  EXPECT_FALSE(silence.on_run(1, 5000));
  const auto told = silence.on_look(5001);
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->any_sent);
  EXPECT_FALSE(silence.watching());
  EXPECT_FALSE(silence.on_look(9000));
}

TEST(PortSilence, AByteSeenOnlyAtTheSecondRunIsProgress) {
  PortSilence silence;
  EXPECT_FALSE(silence.on_run(1, 5000));
  const auto told = silence.on_run(2, 5001);
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->any_sent);
}

TEST(PortSilence, ByteOfALaterStandstillEndsIt) {
  PortSilence silence;
  EXPECT_FALSE(silence.on_run(1, 5000));
  ASSERT_TRUE(silence.on_run(2, 5000));
  const auto told = silence.on_look(6000);
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->any_sent);
}

TEST(PortSilence, ARunThatWasAnsweredEndsTheWatch) {
  PortSilence silence;
  EXPECT_FALSE(silence.on_run(1, 5000));
  EXPECT_FALSE(silence.on_run(0, 5000));
  EXPECT_FALSE(silence.watching());
  EXPECT_FALSE(silence.on_run(1, 7000)) << "it begins anew, with the tally of then";
  const auto told = silence.on_run(2, 7000);
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->any_sent);
}

TEST(PortSilence, ATallyThatCannotBeReadProvesNothing) {
  PortSilence silence;
  EXPECT_FALSE(silence.on_run(1, std::nullopt));
  EXPECT_FALSE(silence.watching());
  EXPECT_FALSE(silence.on_run(2, 5000)) << "nothing is known of the time before";
  EXPECT_FALSE(silence.on_look(std::nullopt));
  EXPECT_FALSE(silence.watching());
  EXPECT_FALSE(silence.on_run(3, 5000)) << "nor of the gap";
  const auto told = silence.on_run(4, 5000);
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->any_sent);
}

}  // namespace
}  // namespace fireboss::app
