// The architecture as a test: which folder may include which, what the pure set may not touch, and that no
// test file lies about unregistered.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Tree = std::map<std::string, std::string>;  // path from the root -> text

const fs::path kRoot = FIREBOSS_SOURCE_DIR;

Tree read_tree() {
  Tree tree;
  for (const auto* top : {"base", "canary", "probes", "engine", "supervisor", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const auto extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp" && extension != ".cu" &&
                                       extension != ".py" && entry.path().filename() != "CMakeLists.txt"))
        continue;
      std::ifstream file(entry.path());
      std::stringstream text;
      text << file.rdbuf();
      tree[fs::relative(entry.path(), kRoot).string()] = text.str();
    }
  return tree;
}

struct Arrow {
  std::string_view from;
  std::vector<std::string_view> to;
};
// The first entry that a path begins with counts; a folder may always include itself.
const std::vector<Arrow> kArrows{
    {"base/", {}},
    {"canary/run/", {"base/", "canary/"}},
    {"canary/", {"base/", "canary/suite/", "canary/grade/", "canary/plan/"}},
    {"probes/", {"base/"}},
    {"engine/", {"base/"}},
    {"supervisor/policy/", {"base/"}},
    {"supervisor/ports/", {"base/"}},
    {"supervisor/config/", {"base/", "canary/suite/", "supervisor/policy/"}},
    {"supervisor/adapters/",
     {"base/", "canary/", "probes/", "supervisor/policy/", "supervisor/config/", "supervisor/ports/"}},
    {"supervisor/app/",
     {"base/", "canary/", "probes/", "supervisor/policy/", "supervisor/config/", "supervisor/ports/"}},
    {"supervisor/daemon/",
     {"base/", "canary/", "probes/", "supervisor/policy/", "supervisor/config/", "supervisor/ports/",
      "supervisor/adapters/", "supervisor/app/"}},
    {"supervisor/ctl/",
     {"base/", "canary/", "probes/", "supervisor/policy/", "supervisor/config/", "supervisor/ports/",
      "supervisor/adapters/"}},
};

std::vector<std::string> includes_of(const std::string& text, char open, char close) {
  std::vector<std::string> found;
  const std::regex pattern(std::string("(?:^|\n)[ \t]*#[ \t]*include[ \t]*") + open + "([^\n" + close +
                           "]+)" + close);
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    found.push_back((*it)[1]);
  return found;
}

std::vector<std::string> wrong_arrows(const Tree& tree) {
  std::vector<std::string> wrong;
  for (const auto& [path, text] : tree) {
    const auto rule = std::find_if(kArrows.begin(), kArrows.end(),
                                   [&, &p = path](const auto& arrow) { return p.starts_with(arrow.from); });
    if (rule == kArrows.end()) {
      if (!path.starts_with("tests/") && !path.ends_with("CMakeLists.txt") && !path.ends_with(".py"))
        wrong.push_back(path + " is in a folder that no rule is for");
      continue;
    }
    for (const auto& include : includes_of(text, '"', '"')) {
      const bool allowed = include.starts_with(rule->from) ||
                           std::any_of(rule->to.begin(), rule->to.end(),
                                       [&](std::string_view folder) { return include.starts_with(folder); });
      if (!allowed)
        wrong.push_back(path + " includes " + include);
    }
  }
  return wrong;
}

// Of supervisor/app, where the shell is too.
constexpr std::array<std::string_view, 10> kPureOfApp{
    "calibration_report", "counter_edges", "engine_tally", "fingerprint", "journal_watch",
    "life_tracker",       "metrics_page",  "port_silence", "redact",      "role_census"};

bool is_pure(const std::string& path) {
  const auto of_app = [&](std::string_view name) {
    const auto stem = "supervisor/app/" + std::string(name);
    return path == stem + ".h" || path == stem + ".cpp";
  };
  return (path.starts_with("base/") && !path.starts_with("base/os/")) || path.starts_with("canary/suite/") ||
         path.starts_with("canary/grade/") || path.starts_with("canary/plan/") ||
         path.starts_with("supervisor/policy/") || path.starts_with("probes/") ||
         std::any_of(kPureOfApp.begin(), kPureOfApp.end(), of_app);
}

std::vector<std::string> impurities(const Tree& tree) {
  constexpr std::array<std::string_view, 18> kForbidden{
      "random",   "fstream", "filesystem", "iostream",   "thread",      "mutex",
      "unistd.h", "fcntl.h", "time.h",     "boost/asio", "boost/beast", "sqlite3",
      "systemd/", "spdlog/", "sys/",       "sys/time.h", "atomic",      "future"};
  static const std::regex clock(R"((_clock::now|[^a-z_]time\(|clock_gettime|gettimeofday|getenv|fopen)\b)");
  std::vector<std::string> found;
  for (const auto& [path, text] : tree) {
    if (!is_pure(path))
      continue;
    for (const auto& include : includes_of(text, '<', '>'))
      if (std::any_of(kForbidden.begin(), kForbidden.end(), [&](std::string_view name) {
            return include == name ||
                   (name.find('/') != std::string_view::npos && include.starts_with(name)) ||
                   (name == "sqlite3" && include.starts_with(name));
          }))
        found.push_back(path + " includes <" + include + ">");
    for (const auto& include : includes_of(text, '"', '"'))
      if (include.starts_with("base/os/"))
        found.push_back(path + " includes " + include);
    std::smatch match;
    if (std::regex_search(text, match, clock))
      found.push_back(path + " uses " + match[1].str());
  }
  return found;
}

// Whether every list from `folder` up to tests/ is added by the next one above it.
bool reached(const Tree& tree, const fs::path& folder) {
  if (folder == "tests")
    return true;
  for (auto above = folder.parent_path(); !above.empty(); above = above.parent_path()) {
    const auto list = tree.find((above / "CMakeLists.txt").string());
    if (list != tree.end())
      return list->second.find("add_subdirectory(" + fs::relative(folder, above).string() + ")") !=
                 std::string::npos &&
             reached(tree, above);
  }
  return false;
}

std::vector<std::string> unregistered_tests(const Tree& tree) {
  std::vector<std::string> found;
  for (const auto& [path, text] : tree) {
    if (!path.starts_with("tests/") || (!path.ends_with("_test.cpp") && !path.ends_with("_test.py")))
      continue;
    bool runs = false;
    for (auto folder = fs::path(path).parent_path(); !runs && !folder.empty();
         folder = folder.parent_path()) {
      const auto list = tree.find((folder / "CMakeLists.txt").string());
      runs = list != tree.end() &&
             list->second.find(fs::relative(path, folder).string()) != std::string::npos &&
             reached(tree, folder);
    }
    if (!runs)
      found.push_back(path);
  }
  return found;
}

TEST(Structure, ArrowsPointOneWay) {
  EXPECT_THAT(wrong_arrows(read_tree()), IsEmpty());
}

TEST(Structure, ThePureSetTouchesNothing) {
  EXPECT_THAT(impurities(read_tree()), IsEmpty());
}

TEST(Structure, WhatIsCalledPureOfAppIsThere) {
  const auto tree = read_tree();
  for (const auto name : kPureOfApp)
    EXPECT_TRUE(tree.contains("supervisor/app/" + std::string(name) + ".cpp")) << name;
}

TEST(Structure, EveryTestFileIsRegistered) {
  EXPECT_THAT(unregistered_tests(read_tree()), IsEmpty());
}

// The checks themselves, seen red.
TEST(StructureCheck, SeesAnArrowThatPointsBack) {
  EXPECT_THAT(
      wrong_arrows(
          {{"supervisor/policy/a.cpp", "#include \"supervisor/app/b.h\"\n"},
           {"canary/run/c.h", "#include \"canary/grade/d.h\"\n  #  include \"supervisor/ports/e.h\""},
           {"engine/f.cpp", "#include \"canary/grade/g.h\"\n"},
           {"supervisor/app/h.cpp", "#include \"supervisor/adapters/clock/i.h\"\n"},
           {"supervisor/tools/j.cpp", ""},
           {"tests/unit/k_test.cpp", "#include \"supervisor/app/l.h\"\n"}}),
      ElementsAre("canary/run/c.h includes supervisor/ports/e.h", "engine/f.cpp includes canary/grade/g.h",
                  "supervisor/app/h.cpp includes supervisor/adapters/clock/i.h",
                  "supervisor/policy/a.cpp includes supervisor/app/b.h",
                  "supervisor/tools/j.cpp is in a folder that no rule is for"));
}

TEST(StructureCheck, SeesAClockAndAFileInThePureSet) {
  EXPECT_THAT(
      impurities(
          {{"supervisor/policy/a.cpp", "#include <fstream>\nauto t = std::chrono::steady_clock::now();"},
           {"canary/grade/b.cpp", "#include <boost/asio/awaitable.hpp>\n"},
           {"canary/plan/d.cpp", "#include \"base/os/file_descriptor.h\"\n"},
           {"canary/run/c.cpp", "#include <boost/asio/awaitable.hpp>\n"},
           {"probes/journal/scanner.cpp", "#include <fstream>\n"},
           {"supervisor/app/life_tracker.cpp", "#include <spdlog/spdlog.h>\n"},
           {"supervisor/app/engine_watch.cpp", "#include <spdlog/spdlog.h>\n"}}),
      ElementsAre("canary/grade/b.cpp includes <boost/asio/awaitable.hpp>",
                  "canary/plan/d.cpp includes base/os/file_descriptor.h",
                  "probes/journal/scanner.cpp includes <fstream>",
                  "supervisor/app/life_tracker.cpp includes <spdlog/spdlog.h>",
                  "supervisor/policy/a.cpp includes <fstream>", "supervisor/policy/a.cpp uses _clock::now"));
}

TEST(StructureCheck, SeesATestThatNobodyRuns) {
  EXPECT_THAT(unregistered_tests({{"tests/CMakeLists.txt", "add_subdirectory(unit/x)\n"},
                                  {"tests/unit/x/CMakeLists.txt", "SOURCES b_test.cpp"},
                                  {"tests/unit/x/a_test.cpp", ""},
                                  {"tests/unit/x/b_test.cpp", ""}}),
              ElementsAre("tests/unit/x/a_test.cpp"));
}

TEST(StructureCheck, SeesAFolderOfTestsThatNobodyAdds) {
  EXPECT_THAT(unregistered_tests({{"tests/CMakeLists.txt", "add_subdirectory(system)\n"},
                                  {"tests/system/CMakeLists.txt", ""},
                                  {"tests/system/y/CMakeLists.txt", "foreach(file c_test.py)"},
                                  {"tests/system/y/c_test.py", ""}}),
              ElementsAre("tests/system/y/c_test.py"));
}

}  // namespace
