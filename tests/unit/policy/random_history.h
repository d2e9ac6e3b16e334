#pragma once
// Random events of one engine: mostly plausible, sometimes about lives that are over or never were.
#include <random>
#include <string>
#include <vector>

#include "tests/unit/policy/engine.h"

namespace fireboss::policy {

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

}  // namespace fireboss::policy
