#include "supervisor/adapters/clock/system_clock.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

namespace fireboss::clock {
namespace {

namespace fs = std::filesystem;

TEST(SystemClockTest, MonotonicNeverStepsBackAndBootIsNotBehindIt) {
  const SystemClock clock;
  const auto first = clock.mono();
  const auto boot = clock.boot();
  const auto second = clock.mono();
  EXPECT_LE(first, second);
  EXPECT_GE(boot.time_since_epoch(), first.time_since_epoch());
}

TEST(SystemClockTest, WallTimeIsOfThisCentury) {
  const SystemClock clock;
  EXPECT_GT(clock.wall(), WallTime{Millis{1'600'000'000'000}});
  EXPECT_LT(clock.wall(), WallTime{Millis{4'100'000'000'000}});
}

TEST(SystemClockTest, BootIdIsReadBelowTheGivenRoot) {
  char path[] = "/tmp/fireboss-clock-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  const fs::path root = path;
  fs::create_directories(root / "sys/kernel/random");
  std::ofstream(root / "sys/kernel/random/boot_id") << "3f1c9e0a-0000-4000-8000-000000000000\n";
  EXPECT_EQ(SystemClock(root).boot_id(), "3f1c9e0a-0000-4000-8000-000000000000");
  fs::remove_all(root);
}

TEST(SystemClockTest, BootIdThatCannotBeReadIsEmpty) {
  EXPECT_EQ(SystemClock("/nonexistent").boot_id(), "");
}

}  // namespace
}  // namespace fireboss::clock
