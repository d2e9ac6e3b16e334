// The fuzzer finds what was planted, says with which input, and finds it there again.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::EndsWith;
using testing::HasSubstr;

class Fuzzer : public testing::Test {
 protected:
  struct Ended {
    int status = -1;
    std::string output;
  };

  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fireboss-fuzz-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Ended planted(const std::string& arguments) const {
    const auto command =
        FIREBOSS_BIN_DIR "/../tests/fuzz_planted --artifacts " + folder_.string() + " " + arguments + " 2>&1";
    Ended ended;
    FILE* const out = popen(command.c_str(), "r");
    std::array<char, 4096> buffer{};
    while (const auto size = std::fread(buffer.data(), 1, buffer.size(), out)) {
      ended.output.append(buffer.data(), size);
    }
    ended.status = WEXITSTATUS(pclose(out));
    return ended;
  }
  [[nodiscard]] std::string file(const std::string& text) const {
    const auto path = (folder_ / "given").string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  [[nodiscard]] std::string artifact() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("fuzz-planted-")) {
        return entry.path().string();
      }
    }
    return {};
  }

  std::filesystem::path folder_;
};

TEST_F(Fuzzer, FindsAPlantedFaultAndFindsItAgain) {
  const auto found = planted("--iterations 1000000 --seed 7");
  EXPECT_EQ(found.status, 1) << found.output;
  EXPECT_THAT(found.output, HasSubstr("FOUND: the input is wrong"));
  EXPECT_THAT(found.output, HasSubstr("seed 7"));
  const auto path = artifact();
  ASSERT_FALSE(path.empty());
  EXPECT_THAT(found.output, HasSubstr(path));
  std::ifstream input(path, std::ios::binary);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(input), {}), HasSubstr("wrong"));
  const auto again = planted(path);
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.output, HasSubstr("FOUND: the input is wrong"));
}

TEST_F(Fuzzer, SameSeedSameInputs) {
  const auto first = planted("--iterations 1000000 --seed 3");
  std::filesystem::remove(artifact());
  EXPECT_EQ(planted("--iterations 1000000 --seed 3").output, first.output);
  EXPECT_NE(planted("--iterations 1000000 --seed 4").output, first.output);
}

TEST_F(Fuzzer, SaysHowManyWhenNothingIsFound) {
  const auto ended = planted("--iterations 20");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("21 inputs"));
  EXPECT_THAT(ended.output, EndsWith("nothing found\n"));
  EXPECT_EQ(planted(file("fine")).status, 0);
}

TEST_F(Fuzzer, LeavesTheInputBehindHoweverTheCheckEnds) {
  for (const auto* what : {"crash", "memory", "stack", "throw", "hang"}) {
    const auto ended = planted("--hang 1 " + file(what));
    EXPECT_EQ(ended.status, 1) << what << ": " << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("FOUND: "));
    std::ifstream input(artifact(), std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(input), {}), what);
    std::filesystem::remove(artifact());
  }
}

TEST_F(Fuzzer, SaysWhatTheMatterIs) {
  EXPECT_THAT(planted(file("memory")).output, HasSubstr("takes more from the heap than is allowed"));
  EXPECT_THAT(planted(file("throw")).output, HasSubstr("an exception came out: thrown"));
  EXPECT_THAT(planted("--hang 1 " + file("hang")).output, HasSubstr("no end after 1 s"));
}

TEST_F(Fuzzer, RefusesAFileThatIsNotThere) {
  EXPECT_EQ(planted("/nonexistent/input").status, 2);
}

}  // namespace
