// What must hold in every history, tried on thousands of random ones. The seed of a failing one is printed.
#include <cstdlib>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/policy/codec.h"
#include "tests/unit/policy/engine.h"

namespace fireboss::policy {
namespace {

using testing::Contains;

class RandomHistory {
 public:
  explicit RandomHistory(unsigned seed) : random_(seed) {}

  Policy policy() {
    Policy out;
    out.mode = chance(5) ? Mode::kObserve : Mode::kEnforce;
    out.rule = chance(3) ? Rule::kConfirm : Rule::kKOfN;
    out.variants =
        chance(2) ? std::vector<std::string>{"chat"} : std::vector<std::string>{"chat", "chat-stream"};
    out.budget = pick(0, 3);
    if (chance(2))
      out.max_age = hours(4);
    return out;
  }

  Event next() {
    now_ += Millis{chance(4) ? pick(0, 5'000) : chance(2) ? pick(0, 300'000) : pick(0, 7'200'000)};
    return {.at = now_, .body = body()};
  }

 private:
  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  std::string life() {
    // Mostly the current one, sometimes one that is over, sometimes one never heard of.
    return "l" + std::to_string(chance(12) ? pick(0, 40) : life_);
  }
  std::optional<bool> maybe() { return chance(4) ? std::nullopt : std::optional(chance(2)); }
  std::optional<std::int64_t> number() {
    return chance(8) ? std::nullopt : std::optional<std::int64_t>(tokens_);
  }

  std::vector<std::string> results() {
    static const std::vector<std::string> kWords{"leak", "http_error", "timeout", "inconclusive:busy",
                                                 "foreign_nonce"};
    const int badness = pick(0, 3);
    std::vector<std::string> out;
    for (int i = 0; i < 4; ++i)
      out.push_back(pick(0, 3) < badness
                        ? kWords[static_cast<std::size_t>(chance(6) ? pick(0, 4) : pick(0, 2))]
                        : "ok");
    return out;
  }

  EventBody body() {
    switch (pick(0, 23)) {
      case 0:
      case 1:
        return LifeStarted{
            .life = "l" + std::to_string(++life_),
            .cause = static_cast<LifeCause>(pick(0, 4)),
            .fingerprint = chance(4) ? std::nullopt : std::optional<std::string>(chance(6) ? "g" : "f")};
      case 2:
      case 3:
        return Ready{.life = life(), .fingerprint = {}};
      case 4:
        return LifeEnded{.life = life(),
                         .result = chance(6) ? "start-limit-hit" : "success",
                         .exit_status = 0,
                         .stop_job = maybe(),
                         .restart_job = maybe(),
                         .auto_restart = maybe(),
                         .start_limit = false};
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
        return CanaryResult{chance(2) ? "chat" : "chat-stream", life(), results(),
                            chance(4) ? std::optional(static_cast<Purpose>(pick(0, 2))) : std::nullopt};
      case 10:
      case 11:
        tokens_ += chance(2) ? pick(0, 500) : 0;
        return Counters{.running = pick(0, 2),
                        .waiting = 0,
                        .prompt_tokens = number(),
                        .generation_tokens = number(),
                        .scrape_failed = chance(8)};
      case 12:
        return PortBytes{chance(2)};
      case 13:
        return Lease{"0", chance(2) ? "bench" : "train", chance(2)};
      case 14:
        return Census{life(), chance(2) ? std::vector<std::string>{"core"} : std::vector<std::string>{}};
      case 15:
        return Signature{chance(2) ? "gpu_fault_hw" : "engine_dead", 1, life()};
      case 16:
        return OperatorHold{Millis{pick(0, 7'200'000)}, "why"};
      case 17:
        return chance(2) ? EventBody(OperatorResume{}) : EventBody(OperatorRecycle{});
      case 18:
        return chance(2) ? EventBody(OperatorRestart{"why"})
                         : EventBody(OperatorMode{static_cast<Mode>(pick(0, 1))});
      case 19:
        return ActionOutcome{static_cast<ActionKind>(pick(0, 2)), static_cast<Step>(pick(0, 7)),
                             static_cast<StepResult>(pick(0, 3)), "detail"};
      case 20:
        return OwnFault{static_cast<OwnFaultKind>(pick(0, 3)), chance(2)};
      case 21:
        return DaemonStarted{chance(2)
                                 ? std::nullopt
                                 : std::optional(PendingAction{static_cast<ActionKind>(pick(0, 2)), life(),
                                                               static_cast<Step>(pick(0, 7)), chance(4)}),
                             chance(3) ? std::nullopt : std::optional(chance(5) ? std::string() : life()),
                             chance(6) ? "other-boot" : "boot"};
      case 22:
        return chance(2) ? EventBody(CanaryBegun{"chat", life(), Purpose::kScheduled})
                         : EventBody(Suspended{hours(1)});
      default:
        return Tick{};
    }
  }

  std::mt19937 random_;
  MonoTime now_{};
  int life_ = 0;
  std::int64_t tokens_ = 0;
};

bool acts(const Decision& decision) {
  return decision.kind == DecisionKind::kRestart || decision.kind == DecisionKind::kRecycle;
}

void check_round_trip(const Policy& policy, const State& state, const Event& event) {
  const auto text = encode(state);
  const auto back = decode_state(text);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(*back, state);
  ASSERT_EQ(encode(*back), text);

  const auto encoded = encode(event.body);
  const auto body = decode_event(encoded.kind, encoded.version, encoded.payload);
  ASSERT_TRUE(body) << body.error().message;
  ASSERT_EQ(encode(*body).payload, encoded.payload);

  // The same future from what was read back.
  const auto one = step(policy, state, event);
  const auto other = step(policy, *back, {.at = event.at, .body = *body});
  ASSERT_EQ(one.state, other.state);
  ASSERT_EQ(one.decisions.size(), other.decisions.size());
  for (std::size_t i = 0; i < one.decisions.size(); ++i) {
    const auto payload = encode(one.decisions[i]);
    ASSERT_EQ(payload, encode(other.decisions[i]));
    const auto decision = decode_decision(payload);
    ASSERT_TRUE(decision) << decision.error().message;
    ASSERT_EQ(encode(*decision), payload);
  }
}

void check_decision(const Policy& policy, const State& before, const State& after, const Decision& decision) {
  static const std::vector<std::string> kFirstWords{"R1",
                                                    "R2",
                                                    "R3",
                                                    "R4",
                                                    "R5",
                                                    "R6",
                                                    "R7",
                                                    "R8",
                                                    "R9",
                                                    "recycle",
                                                    "recurring",
                                                    "cusum",
                                                    "overdue",
                                                    "inconclusive",
                                                    "lease",
                                                    "own_fault",
                                                    "down_on_purpose"};
  ASSERT_THAT(kFirstWords, Contains(decision.reason.substr(0, decision.reason.find_first_of(" :"))))
      << decision.reason;
  ASSERT_TRUE(decision.kind != DecisionKind::kDefer || decision.by.has_value());
  ASSERT_TRUE(decision.kind != DecisionKind::kHold || decision.until.has_value());
  ASSERT_TRUE(decision.kind != DecisionKind::kAlert || !decision.alert_key.empty());
  if (!acts(decision))
    return;
  // Never two operations: what was open has been closed by this very event.
  ASSERT_TRUE(!before.operation || before.operation->begun != after.operation->begun ||
              (after.last_operation && after.last_operation->at == after.now));
  ASSERT_TRUE(after.leases.empty()) << decision.reason;
  ASSERT_EQ(decision.life, after.life ? after.life->id : "");
  ASSERT_FALSE(after.own_faults.contains(OwnFaultKind::kBusLost)) << decision.reason;
  if (decision.about == "down")
    return;  // the rest of an operation that was begun
  ASSERT_FALSE(blocking_fault(after).has_value()) << decision.reason;
  ASSERT_EQ(effective_mode(policy, after), Mode::kEnforce) << decision.reason;
  ASSERT_FALSE(after.hold.has_value()) << decision.reason;
  ASSERT_LE(charges_in_window(policy, after.charges, after.now), policy.budget) << decision.reason;
  ASSERT_TRUE(decision.about == "asked" || !down_on_purpose(after)) << decision.reason;
}

// Steps through one event and everything that follows by itself.
class CheckedRun {
 public:
  explicit CheckedRun(const Policy& policy) : policy_(policy) { state.assume_calibrated = true; }

  void step_checked(const Event& event) {
    const auto before = state;
    ASSERT_NO_FATAL_FAILURE(check_round_trip(policy_, before, event));
    auto stepped = step(policy_, before, event);
    state = stepped.state;
    int actions = 0;
    for (const auto& decision : stepped.decisions) {
      ASSERT_NO_FATAL_FAILURE(check_decision(policy_, before, state, decision));
      actions += acts(decision) ? 1 : 0;
      decisions += 1;
      restarts += acts(decision) ? 1U : 0U;
    }
    ASSERT_LE(actions, 1);
    const auto due = canary_due(policy_, state, state.now);
    if (due) {
      ASSERT_TRUE(ready(state));
      ASSERT_FALSE(state.in_flight.has_value());
      ASSERT_EQ(due->life, state.life->id);
      ASSERT_TRUE(state.operation ? state.operation->step == Step::kVerify : state.leases.empty());
    }
    const auto timer = next_timer(policy_, state);
    ASSERT_TRUE(!timer || timer->at >= state.now) << timer->name;
  }

  void timers_until(MonoTime to) {
    int at_once = 0;
    for (auto timer = next_timer(policy_, state); timer && timer->at <= to;
         timer = next_timer(policy_, state)) {
      at_once = timer->at == state.now ? at_once + 1 : 0;
      ASSERT_LT(at_once, 50) << "timer " << timer->name << " does not move on";
      ASSERT_NO_FATAL_FAILURE(step_checked({.at = timer->at, .body = TimerDue{timer->name}}));
    }
  }

  State state;
  unsigned decisions = 0, restarts = 0;

 private:
  const Policy& policy_;
};

TEST(Fold, HoldsItsInvariantsInRandomHistories) {
  // FIREBOSS_FOLD_SEEDS=5000 looks much longer than every build has time for.
  const auto* const asked = std::getenv("FIREBOSS_FOLD_SEEDS");
  const unsigned seeds = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 100;
  unsigned restarts = 0, decisions = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomHistory history(seed);
    const auto policy = history.policy();
    CheckedRun run(policy);
    for (int i = 0; i < 60; ++i) {
      auto event = history.next();
      event.at = std::max(event.at, run.state.now);
      ASSERT_NO_FATAL_FAILURE(run.timers_until(event.at));
      ASSERT_NO_FATAL_FAILURE(run.step_checked(event));
      // The shell answers the steps that are its own, mostly well.
      for (auto due = operation_step(policy, run.state); due && due->step < Step::kJob;
           due = operation_step(policy, run.state))
        ASSERT_NO_FATAL_FAILURE(run.step_checked(
            {.at = event.at, .body = ActionOutcome{due->action, due->step, StepResult::kDone, ""}}));
    }
    restarts += run.restarts;
    decisions += run.decisions;
  }
  // The histories do reach what is checked.
  EXPECT_GT(restarts, seeds);
  EXPECT_GT(decisions, 20 * seeds);
}

}  // namespace
}  // namespace fireboss::policy
