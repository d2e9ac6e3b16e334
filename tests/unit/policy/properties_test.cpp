// What holds whatever happens: the fold needs no memory but its state, no clock but its events', and the
// budget bounds what is done to an engine that nothing helps.
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/alert_severity.h"
#include "supervisor/policy/codec.h"
#include "tests/unit/policy/random_history.h"

namespace fireboss::policy {
namespace {

constexpr unsigned kSeeds = 60;
constexpr int kEvents = 80;

// Everything that a firebossd would have been fed, timers and steps of its own included.
std::vector<Event> lived(RandomHistory& history, const Policy& policy) {
  std::vector<Event> out;
  State state;
  state.assume_calibrated = true;
  const auto feed = [&](const Event& event) {
    out.push_back(event);
    state = step(policy, std::move(state), event).state;
  };
  for (int i = 0; i < kEvents; ++i) {
    auto event = history.next();
    for (auto timer = next_timer(policy, state); timer && timer->at <= event.at;
         timer = next_timer(policy, state))
      feed({.at = timer->at, .body = TimerDue{timer->name}});
    event.at = std::max(event.at, state.now);
    feed(event);
    for (auto due = operation_step(policy, state); due && due->step < Step::kJob;
         due = operation_step(policy, state))
      feed({.at = state.now, .body = ActionOutcome{due->action, due->step, StepResult::kDone, ""}});
  }
  return out;
}

struct Folded {
  State state;
  std::vector<Decision> decisions;
};

Folded fold(const Policy& policy, const std::vector<Event>& events, bool through_the_record, Millis later) {
  Folded out;
  out.state.assume_calibrated = true;
  for (const auto& event : events) {
    auto body = event.body;
    if (through_the_record) {
      out.state = decode_state(encode(out.state)).value();
      const auto written = encode(event.body);
      body = decode_event(written.kind, written.version, written.payload).value();
    }
    auto stepped = step(policy, std::move(out.state), {.at = event.at + later, .body = std::move(body)});
    out.state = std::move(stepped.state);
    for (auto& decision : stepped.decisions)
      out.decisions.push_back(std::move(decision));
  }
  return out;
}

std::vector<std::string> written(std::vector<Decision> decisions, Millis later = {}) {
  std::vector<std::string> out;
  for (auto& decision : decisions) {
    if (decision.until)
      *decision.until -= later;
    out.push_back(encode(decision));
  }
  return out;
}

TEST(Folding, InOneGoEqualsFoldingThroughTheRecordAtEveryEvent) {
  std::size_t decisions = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomHistory history(seed);
    const auto policy = history.policy();
    const auto events = lived(history, policy);
    const auto once = fold(policy, events, false, {});
    const auto through = fold(policy, events, true, {});
    ASSERT_EQ(once.state, through.state);
    ASSERT_EQ(written(once.decisions), written(through.decisions));
    decisions += once.decisions.size();
  }
  EXPECT_GT(decisions, 10 * kSeeds);
}

TEST(Folding, DecidesTheSameWhateverTheClockReadsAtItsBeginning) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomHistory history(seed);
    const auto policy = history.policy();
    const auto events = lived(history, policy);
    const auto now = fold(policy, events, false, {});
    const auto later = hours(1000) + Millis{777};
    ASSERT_EQ(written(now.decisions), written(fold(policy, events, false, later).decisions, later));
  }
}

// The state keeps keys only: what their severity was is told by the key.
TEST(Alerts, AreAsSevereAsTheirKeySays) {
  std::map<std::string, Severity> seen;
  for (unsigned seed = 1; seed <= 5 * kSeeds; ++seed) {
    RandomHistory history(seed);
    const auto policy = history.policy();
    for (const auto& decision : fold(policy, lived(history, policy), false, {}).decisions)
      if (decision.kind == DecisionKind::kAlert) {
        EXPECT_EQ(alert_severity(decision.alert_key), decision.severity) << decision.alert_key;
        seen.emplace(decision.alert_key.substr(0, decision.alert_key.find('/')), decision.severity);
      }
  }
  EXPECT_GE(seen.size(), 8U)
      << "the histories raise too few kinds to show anything; tests/replay has the others";
  for (const auto* key : {"down_on_purpose", "inconclusive", "lease", "R4", "R7"})
    EXPECT_TRUE(seen.contains(key)) << key;
}

// An engine that nothing helps, of which a random one of its ills shows at random times. Its jobs are done or
// fail, and it comes up again or dies. A clean verification now and then refunds nothing: a useful life is as
// long as the window.
class Hopeless {
 public:
  Hopeless(unsigned seed, int budget) : random_(seed) {
    engine_.policy.budget = budget;
    engine_.policy.useful_life = engine_.policy.budget_window;
    engine_.healthy(life_);
    now_ = 100;
  }

  void live() {
    for (int i = 0; i < 400; ++i) {
      wait(1, 1200);
      ail();
      answer_the_operation();
    }
  }

  // Of the charged ones.
  std::vector<MonoTime> begun;

 private:
  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  void note(const std::vector<Decision>& decisions) {
    for (const auto& decision : decisions)
      if (decision.kind == DecisionKind::kRestart && decision.charged)
        begun.push_back(engine_.state.now);
  }
  void wait(int least, int most) {
    now_ += pick(least, most);
    for (auto timer = next_timer(engine_.policy, engine_.state); timer && timer->at <= at(now_);
         timer = next_timer(engine_.policy, engine_.state))
      note(engine_.run_until(static_cast<double>(timer->at.time_since_epoch().count()) / 1000));
  }

  void ail() {
    if (!alive(engine_.state))
      return;
    switch (pick(0, 4)) {
      case 0:
        note(engine_.died(now_, life_, pick(0, 1) == 0 ? std::nullopt : std::optional(false)));
        return;
      case 1:
        note(engine_.feed(now_, Census{life_, {"core"}}));
        return;
      case 2:
        note(engine_.counters(now_, 1, 5));
        return;
      case 3:
        note(engine_.run(now_, life_, 0));
        return;
      default:
        note(engine_.run(now_, life_, 4));
    }
  }

  void answer_the_operation() {
    while (engine_.state.operation) {
      wait(1, 30);
      if (!engine_.state.operation)
        return;
      const auto action = engine_.state.operation->action;
      switch (engine_.state.operation->step) {
        case Step::kJob:
          if (action == ActionKind::kStart && pick(0, 3) == 0) {
            note(engine_.feed(now_, ActionOutcome{action, Step::kJob, StepResult::kFailed, ""}));
            break;
          }
          if (action != ActionKind::kStart)
            note(engine_.feed(now_, LifeEnded{.life = life_,
                                              .result = "success",
                                              .exit_status = {},
                                              .stop_job = true,
                                              .restart_job = true,
                                              .auto_restart = false}));
          life_ = "l" + std::to_string(++lives_);
          note(engine_.start(now_, life_, LifeCause::kFirebossd));
          break;
        case Step::kReady:
          note(engine_.ready(now_, life_));
          break;
        case Step::kVerify:
          note(engine_.run(now_, life_, pick(0, 1) * 4));
          break;
        case Step::kEvidence:
        case Step::kLease:
        case Step::kPreStop:
        case Step::kDrain:
        case Step::kPostReady:
          note(engine_.one(at(now_),
                           ActionOutcome{action, engine_.state.operation->step, StepResult::kDone, ""}));
      }
    }
  }

  std::mt19937 random_;
  Engine engine_;
  std::string life_ = "l0";
  int lives_ = 0;
  double now_ = 0;
};

TEST(RestartBudget, IsNeverExceededInAnyWindowWhateverAilsTheEngine) {
  for (unsigned seed = 1; seed <= 40; ++seed)
    for (int budget = 0; budget <= 4; ++budget) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", budget " + std::to_string(budget));
      Hopeless engine(seed, budget);
      engine.live();
      const auto& begun = engine.begun;
      for (std::size_t i = 0; i < begun.size(); ++i) {
        std::int64_t within = 0;
        for (std::size_t j = 0; j <= i; ++j)
          within += begun[i] - begun[j] < Policy{}.budget_window ? 1 : 0;
        ASSERT_LE(within, budget) << "at " << begun[i].time_since_epoch().count();
      }
      // It does act as often as it may: some sixty hours are ten windows.
      ASSERT_GE(begun.size(), static_cast<std::size_t>(budget) * 5);
    }
}

}  // namespace
}  // namespace fireboss::policy
