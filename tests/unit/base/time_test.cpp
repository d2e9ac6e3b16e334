#include "base/time.h"

#include <gtest/gtest.h>

namespace fireboss {
namespace {

TEST(ParseDuration, ReadsEveryUnitAndSequences) {
  EXPECT_EQ(parse_duration("250ms").value(), Millis{250});
  EXPECT_EQ(parse_duration("90s").value(), Millis{90'000});
  EXPECT_EQ(parse_duration("1h30m").value(), Millis{5'400'000});
  EXPECT_EQ(parse_duration("2d").value(), Millis{172'800'000});
}

TEST(ParseDuration, RefusesWhatCouldBeMisread) {
  for (const auto* text :
       {"", "90", "-5s", "1.5h", "4 h", "h", "4x", "99999999999999999999s", "9223372036854775807d"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(FormatDuration, IsReadBackAsTheSameDuration) {
  for (const auto ms : {0, 1, 999, 1000, 61'001, 3'600'000, 90'061'001})
    EXPECT_EQ(parse_duration(format_duration(Millis{ms})).value(), Millis{ms});
}

TEST(HumaneDuration, NamesTheTwoLargestUnits) {
  EXPECT_EQ(humane_duration(Millis{0}), "0s");
  EXPECT_EQ(humane_duration(Millis{30}), "30ms");
  EXPECT_EQ(humane_duration(Millis{999}), "999ms");
  EXPECT_EQ(humane_duration(Millis{-30}), "-30ms");
  EXPECT_EQ(humane_duration(Millis{1'000}), "1.0s");
  EXPECT_EQ(humane_duration(Millis{1'250}), "1.2s");
  EXPECT_EQ(humane_duration(Millis{67'000}), "67s");
  EXPECT_EQ(humane_duration(Millis{23'760'000}), "6h 36m");
  EXPECT_EQ(humane_duration(Millis{273'600'000}), "3d 4h");
}

TEST(FormatWall, IsUtcWithMilliseconds) {
  EXPECT_EQ(format_wall(WallTime{Millis{1'786'431'458'007}}), "2026-08-11T06:57:38.007Z");
  EXPECT_EQ(format_wall(WallTime{Millis{-1}}), "1969-12-31T23:59:59.999Z");
}

TEST(ParseSize, ReadsUnitsAndRefusesUnknownOnes) {
  EXPECT_EQ(parse_size("64KiB").value(), 65'536U);
  EXPECT_EQ(parse_size("1GB").value(), 1'000'000'000U);
  EXPECT_EQ(parse_size("512").value(), 512U);
  for (const auto* text : {"", "-1", "1.5GiB", "5 GiB", "3K", "9999999TiB9"})
    EXPECT_FALSE(parse_size(text)) << text;
}

}  // namespace
}  // namespace fireboss
