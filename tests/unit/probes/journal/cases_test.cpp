// Every public case with a log through the built-in signatures. Where the right verdict follows from the log
// alone its class must be found; where it takes counters, ages or hashes besides (the ids below) the log must
// not mislead.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "probes/journal/scanner.h"

namespace fireboss::probes {
namespace {

struct LogCase {
  std::string id, verdict, log;
  bool control = false;
  Whose whose;
};

std::vector<LogCase> load_cases() {
  std::vector<LogCase> out;
  std::ifstream file(std::string(FIREBOSS_SOURCE_DIR) + "/tests/fixtures/cases.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto entry = boost::json::parse(line).as_object();
    const auto* lines = entry.at("journal").if_array();
    if (lines == nullptr)
      continue;
    LogCase c;
    c.id = entry.at("id").as_string();
    c.verdict = entry.at("right_verdict").as_string();
    c.control = entry.at("negative_control").as_bool();
    for (const auto& l : *lines)
      c.log += std::string(l.as_string()) + "\n";
    if (const auto* state = entry.at("state").if_object())
      if (const auto* pids = state->if_contains("engine_pids"))
        for (const auto& pid : pids->as_array())
          c.whose.pids.push_back(pid.to_number<std::uint32_t>());
    out.push_back(std::move(c));
  }
  return out;
}

std::set<std::string> classes_of(const LogCase& c) {
  static const auto signatures = SignatureSet::builtin();
  Scanner scanner(*signatures, c.whose);
  scanner.feed(c.log);
  std::set<std::string> out;
  for (const auto& finding : scanner.finish())
    out.insert(signatures->all()[finding.signature].signature_class);
  return out;
}

// Nothing in their logs tells: health answers 200, batches go on, a patch is missing in a process that says
// nothing.
const std::set<std::string> kNeedMoreThanTheLog{
    "B02-core-killed-health-200", "B03-health-generate-200-scheduler-dead", "C03-accept-length-slides",
    "C07-aborted-streams-leak-slots", "E03-monkeypatch-only-in-parent"};

TEST(JournalCasesTest, VerdictsThatALogTellsAreFound) {
  const auto cases = load_cases();
  ASSERT_GE(cases.size(), 22u);
  for (const auto& c : cases) {
    if (c.control || kNeedMoreThanTheLog.contains(c.id))
      continue;
    const auto found = classes_of(c);
    EXPECT_TRUE(found.contains(c.verdict)) << c.id << " is " << c.verdict;
  }
}

TEST(JournalCasesTest, LogsThatTellNothingAreSilent) {
  for (const auto& c : load_cases()) {
    if (kNeedMoreThanTheLog.contains(c.id)) {
      EXPECT_TRUE(classes_of(c).empty()) << c.id;
    }
  }
}

TEST(JournalCasesTest, ControlsAreNoFaults) {
  int controls = 0;
  for (const auto& c : load_cases()) {
    if (!c.control)
      continue;
    ++controls;
    auto found = classes_of(c);
    found.erase("busy");  // no fault: what only looks like one
    EXPECT_TRUE(found.empty()) << c.id << ": " << *found.begin();
  }
  EXPECT_GE(controls, 4);
}

}  // namespace
}  // namespace fireboss::probes
