#include "engine/faults/setting.h"

#include <gmock/gmock.h>

namespace fireboss::engine {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(FaultSettings, AreReadWithAllTheirKeys) {
  const auto setting =
      parse_fault("degrade=half-age=90s,offset=1h,speed=2.5,after=5s,for=1m,skip=3,count=2,chance=0.5");
  ASSERT_TRUE(setting) << setting.error().message;
  EXPECT_EQ(setting->fault, Fault::kDegrade);
  EXPECT_EQ(setting->half_age, 90s);
  EXPECT_EQ(setting->offset, 1h);
  EXPECT_EQ(setting->speed, 2.5);
  EXPECT_EQ(setting->after, 5s);
  EXPECT_EQ(setting->length, Millis(60'000));
  EXPECT_EQ(setting->skip, 3U);
  EXPECT_EQ(setting->count, 2U);
  EXPECT_EQ(setting->chance, 0.5);
}

TEST(FaultSettings, ReadBackWhatTheyWrite) {
  for (const std::string text : {"stall", "slow=pause=20ms,for=1m", "degrade=half-age=30s,chance=0.25",
                                 "error500=skip=1,count=1", "exit0=after=2s"}) {
    EXPECT_EQ(format_fault(parse_fault(text).value()), text);
  }
  for (const auto fault : all_faults()) {
    EXPECT_EQ(parse_fault(to_string(fault))->fault, fault);
  }
}

TEST(FaultSettings, NameTheMistake) {
  EXPECT_THAT(parse_fault("degrad").error().message,
              HasSubstr("fault 'degrad': unknown; known are degrade,"));
  EXPECT_THAT(parse_fault("slow=fast").error().message, HasSubstr("'fast' is not KEY=VALUE"));
  EXPECT_THAT(parse_fault("stall=pause=1s").error().message, HasSubstr("fault 'stall': pause: unknown key"));
  EXPECT_THAT(parse_fault("slow=pause=1").error().message, HasSubstr("fault 'slow': pause:"));
  EXPECT_THAT(parse_fault("repeat=chance=1.5").error().message,
              HasSubstr("'1.5' is not a number from 0 to 1"));
  EXPECT_THAT(parse_fault("repeat=chance=nan").error().message, HasSubstr("is not a number"));
  EXPECT_THAT(parse_fault("degrade=half-age=0s").error().message, HasSubstr("must be above 0"));
}

}  // namespace
}  // namespace fireboss::engine
