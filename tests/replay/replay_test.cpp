// Recorded histories, decided again: equal within a version, every tampering found.
#include "supervisor/policy/replay.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "supervisor/policy/codec.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/simulate.h"

namespace fireboss::policy {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

History history(const std::string& name) {
  std::ifstream file(FIREBOSS_SOURCE_DIR "/tests/fixtures/timelines/" + name + ".jsonl", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return read_history(text, name, simulated_policy());
}

// Writes a record as the store does: one row an event, consecutive identical decisions of one policy one row.
class Recorder {
 public:
  void use(const Policy& policy) {
    policy_ = policy;
    hash_ = sha256_hex(canonical_text(policy));
    record_.policies[hash_] = canonical_text(policy);
  }
  void start(const State& state) { state_ = state; }

  void feed(const Event& event) {
    auto stepped = step(policy_, state_, event);
    const auto encoded = encode(event.body);
    record_.events.push_back({.id = ++id_,
                              .kind = encoded.kind,
                              .version = encoded.version,
                              .payload = encoded.payload,
                              .mono = event.at});
    for (const auto& decision : stepped.decisions) {
      const auto payload = encode(decision);
      auto* const last = record_.decisions.empty() ? nullptr : &record_.decisions.back();
      if (last != nullptr && last->payload == payload && last->policy_hash == hash_) {
        last->last_event = id_;
        ++last->count;
      } else {
        record_.decisions.push_back({.first_event = id_,
                                     .last_event = id_,
                                     .count = 1,
                                     .payload = payload,
                                     .policy_hash = hash_,
                                     .decider_version = std::string(decider_version())});
      }
    }
    state_ = std::move(stepped.state);
  }
  void snapshot() {
    record_.events.push_back({.id = ++id_,
                              .kind = std::string(kSnapshotKind),
                              .version = kStateVersion,
                              .payload = encode(state_),
                              .mono = state_.now});
  }
  [[nodiscard]] const std::string& hash() const { return hash_; }
  [[nodiscard]] const State& state() const { return state_; }
  ReplayInput record() { return record_; }

 private:
  Policy policy_;
  std::string hash_;
  State state_;
  std::int64_t id_ = 0;
  ReplayInput record_;
};

// The history's events, snapshots of which stand after the events with the given numbers.
ReplayInput recorded(const std::string& name, std::vector<std::size_t> snapshots = {}) {
  const auto written = history(name);
  const auto played = simulate(written);
  Recorder recorder;
  recorder.use(written.policy);
  State calibrated;
  calibrated.assume_calibrated = true;
  recorder.start(calibrated);
  recorder.snapshot();  // a written history's engine counts as calibrated, which no event says
  recorder.feed({.at = {}, .body = Configured{recorder.hash(), "", std::nullopt}});
  for (std::size_t i = 0; i < played.events.size(); ++i) {
    recorder.feed(played.events[i]);
    if (std::find(snapshots.begin(), snapshots.end(), i) != snapshots.end())
      recorder.snapshot();
  }
  return recorder.record();
}

class ReplayOf : public testing::TestWithParam<std::string> {};

TEST_P(ReplayOf, AgreesByteForByte) {
  const auto input = recorded(GetParam());
  const auto report = replay(input);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->differences, IsEmpty());
  EXPECT_FALSE(report->other_version);
  EXPECT_GT(report->decisions, 0);
  EXPECT_EQ(report->events, static_cast<std::int64_t>(input.events.size()) - 1);
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(FIREBOSS_SOURCE_DIR "/tests/fixtures/timelines"))
    if (entry.path().extension() == ".jsonl")
      out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}
INSTANTIATE_TEST_SUITE_P(Histories, ReplayOf, testing::ValuesIn(names()),
                         [](const auto& instance) { return instance.param; });

TEST(Replay, BeginsAtTheOldestSnapshot) {
  auto input = recorded("degrades_at_40_minutes", {5, 12});
  // What lies before it is forgotten by retention.
  const auto oldest = std::find_if(input.events.begin() + 1, input.events.end(),
                                   [](const StoredEvent& event) { return event.kind == kSnapshotKind; });
  const auto id = oldest->id;
  input.events.erase(input.events.begin(), oldest);
  std::erase_if(input.decisions, [id](const StoredDecision& row) { return row.last_event < id; });
  const auto report = replay(input);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->first_event, id);
  EXPECT_THAT(report->differences, IsEmpty());
  EXPECT_GT(report->decisions, 10);
}

TEST(Replay, TellsHowFarItIs) {
  const auto input = recorded("degrades_every_3h");
  std::vector<std::int64_t> told;
  const auto report = replay(input, [&](std::int64_t done, std::int64_t all) {
    EXPECT_EQ(all, static_cast<std::int64_t>(input.events.size()));
    told.push_back(done);
  });
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_FALSE(told.empty()) << input.events.size() << " events";
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_LT(told.back(), static_cast<std::int64_t>(input.events.size()));
}

TEST(Replay, FindsADecisionThatWasChanged) {
  auto input = recorded("example");
  for (auto& row : input.decisions)
    if (row.payload.find("\"kind\":\"restart\"") != std::string::npos)
      row.payload.replace(row.payload.find("R2"), 2, "R5");
  const auto report = replay(input);
  ASSERT_TRUE(report);
  ASSERT_THAT(report->differences, SizeIs(1));
  EXPECT_THAT(report->differences[0].stored, HasSubstr("R5 degraded"));
  EXPECT_THAT(report->differences[0].replayed, HasSubstr("R2 degraded"));
}

TEST(Replay, FindsADecisionThatIsMissing) {
  auto input = recorded("example");
  const auto event = input.decisions.back().first_event;
  input.decisions.pop_back();
  const auto report = replay(input);
  ASSERT_TRUE(report);
  ASSERT_THAT(report->differences, SizeIs(1));
  EXPECT_EQ(report->differences[0].event, event);
  EXPECT_EQ(report->differences[0].stored, "");
}

TEST(Replay, FindsADecisionTooMany) {
  auto input = recorded("example");
  auto extra = input.decisions.back();
  extra.payload = R"({"kind":"alert"})";
  input.decisions.push_back(extra);
  const auto report = replay(input);
  ASSERT_TRUE(report);
  ASSERT_THAT(report->differences, SizeIs(1));
  EXPECT_EQ(report->differences[0].replayed, "");
}

TEST(Replay, FindsAWrongCount) {
  auto input = recorded("busy");
  for (auto& row : input.decisions)
    if (row.count > 1)
      --row.count;
  const auto report = replay(input);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->differences.empty());
}

TEST(Replay, FindsAnEventThatWasChanged) {
  auto input = recorded("example");
  for (auto& event : input.events)
    if (event.kind == "canary" && event.payload.find("leak") != std::string::npos)
      event.payload = R"({"life":"a","results":["ok","ok","ok","ok"],"variant":"chat"})";
  const auto report = replay(input);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->differences.empty());
}

TEST(Replay, ListsWhatAnotherVersionHadSaidOtherwise) {
  auto input = recorded("example");
  auto& last = input.decisions.back();
  last.decider_version = "0";
  last.payload = R"({"kind":"no_action","reason":"of old"})";
  const auto report = replay(input);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->other_version);
  ASSERT_THAT(report->differences, SizeIs(1));
  EXPECT_EQ(report->differences[0].decider_version, "0");
}

TEST(Replay, EqualRowsOfAnotherVersionAreNoDifference) {
  auto input = recorded("busy");
  for (auto& row : input.decisions)
    row.decider_version = "0";
  const auto report = replay(input);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->other_version);
  EXPECT_THAT(report->differences, IsEmpty());
}

TEST(Replay, UsesThePolicyThatWasInForce) {
  Recorder recorder;
  Policy strict, lax;
  strict.k = 1;
  lax.k = 4;
  recorder.use(strict);
  State calibrated;
  calibrated.assume_calibrated = true;
  recorder.start(calibrated);
  recorder.snapshot();
  const auto at = [](int s) { return MonoTime{Millis{s * 1000}}; };
  const auto run = [&](int s, std::vector<std::string> results) {
    recorder.feed({at(s), CanaryResult{"chat", "a", std::move(results), std::nullopt}});
  };
  recorder.feed({at(0), DaemonStarted{std::nullopt, "a", "boot"}});
  recorder.feed({at(0), Configured{recorder.hash(), "s", std::nullopt}});
  recorder.feed({at(1), Ready{"a", "f"}});
  run(2, {"ok", "ok", "ok", "ok"});
  run(3, {"leak", "ok", "ok", "ok"});
  recorder.use(lax);
  recorder.feed({at(10), DaemonStarted{std::nullopt, "a", "boot"}});
  recorder.feed({at(10), Configured{recorder.hash(), "s", std::nullopt}});
  run(11, {"leak", "leak", "leak", "ok"});
  const auto report = replay(recorder.record());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->differences, IsEmpty());
  EXPECT_EQ(report->decisions, 3);
}

TEST(Replay, SaysWhichEventCannotBeRead) {
  auto input = recorded("example");
  input.events[3].payload = "{";
  const auto report = replay(input);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(report.error().message, HasSubstr("event #4"));
}

TEST(Replay, SaysWhichPolicyIsMissing) {
  auto input = recorded("example");
  input.policies.clear();
  const auto report = replay(input);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kNotFound);
}

TEST(Replay, RefusesEventsOfANewerVersion) {
  auto input = recorded("example");
  input.events[3].version = 99;
  const auto report = replay(input);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace fireboss::policy
