#include "supervisor/ctl/status_view.h"

#include <gmock/gmock.h>

#include "supervisor/policy/engine_state.h"

namespace fireboss::ctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

MonoTime at(std::int64_t seconds) {
  return MonoTime{Millis{seconds * 1000}};
}

// An engine that is up, calibrated, and has been asked once in every variant at 100 s.
class StatusViewTest : public ::testing::Test {
 protected:
  StatusViewTest() {
    feed(0, policy::DaemonStarted{std::nullopt, "a", "boot-1"});
    feed(0, policy::Configured{"policy-1", "suite-1", std::nullopt});
    feed(0, policy::LifeStarted{"a", policy::LifeCause::kSystemd, "f", Millis{0}});
    feed(90, policy::Ready{"a", "f"});
    for (const auto& variant : policy_.variants) {
      feed(95, policy::Calibrated{variant, "f", 40, 0, 200, 400});
      canary(100, variant, "ok");
    }
  }
  void feed(std::int64_t seconds, policy::EventBody body) {
    state_ = policy::step(policy_, state_, {at(seconds), std::move(body)}).state;
  }
  void canary(std::int64_t seconds, const std::string& variant, const std::string& result) {
    feed(seconds,
         policy::CanaryResult{variant, "a", {result, result, result, result}, policy::Purpose::kScheduled});
  }
  EngineStatus status(std::int64_t seconds, OnDisk on_disk = {"policy-1", "suite-1"}) const {
    return engine_status("drill", "drill.service", policy_, on_disk, state_, {}, {at(seconds), "boot-1"});
  }

  policy::Policy policy_;
  policy::State state_;
};

TEST_F(StatusViewTest, SaysSinceWhenEachEngineAnswersCorrectly) {
  canary(1900, "chat", "ok");
  const auto now = status(100 + 7800 / 2);
  EXPECT_EQ(now.health, Health::kOk);
  ASSERT_TRUE(now.answering_for.has_value());
  EXPECT_EQ(*now.answering_for, Millis{3'900'000});
  EXPECT_THAT(to_text(now), HasSubstr("drill (drill.service): answering correctly for 1h 5m, up 1h 6m\n"));
  EXPECT_EQ(to_json(now).at("answering_for_ms").as_int64(), 3'900'000);
}

TEST_F(StatusViewTest, TheRowBeginsAnewAfterAFailedRunAndOutlastsOneThatSaidNothing) {
  canary(1000, "chat", "inconclusive:busy");
  canary(1100, "chat", "ok");
  EXPECT_EQ(status(1200).answering_for, Millis{1'100'000});
  canary(2000, "chat", "leak");
  EXPECT_THAT(to_text(status(2001)), HasSubstr("ANSWERING WRONGLY"));
  EXPECT_FALSE(status(2001).answering_for.has_value());
  canary(2100, "chat", "ok");
  EXPECT_EQ(status(2200).answering_for, Millis{100'000});
}

TEST_F(StatusViewTest, ANewLifeHasToBeAskedFirst) {
  feed(1000, policy::LifeEnded{"a", "success", 0, false, false, true, false});
  EXPECT_FALSE(status(1001).answering_for.has_value());
  feed(1002, policy::LifeStarted{"b", policy::LifeCause::kSystemd, "f", Millis{0}});
  feed(1003, policy::Ready{"b", "f"});
  EXPECT_FALSE(status(1004).answering_for.has_value());
}

TEST_F(StatusViewTest, SaysThatTheSuiteOrThePolicyOnDiskIsNotTheLoadedOne) {
  EXPECT_THAT(status(200).to_do, IsEmpty());
  const auto suite = status(200, {"policy-1", "suite-2"});
  EXPECT_EQ(suite.health, Health::kWarning);
  EXPECT_THAT(suite.to_do,
              Contains(StartsWith("systemctl restart firebossd: the suite (questions, prompt or tools) on")));
  const auto policy = status(200, {"policy-2", "suite-1"});
  EXPECT_EQ(policy.health, Health::kWarning);
  EXPECT_THAT(policy.to_do, Contains(StartsWith("systemctl restart firebossd: the policy on disk")));
  EXPECT_THAT(status(200, {"policy-2", "suite-2"}).to_do, Contains(HasSubstr("tools) and policy on disk")));
}

TEST_F(StatusViewTest, SaysWhatModeObserveKeepsFromADeadEngineAndWhatIsLeftToDo) {
  feed(1000, policy::LifeEnded{"a", "exit-code", 1, false, false, false, false});
  const auto early = status(1005);
  EXPECT_EQ(early.answers, "DOWN");
  EXPECT_EQ(early.next, "systemd may start it");
  EXPECT_THAT(early.held_back, IsEmpty());
  const auto due = status(1011);
  EXPECT_EQ(due.next, "nothing by itself, in mode observe");
  EXPECT_THAT(due.held_back, ElementsAre("a start of the dead engine, by mode observe"));
  EXPECT_THAT(due.to_do, Contains("systemctl start drill.service: nobody else does in mode observe"));
  policy_.mode = policy::Mode::kEnforce;
  EXPECT_EQ(status(1005).next, "it is started in 5.0s unless systemd does");
  EXPECT_THAT(status(1011).held_back, IsEmpty());
}

TEST_F(StatusViewTest, ADeadEngineThatSystemdStartsIsHeldBackByNobody) {
  feed(1000, policy::LifeEnded{"a", "exit-code", 1, false, false, true, false});
  EXPECT_EQ(status(1100).next, "systemd is to start it");
  EXPECT_THAT(status(1100).held_back, IsEmpty());
}

TEST_F(StatusViewTest, SaysWhatModeObserveKeepsFromAMissingProcess) {
  feed(1000, policy::Census{"a", {"core"}});
  feed(1010, policy::Census{"a", {"core"}});
  const auto now = status(1011);
  EXPECT_EQ(now.answers, "A PROCESS IS MISSING (core)");
  EXPECT_EQ(now.health, Health::kCritical);
  EXPECT_THAT(now.held_back, ElementsAre("a restart for the missing process, by mode observe"));
  EXPECT_THAT(now.to_do, Contains("systemctl restart drill.service: nobody else does in mode observe"));
}

TEST_F(StatusViewTest, SaysWhatModeObserveKeepsFromAStall) {
  feed(1000, policy::Counters{1, 0, 10, 10, false});
  feed(1015, policy::Counters{1, 0, 10, 10, false});
  feed(1290, policy::Counters{1, 0, 10, 10, false});
  EXPECT_THAT(status(1299).held_back, IsEmpty());
  const auto now = status(1301);
  EXPECT_THAT(now.answers, StartsWith("STALLED ("));
  EXPECT_THAT(now.held_back, ElementsAre("a restart for the stall, by mode observe"));
}

TEST_F(StatusViewTest, WhatWasSeenLastIsNotSaidToBeTrueWhenNobodyWatches) {
  canary(1900, "chat", "ok");
  const auto now = engine_status("drill", "drill.service", policy_, {"policy-1", "suite-1"}, state_, {},
                                 {at(2200), "boot-1", false});
  EXPECT_EQ(now.health, Health::kUnknown);
  EXPECT_THAT(to_text(now), StartsWith("drill (drill.service): last seen 5m ago: answering correctly; "
                                       "nobody is watching\n"));
  EXPECT_THAT(to_text(now), Not(HasSubstr("next")));
  EXPECT_FALSE(to_json(now).contains("answering_for_ms"));
  EXPECT_THAT(now.to_do, Contains(StartsWith("systemctl start firebossd")));
}

}  // namespace
}  // namespace fireboss::ctl
