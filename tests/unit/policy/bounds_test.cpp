// Numbers that nothing can be calculated with are refused where they are read, in records and written
// histories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/codec.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/history.h"
#include "supervisor/policy/reduce.h"
#include "supervisor/policy/simulate.h"

namespace fireboss::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string error_of(std::string_view kind, std::string_view payload) {
  const auto event = decode_event(kind, 1, payload);
  return event ? "" : event.error().message;
}

TEST(Bounds, NumbersOfARecordAreRefusedWhenTheyAreNearTheEnd) {
  EXPECT_EQ(error_of("suspended", R"({"length":9007199254740992})"), "");
  EXPECT_THAT(error_of("suspended", R"({"length":9223372036854775807})"),
              HasSubstr("length is out of range"));
  EXPECT_THAT(error_of("suspended", R"({"length":-9223372036854775808})"), HasSubstr("out of range"));
  EXPECT_THAT(error_of("counters", R"({"generation_tokens":9223372036854775807,"scrape_failed":false})"),
              HasSubstr("generation_tokens is out of range"));
}

TEST(Bounds, NumbersOfARecordFitWhatTheyAreReadInto) {
  EXPECT_EQ(error_of("life_ended", R"({"exit_status":255,"life":"a","result":"","start_limit":false})"), "");
  EXPECT_THAT(
      error_of("life_ended", R"({"exit_status":4294967551,"life":"a","result":"","start_limit":false})"),
      HasSubstr("exit_status is out of range"));
}

TEST(Bounds, PolicyOfARecordIsOneThatCouldBeConfigured) {
  const auto with = [](std::string_view was, std::string_view is) {
    auto text = canonical_text(Policy{});
    text.replace(text.find(was), was.size(), is);
    const auto policy = decode_policy(text);
    return policy ? "" : policy.error().message;
  };
  EXPECT_EQ(with(R"("canary.n":4)", R"("canary.n":5)"), "");
  EXPECT_THAT(with(R"("canary.n":4)", R"("canary.n":-1)"), HasSubstr("canary.n"));
  EXPECT_THAT(with(R"("canary.n":4)", R"("canary.n":4294967300)"), HasSubstr("canary.n"));
  EXPECT_THAT(with(R"("stall.after":300000)", R"("stall.after":9223372036854775807)"),
              HasSubstr("stall.after"));
  EXPECT_THAT(with(R"(["chat",)", R"([7,)"), HasSubstr("canary.variants"));
  EXPECT_THAT(with(R"(["chat",)", R"(["chat-cold",)"), HasSubstr("canary.variants"));
}

std::vector<std::string> errors_of(const std::string& line) {
  return read_history(line, "h", simulated_policy()).errors;
}

TEST(Bounds, DurationsAndCountsOfAHistory) {
  EXPECT_THAT(errors_of(R"({"t":0,"event":"suspended","for":"100000d"})"), IsEmpty());
  EXPECT_THAT(errors_of(R"({"t":0,"event":"suspended","for":"100001d"})"),
              ElementsAre(HasSubstr("'for' is out of range: 100000d is the most")));
  EXPECT_THAT(errors_of(R"({"t":0,"event":"operator","command":"hold","for":"9223372036854775807ms"})"),
              ElementsAre(HasSubstr("'for' is out of range")));
  EXPECT_THAT(errors_of(R"({"t":0,"event":"counters","running":9223372036854775807})"),
              ElementsAre(HasSubstr("'running' is out of range")));
}

TEST(Bounds, ErrorsOfAHistoryStayOnTheirLine) {
  for (const std::string& line :
       {std::string(R"({"t":0,"event":"a\nb"})"),
        std::string(R"({"t":0,"event":"ready","life":"a","x\u001b":1})"),
        R"({"t":0,"event":"suspended","for":")" + std::string(10'000, 'x') + "\"}"}) {
    const auto history = read_history(line, "h", simulated_policy());
    ASSERT_EQ(history.errors.size() + history.warnings.size(), 1U);
    const auto& words = history.errors.empty() ? history.warnings[0] : history.errors[0];
    EXPECT_EQ(words.find_first_of("\n\x1b"), std::string::npos) << words;
    EXPECT_LT(words.size(), 700U);
  }
}

// Step by step this would take for ever.
TEST(Bounds, ALifeMayBeOfAnyAge) {
  Policy policy;
  policy.recycle_check_every = Millis{60'000};
  policy.max_age = Millis{3'600'000};
  const MonoTime now{Millis{30'000}};
  const auto stepped = step(
      policy, State{},
      {.at = now, .body = LifeStarted{.life = "a", .fingerprint = {}, .age = Millis{std::int64_t{1} << 53}}});
  ASSERT_TRUE(stepped.state.recycle.next_check);
  EXPECT_GT(*stepped.state.recycle.next_check, now);
  EXPECT_LE(*stepped.state.recycle.next_check, now + policy.recycle_check_every);
}

TEST(Bounds, TheNextTimeLiesBehindNow) {
  const auto ms = [](std::int64_t x) { return MonoTime{Millis{x}}; };
  EXPECT_EQ(next_after(ms(5), Millis{10}, ms(4)), ms(5));
  EXPECT_EQ(next_after(ms(5), Millis{10}, ms(5)), ms(15));
  EXPECT_EQ(next_after(ms(5), Millis{10}, ms(14)), ms(15));
  EXPECT_EQ(next_after(ms(5), Millis{10}, ms(15)), ms(25));
  EXPECT_EQ(next_after(ms(-100), Millis{10}, ms(3)), ms(10));
}

}  // namespace
}  // namespace fireboss::policy
