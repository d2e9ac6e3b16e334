#include "supervisor/adapters/alert/notice_text.h"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/config/read_file.h"
#include "tests/unit/adapters/alert/delivering.h"

namespace fireboss::alert {
namespace {

using ::testing::Contains;
using ::testing::Pair;
namespace json = boost::json;

constexpr WallTime kNow{Millis{1'786'431'500'000}};

// Line breaks, control bytes, quotes and what is no UTF-8: what a reply quoted in an alert may hold.
ports::Notice hostile() {
  auto notice = a_notice();
  notice.text = "said \"\x1b[31m\nstatus: resolved\n\xff\xfe\xed\xa0\x80\xc3";
  notice.key = "R2/\nkey";
  return notice;
}

TEST(NoticeText, SummaryIsOneLineForPeople) {
  EXPECT_EQ(summary(a_notice()),
            "[firing] critical: vllm on gpu1: R3 never passed: 4 of 4 calls of chat failed (leak)");
  auto notice = a_notice();
  notice.resolved = kNow;
  EXPECT_EQ(summary(notice).substr(0, 11), "[resolved] ");
  notice.test = true;
  notice.engine = "";
  EXPECT_EQ(summary(notice).substr(0, 23), "[test] critical: gpu1: ");
  EXPECT_EQ(summary(hostile()).find_first_of("\n\x1b"), std::string::npos);
}

TEST(NoticeText, WebhookBodyHasEveryField) {
  EXPECT_EQ(
      webhook_body(a_notice(), "https://wiki/x"),
      R"x({"version":1,"text":"[firing] critical: vllm on gpu1: R3 never passed: 4 of 4 calls of chat )x"
      R"x(failed (leak)","id":"0123","status":"firing","severity":"critical","host":"gpu1",)x"
      R"x("engine":"vllm","key":"R3/chat","reason":"R3 never passed: 4 of 4 calls of chat failed )x"
      R"x((leak)","raised":"2026-08-11T06:57:38.000Z","resolved":null,"test":false,)x"
      R"x("link":"https://wiki/x"})x");
  auto notice = a_notice();
  notice.resolved = kNow;
  const auto body = json::parse(webhook_body(notice, "")).as_object();
  EXPECT_EQ(body.at("resolved"), "2026-08-11T06:58:20.000Z");
  EXPECT_EQ(body.at("status"), "resolved");
  EXPECT_FALSE(body.contains("link"));
}

TEST(NoticeText, JsonIsSoundWhateverIsQuoted) {
  for (const auto& text : {webhook_body(hostile(), ""), alertmanager_body(hostile(), "", kNow)}) {
    EXPECT_EQ(config::utf8_valid_length(text), text.size());
    EXPECT_EQ(text.find_first_of("\n\x1b"), std::string::npos) << "escaped";
    boost::system::error_code error;
    const auto parsed = json::parse(text, error);
    EXPECT_FALSE(error) << text;
  }
}

TEST(NoticeText, IsBounded) {
  auto notice = a_notice();
  notice.text = std::string(1'000'000, 'x');
  notice.key = std::string(1'000'000, 'k');
  EXPECT_LT(webhook_body(notice, "").size(), 16'000U);
  EXPECT_LT(alertmanager_body(notice, "", kNow).size(), 16'000U);
  EXPECT_LT(exec_text(notice, "").size(), 16'000U);
  for (const auto& [field, value] : journal_fields(notice, ""))
    EXPECT_LT(value.size(), 5'000U) << field;
}

TEST(NoticeText, AlertmanagerBodyIsOfItsApi) {
  const auto alerts = json::parse(alertmanager_body(a_notice(), "https://wiki/x", kNow)).as_array();
  ASSERT_EQ(alerts.size(), 1U);
  const auto& alert = alerts[0].as_object();
  EXPECT_EQ(alert.at("labels"), json::parse(R"({"alertname":"Fireboss","severity":"critical","host":"gpu1",
                                               "engine":"vllm","key":"R3/chat"})"));
  EXPECT_EQ(alert.at("startsAt"), "2026-08-11T06:57:38.000Z");
  EXPECT_EQ(alert.at("endsAt"), "2026-08-12T06:58:20.000Z") << "a day from now";
  EXPECT_EQ(alert.at("generatorURL"), "https://wiki/x");
  EXPECT_EQ(alert.at("annotations").as_object().at("description"),
            "R3 never passed: 4 of 4 calls of chat failed (leak)");
}

TEST(NoticeText, AlertmanagerIsToldTheEndOfWhatIsOver) {
  auto notice = a_notice();
  notice.resolved = WallTime{Millis{1'786'431'499'000}};
  const auto over = json::parse(alertmanager_body(notice, "", kNow)).as_array()[0].as_object();
  EXPECT_EQ(over.at("endsAt"), "2026-08-11T06:58:19.000Z");
  notice.resolved.reset();
  notice.test = true;
  notice.engine = "";
  const auto test = json::parse(alertmanager_body(notice, "", kNow)).as_array()[0].as_object();
  EXPECT_EQ(test.at("endsAt"), "2026-08-11T06:59:20.000Z") << "a test goes by itself";
  EXPECT_EQ(test.at("labels").as_object().at("alertname"), "FirebossTest");
  EXPECT_FALSE(test.at("labels").as_object().contains("engine")) << "an empty label is none";
}

TEST(NoticeText, ExecTextCannotBeForged) {
  const auto text = exec_text(hostile(), "https://wiki/x");
  std::size_t lines = 0, statuses = 0;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at)
    ++lines;
  for (std::size_t at = 0; (at = text.find("\nstatus: ", at)) != std::string::npos; ++at)
    ++statuses;
  EXPECT_EQ(lines, 12U);
  EXPECT_EQ(statuses, 1U);
  EXPECT_NE(text.find("\nstatus: firing\n"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(NoticeText, JournalFieldsHaveThePriorityOfTheirSeverity) {
  auto notice = a_notice();
  EXPECT_THAT(journal_fields(notice, ""), Contains(Pair("PRIORITY", "2")));
  notice.severity = "warning";
  EXPECT_THAT(journal_fields(notice, ""), Contains(Pair("PRIORITY", "4")));
  notice.severity = "info";
  EXPECT_THAT(journal_fields(notice, ""), Contains(Pair("PRIORITY", "6")));
  notice.severity = "critical";
  notice.resolved = kNow;
  const auto fields = journal_fields(notice, "");
  EXPECT_THAT(fields, Contains(Pair("PRIORITY", "5")));
  EXPECT_THAT(fields, Contains(Pair("FIREBOSS_ALERT_STATE", "resolved")));
  EXPECT_THAT(fields, Contains(Pair("FIREBOSS_ENGINE", "vllm")));
  for (const auto& [field, value] : journal_fields(hostile(), ""))
    EXPECT_EQ(value.find('\n'), std::string::npos) << field;
}

TEST(NoticeText, CleanCutsBetweenCharacters) {
  EXPECT_EQ(clean("abc", 3), "abc");
  EXPECT_EQ(clean("abcd", 3), "abc...");
  EXPECT_EQ(clean("a\xc3\xa4", 2), "a...");
  EXPECT_EQ(clean("a\xc3", 9), "a\xef\xbf\xbd");
  EXPECT_EQ(clean("\xff\xff", 9), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(NoticeId, IsTheSameForOneAlertAndForNoOther) {
  const WallTime at{Millis{1}};
  const auto id = ports::notice_id("h", "e", "k", at);
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(id, ports::notice_id("h", "e", "k", at));
  EXPECT_NE(id, ports::notice_id("h", "e", "k", at + Millis{1}));
  EXPECT_NE(id, ports::notice_id("h", "ek", "", at));
}

}  // namespace
}  // namespace fireboss::alert
