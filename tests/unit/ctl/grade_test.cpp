// fireboss grade, from a file of lines to lines on standard output.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "supervisor/ctl/commands.h"

namespace fireboss::ctl {
namespace {

namespace json = boost::json;

struct Outcome {
  int exit_code = -1;
  std::vector<std::string> lines;
  std::string errors;
};

Outcome run_grade(const std::string& path) {
  Context context;
  CLI::App app;
  add_grade(app, context);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  app.parse("grade " + path);
  Outcome outcome{context.exit_code, {}, testing::internal::GetCapturedStderr()};
  std::istringstream out(testing::internal::GetCapturedStdout());
  for (std::string line; std::getline(out, line);) {
    outcome.lines.push_back(line);
  }
  return outcome;
}

// A file of its own for each test, gone afterwards.
class CaseFile {
 public:
  explicit CaseFile(const std::string& text)
      : path_(testing::TempDir() + "fireboss-cases-" + std::to_string(getpid()) + ".jsonl") {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~CaseFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string kFine =
    R"({"id":"fine","task":{"type":"exact_reply","expected":"a"},"response":{"choices":[{"index":0,)"
    R"("finish_reason":"stop","message":{"content":"a"}}]}})";

TEST(GradeVerb, GivesEverySharedCaseTheVerdictOfItsLabel) {
  const std::string path = std::string(FIREBOSS_SOURCE_DIR) + "/tests/fixtures/cases.jsonl";
  const Outcome outcome = run_grade(path);
  EXPECT_EQ(outcome.exit_code, kOk);
  EXPECT_EQ(outcome.errors, "");
  std::ifstream file(path);
  std::size_t at = 0;
  for (std::string line; std::getline(file, line); ++at) {
    const json::value labelled = json::parse(line);
    ASSERT_LT(at, outcome.lines.size());
    const json::value graded = json::parse(outcome.lines[at]);
    EXPECT_EQ(graded.at("id"), labelled.at("id"));
    EXPECT_EQ(graded.at("verdict"), labelled.at("response_verdict")) << labelled.at("id");
    for (const char* key : {"grade", "signals", "reason"}) {
      EXPECT_TRUE(graded.as_object().contains(key));
    }
  }
  EXPECT_EQ(at, 50U);
}

TEST(GradeVerb, NamesABadLineAndGradesTheOthers) {
  const CaseFile file("\n" + kFine + "\n{\"id\":\n" + kFine + "\n[]\n" + kFine);
  const Outcome outcome = run_grade(file.path());
  EXPECT_EQ(outcome.exit_code, kUnknown);
  EXPECT_EQ(outcome.lines.size(), 3U);
  EXPECT_EQ(outcome.errors, file.path() + ":3: not JSON: incomplete JSON\n" + file.path() +
                                ":5: must be an object with an \"id\" (a text)\n");
}

TEST(GradeVerb, ALineWithoutAnEndIsBounded) {
  const CaseFile file(std::string(17 * 1024 * 1024, ' ') + "\n" + kFine + "\n");
  const Outcome outcome = run_grade(file.path());
  EXPECT_EQ(outcome.exit_code, kUnknown);
  EXPECT_EQ(outcome.lines.size(), 1U);
  EXPECT_EQ(outcome.errors, file.path() + ":1: the line is longer than 16MiB\n");
}

TEST(GradeVerb, SaysWhatToDoAboutAFileThatIsNotThere) {
  for (const char* path : {"/no/such/file", "/"}) {
    const Outcome outcome = run_grade(path);
    EXPECT_EQ(outcome.exit_code, kUnknown);
    EXPECT_EQ(outcome.errors, "fireboss: cannot read " + std::string(path) +
                                  "; name a file of cases, or - for standard input\n");
  }
}

TEST(GradeVerb, TerminalEscapesInAReplyStayHarmless) {
  const CaseFile file(R"({"id":"\u001b[2J","task":{"type":"exact_reply","expected":"a"},"response":{"error":)"
                      R"({"message":"\u001b]0;title\u0007"}}})"
                      "\n");
  const Outcome outcome = run_grade(file.path());
  ASSERT_EQ(outcome.lines.size(), 1U);
  EXPECT_EQ(outcome.lines[0].find('\x1b'), std::string::npos);
  EXPECT_EQ(outcome.lines[0].find('\x07'), std::string::npos);
}

}  // namespace
}  // namespace fireboss::ctl
