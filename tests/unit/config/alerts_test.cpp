// [alerts], [alerts.sink.NAME] and [heartbeat].
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/config_fixture.h"

namespace fireboss::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kEngines = R"([engine.a]
unit = "a.service"
port = 1
[engine.a.suite]
system_prompt = "p"
)";
constexpr auto kSecond = R"([engine.b]
unit = "b.service"
port = 2
[engine.b.suite]
system_prompt = "p"
)";

class AlertsTest : public ConfigTest {
 protected:
  std::vector<std::string> errors(const std::string& text) { return short_errors(load_text(text)); }
};

TEST_F(AlertsTest, TakesASinkOfEveryType) {
  const auto loaded = load_text(R"([alerts]
host = "gpu1"
link = "https://wiki/x"
[alerts.sink.chat]
type = "webhook"
url_credential = "chat-url"
token_credential = "chat-token"
severity = "critical"
send_resolved = false
repeat = "4h"
[alerts.sink.am]
type = "alertmanager"
url = "http://127.0.0.1:9093"
[alerts.sink.mail]
type = "exec"
command = ["/usr/bin/mail", "-s", "x"]
user = "mailer"
[alerts.sink.log]
type = "journal"
)");
  ASSERT_THAT(short_errors(loaded), IsEmpty());
  const auto& alerts = loaded.config->alerts;
  EXPECT_EQ(alerts.host, "gpu1");
  EXPECT_EQ(alerts.link, "https://wiki/x");
  ASSERT_THAT(alerts.sinks, SizeIs(4));
  const auto& chat = alerts.sinks[0].name == "chat" ? alerts.sinks[0] : alerts.sinks[1];
  for (const auto& sink : alerts.sinks) {
    if (sink.name == "am") {
      EXPECT_EQ(sink.type, SinkType::kAlertmanager);
      EXPECT_EQ(sink.repeat, Millis{60'000}) << "it forgets what is not repeated";
      EXPECT_EQ(sink.target.url, "http://127.0.0.1:9093");
    } else if (sink.name == "mail") {
      EXPECT_EQ(sink.type, SinkType::kExec);
      EXPECT_THAT(sink.command, ElementsAre("/usr/bin/mail", "-s", "x"));
      EXPECT_EQ(sink.user, "mailer");
    } else if (sink.name == "log") {
      EXPECT_EQ(sink.type, SinkType::kJournal);
      EXPECT_EQ(sink.least, policy::Severity::kInfo);
      EXPECT_TRUE(sink.send_resolved);
      EXPECT_EQ(sink.repeat, Millis{0});
    }
  }
  EXPECT_EQ(chat.type, SinkType::kWebhook);
  EXPECT_EQ(chat.target.url_credential, "chat-url");
  EXPECT_EQ(chat.token_credential, "chat-token");
  EXPECT_EQ(chat.least, policy::Severity::kCritical);
  EXPECT_FALSE(chat.send_resolved);
  EXPECT_EQ(chat.repeat, Millis{4 * 3'600'000});
}

TEST_F(AlertsTest, TellsEveryMistakeWithItsPlace) {
  EXPECT_THAT(
      errors(R"([alerts]
hots = "gpu1"
[alerts.sink.a]
[alerts.sink.b]
type = "smtp"
[alerts.sink.c]
type = "webhook"
[alerts.sink.d]
type = "webhook"
url = "https://x/y"
url_credential = "/etc/secret"
repeat = "1s"
send_resolved = "yes"
[alerts.sink.e]
type = "journal"
url = "http://x"
user = "u"
[alerts.sink.f]
type = "exec"
user = "root"
[alerts.sink.g]
type = "exec"
command = ["mail"]
[alerts.sink.-h]
type = "journal"
)"),
      ElementsAre("2:1: unknown key 'hots' (did you mean 'host'?)",
                  "3:14: sink 'a' has no 'type': say what is spoken there, one of \"webhook\", "
                  "\"alertmanager\", \"exec\", \"journal\"",
                  "5:8: 'type' must be one of \"webhook\", \"alertmanager\", \"exec\", \"journal\", "
                  "not \"smtp\"",
                  "6:14: sink 'c' has neither 'url' nor 'url_credential'",
                  "10:7: 'url' is set beside 'url_credential': keep one of both",
                  "11:18: 'url_credential' must be the name of a credential (letters, digits, - _ . "
                  "@), not the secret itself",
                  "12:10: 'repeat' = 1s is out of range: 10s to 7d is allowed",
                  "13:17: 'send_resolved' must be true or false, not a text",
                  "16:7: 'url' means nothing to a sink of type \"journal\"",
                  "17:8: 'user' means nothing to a sink of type \"journal\"",
                  "18:14: sink 'f' has no 'command': name the program, such as command = "
                  "[\"/usr/local/bin/page\"]",
                  "20:8: 'user' must not be root: alerts quote what others wrote",
                  "23:11: 'command' must begin with the absolute path of a program",
                  "24:14: a sink's name has 1 to 64 letters, digits, '_', '-' or '.', and begins with a "
                  "letter, a digit or '_'"));
}

// A URL may be a secret: its text stands in no message.
TEST_F(AlertsTest, RefusesUrlsWithoutQuotingThem) {
  const std::string secret = "s3cr3t";
  for (const auto* url : {"ftp://s3cr3t/x", "https://u:s3cr3t@x/", "https://x/#s3cr3t", "s3cr3t",
                          "http:///s3cr3t", "http://x:99999/s3cr3t", "https://x/ s3cr3t"}) {
    const auto found = errors(std::string("[alerts.sink.a]\ntype = \"webhook\"\nurl = \"") + url + "\"\n");
    ASSERT_THAT(found, SizeIs(1)) << url;
    EXPECT_TRUE(found[0].starts_with("3:7: 'url' ")) << found[0];
    EXPECT_EQ(found[0].find(secret), std::string::npos) << found[0];
  }
}

TEST_F(AlertsTest, ReadsTheCertificateFile) {
  const auto bad = put("bad.pem", "hello");
  const auto good = put("good.pem", "-----BEGIN CERTIFICATE-----\n");
  const auto with = [&](const std::string& file) {
    return errors("[alerts.sink.a]\ntype = \"webhook\"\nurl = \"https://x/\"\nca_file = \"" + file + "\"\n");
  };
  EXPECT_THAT(with(good), IsEmpty());
  EXPECT_THAT(with(bad), ElementsAre("4:11: 'ca_file' holds no certificate in PEM form"));
  EXPECT_THAT(with(folder_ + "/none.pem"), SizeIs(1));
  EXPECT_THAT(with("none.pem"), SizeIs(1));
}

TEST_F(AlertsTest, AcceptsSixteenSinksAtMost) {
  std::string text;
  for (int i = 0; i < 16; ++i)
    text += "[alerts.sink.s" + std::to_string(i) + "]\ntype = \"journal\"\n";
  EXPECT_THAT(errors(text), IsEmpty());
  EXPECT_THAT(errors(text + "[alerts.sink.t]\ntype = \"journal\"\n"), SizeIs(1));
}

TEST_F(AlertsTest, ASinkOfTwoFilesIsToldOnce) {
  put("conf.d/a.toml", "[alerts.sink.x]\ntype = \"journal\"\n");
  const auto found = errors("[alerts.sink.x]\ntype = \"journal\"\n");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_NE(found[0].find("sink 'x' is defined before"), std::string::npos) << found[0];
}

TEST_F(AlertsTest, OneHeartbeatForOneEngine) {
  const auto loaded = load_text(std::string("[heartbeat]\nurl = \"https://hc/1\"\n") + kEngines);
  ASSERT_THAT(short_errors(loaded), IsEmpty());
  EXPECT_EQ(loaded.config->engines[0].heartbeat.value().url, "https://hc/1");
  EXPECT_FALSE(engine_of(load_text(kEngines)).heartbeat);
}

TEST_F(AlertsTest, SeveralEnginesNeedAHeartbeatEach) {
  const auto both = std::string(kEngines) + kSecond;
  EXPECT_THAT(
      errors("[heartbeat]\nurl = \"https://hc/1\"\n" + both),
      ElementsAre("2:7: 'url' is one for 2 engines: write {engine} into it, or give each engine its own "
                  "heartbeat.url"));
  EXPECT_THAT(errors("[heartbeat]\nurl = \"https://hc/{engine}/{engine}\"\n" + both), IsEmpty());
  const auto loaded = load_text("[heartbeat]\nurl = \"https://hc/1\"\n" + both +
                                "[engine.b.heartbeat]\nurl_credential = \"beat-b\"\n");
  ASSERT_THAT(short_errors(loaded), IsEmpty());
  EXPECT_EQ(loaded.config->engines[0].heartbeat.value().url, "https://hc/1");
  EXPECT_EQ(loaded.config->engines[1].heartbeat.value().url_credential, "beat-b");
  EXPECT_EQ(loaded.config->engines[1].heartbeat.value().url, "");
}

}  // namespace
}  // namespace fireboss::config
