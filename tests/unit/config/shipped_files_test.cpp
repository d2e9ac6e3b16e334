// The shipped example and the operator's page of keys, against what the loader knows.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/config/keys.h"
#include "supervisor/policy/policy.h"
#include "tests/unit/config/config_fixture.h"

namespace fireboss::config {
namespace {

using ::testing::IsEmpty;

std::string text_of(const std::string& name) {
  std::ifstream in(std::string(FIREBOSS_SOURCE_DIR) + "/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

class ShippedFilesTest : public ConfigTest {
 protected:
  // The example with every commented key and header switched on. Alternatives ("#or: ") stay comments.
  static std::string uncommented() {
    std::istringstream in(text_of("units/fireboss.toml"));
    static const std::regex kKey(R"(^#(\[|[a-z_.]+ = ).*)");
    std::string out;
    for (std::string line; std::getline(in, line);)
      out += (std::regex_match(line, kKey) ? line.substr(1) : line) + "\n";
    return out;
  }
  // "daemon.database", "engine.NAME.canary.every": every key that the example shows.
  static std::set<std::string> shown() {
    std::istringstream in(text_of("units/fireboss.toml"));
    static const std::regex kHeader(R"(^#?\[(.*)\]$)"), kKey(R"(^#?(?:or: )?([a-z_.]+) = .*)");
    std::set<std::string> out;
    std::string section;
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_match(line, match, kHeader))
        section =
            std::regex_replace(match[1].str(), std::regex(R"(^(engine|alerts\.sink)\.[a-z]+)"), "$1.NAME");
      else if (std::regex_match(line, match, kKey))
        out.insert((line.starts_with("#or: suite = ") ? "engine.NAME" : section) + "." + match[1].str());
    }
    return out;
  }
};

TEST_F(ShippedFilesTest, TheExampleIsRightAsItIs) {
  const auto loaded = load_text(text_of("units/fireboss.toml"));
  EXPECT_THAT(short_errors(loaded), IsEmpty());
}

TEST_F(ShippedFilesTest, TheExampleIsRightWithEveryKeySwitchedOn) {
  put("prompts/system.txt", "You are a helpful assistant.");
  put("prompts/tools.json",
      R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}])");
  put("ca.pem", "-----BEGIN CERTIFICATE-----\n");
  auto text = uncommented();
  for (std::size_t at = 0; (at = text.find("/etc/fireboss/ca.pem")) != std::string::npos;)
    text.replace(at, std::string("/etc/fireboss/ca.pem").size(), folder_ + "/ca.pem");
  const auto loaded = load_text(text);
  ASSERT_THAT(short_errors(loaded), IsEmpty());
  const auto engine = engine_of(loaded);
  EXPECT_EQ(engine.suite.max_tokens, 64);

  // What it calls defaults are the defaults.
  auto policy = engine.policy;
  EXPECT_EQ(policy.max_age, Millis{std::chrono::hours{4}}) << "was the key switched on?";
  policy.max_age.reset();
  EXPECT_EQ(policy::canonical_text(policy), policy::canonical_text(policy::Policy{}));
  const Config defaults;
  EXPECT_EQ(loaded.config->database, defaults.database);
  EXPECT_EQ(loaded.config->control_socket, defaults.control_socket);
  EXPECT_EQ(loaded.config->generation_file, defaults.generation_file);
  EXPECT_EQ(loaded.config->lock_directory, defaults.lock_directory);
  EXPECT_EQ(loaded.config->log_level, defaults.log_level);
  EXPECT_EQ(loaded.config->raw_reply_bytes, defaults.raw_reply_bytes);
  EXPECT_THAT(loaded.config->alerts.sinks, ::testing::SizeIs(4));
  for (const auto& sink : loaded.config->alerts.sinks) {
    EXPECT_EQ(sink.send_resolved, AlertSink{}.send_resolved) << sink.name;
    EXPECT_EQ(sink.user, AlertSink{}.user) << sink.name;
  }
  EXPECT_EQ(loaded.config->metrics.address, defaults.metrics.address);
  EXPECT_EQ(loaded.config->metrics.port, defaults.metrics.port);
  EXPECT_EQ(loaded.config->silence.daemon_after, defaults.silence.daemon_after);
  EXPECT_EQ(loaded.config->silence.state_file, defaults.silence.state_file);
}

TEST_F(ShippedFilesTest, TheExampleShowsEveryKeyAndNoOther) {
  std::set<std::string> known;
  for (const auto& section : sections())
    for (const auto& key : section.keys)
      known.insert(std::string(section.name) + "." + key.name);
  EXPECT_EQ(shown(), known);
}

// A row of the page, as it must stand there.
std::string row(const KeyInfo& key) {
  const std::string fallback = key.fallback.empty() ? "" : "`" + key.fallback + "`";
  return "| `" + key.name + "` | " + key.kind + " | " + fallback + " | " + key.meaning + " |";
}

TEST_F(ShippedFilesTest, ThePageOfKeysHasARowForEachAndNoOther) {
  std::istringstream in(text_of("docs/configuration.md"));
  std::multiset<std::string> rows, expected;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("| `"))
      rows.insert(line);
  for (const auto& section : sections())
    for (const auto& key : section.keys)
      expected.insert(row(key));
  for (const auto& wanted : expected)
    EXPECT_EQ(rows.count(wanted), expected.count(wanted)) << "docs/configuration.md lacks this row:\n"
                                                          << wanted;
  for (const auto& found : rows)
    EXPECT_EQ(rows.count(found), expected.count(found))
        << "docs/configuration.md has a row that the loader does not:\n"
        << found;
}

TEST_F(ShippedFilesTest, TheManualPageNamesEveryKey) {
  const auto page = text_of("docs/man/fireboss.toml.5");
  for (const auto& section : sections())
    for (const auto& key : section.keys)
      EXPECT_NE(page.find("\n.B " + key.name + "\n"), std::string::npos) << key.name;
}

}  // namespace
}  // namespace fireboss::config
