// An engine that Fireboss takes down always comes up again, because one restart job does both. The method
// that only stops a unit is therefore named nowhere in what is built, run or shipped; nor is systemctl's word
// for it.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace fireboss {
namespace {

namespace fs = std::filesystem;

const std::array kForbidden{std::string("Stop") + "Unit", std::string("systemctl ") + "stop"};

bool is_source(const fs::path& file) {
  const auto extension = file.extension().string();
  return extension == ".cpp" || extension == ".h" || extension == ".py" || extension == ".service" ||
         extension == ".timer" || extension == ".conf" || extension == ".sh" || extension == ".rules" ||
         extension.empty();
}

TEST(NoStopTest, NothingThatRunsCanStopAUnit) {
  int looked_at = 0;
  for (const auto* folder : {"base", "canary", "engine", "probes", "supervisor", "units"}) {
    const auto root = fs::path(FIREBOSS_SOURCE_DIR) / folder;
    ASSERT_TRUE(fs::exists(root)) << root;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file() || !is_source(entry.path()))
        continue;
      ++looked_at;
      std::ifstream file(entry.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      for (const auto& word : kForbidden)
        EXPECT_EQ(text.find(word), std::string::npos) << entry.path() << " names " << word;
    }
  }
  EXPECT_GT(looked_at, 50);
}

TEST(NoStopTest, RestartAndStartAreTheOnlyJobsAsked) {
  std::ifstream file(fs::path(FIREBOSS_SOURCE_DIR) / "supervisor/adapters/sdbus/systemd_units.cpp");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  int calls = 0;
  for (auto at = text.find("act(\""); at != std::string::npos; at = text.find("act(\"", at + 1), ++calls) {
    const auto method = text.substr(at + 5, text.find('"', at + 5) - at - 5);
    EXPECT_TRUE(method == "RestartUnit" || method == "StartUnit") << method;
  }
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace fireboss
