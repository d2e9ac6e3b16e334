// `fireboss` from its words to its exit status: what is wrong with the words, and with what they name.
#include "supervisor/ctl/command_line.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/adapters/sqlite/store.h"
#include "supervisor/ctl/commands.h"

namespace fireboss::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int exit_code = -1;
  std::string out, errors;
};

Outcome fireboss(std::vector<const char*> words) {
  words.insert(words.begin(), "fireboss");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.exit_code = run_command_line(static_cast<int>(words.size()), words.data(), "fireboss test");
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.errors = testing::internal::GetCapturedStderr();
  return outcome;
}

std::string error_in_json(const Outcome& outcome) {
  const auto value = boost::json::parse(outcome.out);
  return std::string(value.at("error").at("message").as_string());
}

// A folder with a configuration and an empty record.
class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() : folder_(testing::TempDir() + "fireboss-words-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    put("fireboss.toml", "[daemon]\ndatabase = \"" + folder_ +
                             "/record.db\"\n[engine.drill]\nunit = \"drill.service\"\nport = 1\n");
    EXPECT_TRUE(sqlite::SqliteStore::open(folder_ + "/record.db", sqlite::OpenMode::kCreate));
  }
  ~CommandLineTest() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }

  std::string folder_;
  std::string config_ = folder_ + "/fireboss.toml";
};

TEST_F(CommandLineTest, NamesTheWordThatIsNoVerbAndTheNearestOne) {
  const auto status = fireboss({"statsu"});
  EXPECT_EQ(status.exit_code, kUnknown);
  EXPECT_EQ(status.errors, "fireboss: no verb 'statsu' (did you mean 'status'?)\n");
  EXPECT_THAT(fireboss({"bogus"}).errors,
              StartsWith("fireboss: no verb 'bogus': there are status, history, "));
  EXPECT_EQ(fireboss({"canary", "calibarte", "drill"}).errors,
            "fireboss: no verb 'canary calibarte' (did you mean 'canary calibrate'?)\n");
  EXPECT_THAT(fireboss({}).errors, StartsWith("fireboss: which verb? status, "));
  EXPECT_THAT(fireboss({"canary"}).errors, StartsWith("fireboss: which verb? run, calibrate, plan; "));
}

TEST_F(CommandLineTest, SaysWhatIsWrongWithTheWordsAsJsonToo) {
  const auto bogus = fireboss({"--json", "bogus"});
  EXPECT_EQ(bogus.exit_code, kUnknown);
  EXPECT_THAT(error_in_json(bogus), StartsWith("no verb 'bogus'"));
  EXPECT_THAT(error_in_json(fireboss({"--json", "status", "--bogus"})), HasSubstr("--bogus"));
  EXPECT_THAT(error_in_json(fireboss({"--json", "mode", "drill"})), HasSubstr("to is required"));
}

TEST_F(CommandLineTest, HelpAndVersionAreNoMistakes) {
  EXPECT_EQ(fireboss({"--help"}).exit_code, kOk);
  EXPECT_EQ(fireboss({"canary", "--help"}).exit_code, kOk);
  EXPECT_EQ(fireboss({"--version"}).out, "fireboss test\n");
}

TEST_F(CommandLineTest, ExplainWantsANumber) {
  for (const char* word : {"x", "0", "#3", "1.5", "99999999999999999999"}) {
    const auto outcome = fireboss({"explain", word});
    EXPECT_EQ(outcome.exit_code, kUnknown);
    EXPECT_THAT(outcome.errors, HasSubstr("'" + std::string(word) + "' is no number of a decision"));
    EXPECT_LT(outcome.errors.size(), 200U);
  }
}

TEST_F(CommandLineTest, HistoryKnowsTheEnginesOfTheConfigurationAndOfTheRecord) {
  const auto known = fireboss({"--config", config_.c_str(), "history", "drill"});
  EXPECT_EQ(known.exit_code, kOk);
  EXPECT_EQ(known.out, "nothing decided yet for that engine\n");
  const auto unknown = fireboss({"--config", config_.c_str(), "history", "nope"});
  EXPECT_EQ(unknown.exit_code, kUnknown);
  EXPECT_EQ(unknown.errors,
            "fireboss: no engine 'nope' in the configuration or the record; there are: drill\n");
}

TEST_F(CommandLineTest, AnEmptyInputIsNoSuccess) {
  const auto empty = put("empty.jsonl", "\n  \n");
  for (const char* verb : {"grade", "simulate"}) {
    const auto outcome = fireboss({verb, empty.c_str()});
    EXPECT_EQ(outcome.exit_code, kUnknown) << verb;
    EXPECT_THAT(outcome.errors, HasSubstr(empty + ": no ")) << verb;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(CommandLineTest, EveryVerbTellsItsErrorsAsJson) {
  const std::vector<std::vector<const char*>> lines{{"--json", "grade", "/no/such/file"},
                                                    {"--json", "simulate", "/no/such/file"},
                                                    {"--json", "journal", "scan", "/no/such/file"},
                                                    {"--json", "canary", "plan", "--rate", "x"}};
  for (const auto& words : lines) {
    const auto outcome = fireboss(words);
    EXPECT_EQ(outcome.exit_code, kUnknown) << words[1];
    EXPECT_NE(error_in_json(outcome), "") << words[1];
    EXPECT_EQ(outcome.errors, "") << words[1];
  }
  const auto broken = put("broken.jsonl", "{\n");
  EXPECT_THAT(error_in_json(fireboss({"--json", "grade", broken.c_str()})), StartsWith(broken + ":1: "));
}

}  // namespace
}  // namespace fireboss::ctl
