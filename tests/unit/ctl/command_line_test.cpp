// `fireboss` from its words to its exit status: what is wrong with the words, and with what they name.
#include "supervisor/ctl/command_line.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
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

// Answers the one request that comes with one line.
class Daemon {
 public:
  Daemon(const std::string& path, std::string answer) : answer_(std::move(answer)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    thread_ = std::thread([this] {
      const int client = accept(socket_, nullptr, nullptr);
      char byte = 0;
      while (read(client, &byte, 1) == 1 && byte != '\n') {
      }
      EXPECT_EQ(write(client, answer_.data(), answer_.size()), static_cast<ssize_t>(answer_.size()));
      close(client);
    });
  }
  ~Daemon() {
    thread_.join();
    close(socket_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

 private:
  std::string answer_;
  int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::thread thread_;
};

TEST_F(CommandLineTest, ARestartThatBeginsNothingSaysWhatStillStands) {
  const auto socket = folder_ + "/control.sock";
  put("fireboss.toml", "[daemon]\ndatabase = \"" + folder_ + "/record.db\"\ncontrol_socket = \"" + socket +
                           "\"\n[engine.drill]\nunit = \"drill.service\"\nport = 1\n");
  constexpr const char* kNothing = R"({"result":{"engine":"drill","begun":false,"decisions":[]}})"
                                   "\n";
  {
    const Daemon daemon(socket, kNothing);
    const auto outcome = fireboss({"--config", config_.c_str(), "restart", "drill"});
    EXPECT_EQ(outcome.exit_code, kCritical);
    EXPECT_EQ(outcome.out, "nothing was decided\nnot begun\n");
  }
  std::filesystem::remove(socket);
  const auto store = sqlite::SqliteStore::open(folder_ + "/record.db", sqlite::OpenMode::kCreate);
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->put_policy("p", "{}"));
  ports::DecisionRow decision;
  decision.engine = "drill";
  decision.kind = "hold";
  decision.reason = "R4 on hold";
  decision.payload = "{}";
  decision.policy_hash = "p";
  decision.decider_version = decision.grader_version = "1";
  ports::Record record;
  record.event.engine = "drill";
  record.event.boot = "boot";
  record.event.kind = "tick";
  record.event.payload = "{}";
  record.decisions = {decision};
  const auto recorded = (*store)->record(record);
  ASSERT_TRUE(recorded) << recorded.error().message;
  const Daemon daemon(socket, kNothing);
  EXPECT_EQ(fireboss({"--config", config_.c_str(), "restart", "drill"}).out,
            "as before (#1): hold: R4 on hold\nnot begun\n");
}

}  // namespace
}  // namespace fireboss::ctl
