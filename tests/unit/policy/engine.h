#pragma once
// One engine in a test: events in, decisions out, time in seconds.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/view.h"

namespace fireboss::policy {

// To the nearest ms: 299.999 is the last one before 300.
inline MonoTime at(double seconds) {
  return MonoTime{Millis{std::llround(seconds * 1000)}};
}
constexpr Millis seconds(std::int64_t n) {
  return Millis{n * 1000};
}
constexpr Millis hours(std::int64_t n) {
  return Millis{n * 3'600'000};
}

class Engine {
 public:
  Engine() {
    policy.mode = Mode::kEnforce;
    policy.variants = {"chat"};
    state.assume_calibrated = true;
  }

  Policy policy;
  State state;

  // Timers that are due come first; steps of an operation that need nobody are done at once. Returns what was
  // decided at the event itself and by those steps, not by earlier timers.
  std::vector<Decision> feed(double t, EventBody body) {
    run_until(t);
    auto out = one(at(t), std::move(body));
    for (auto& decision : play())
      out.push_back(std::move(decision));
    return out;
  }
  // Lets time pass up to t; returns what timers decided.
  std::vector<Decision> run_until(double t) {
    std::vector<Decision> out;
    for (auto timer = next_timer(policy, state); timer && timer->at <= at(t);
         timer = next_timer(policy, state)) {
      for (auto& decision : one(timer->at, TimerDue{timer->name}))
        out.push_back(std::move(decision));
      for (auto& decision : play())
        out.push_back(std::move(decision));
    }
    return out;
  }
  // One event and nothing else: no timer before it, no step of an operation after it.
  std::vector<Decision> one(MonoTime when, EventBody body) {
    auto stepped = step(policy, state, {.at = when, .body = std::move(body)});
    state = std::move(stepped.state);
    return stepped.decisions;
  }

  std::vector<Decision> start(double t, const std::string& life, LifeCause cause = LifeCause::kSystemd,
                              const std::string& fingerprint = "f") {
    return feed(t, LifeStarted{.life = life, .cause = cause, .fingerprint = fingerprint});
  }
  std::vector<Decision> ready(double t, const std::string& life) {
    return feed(t, Ready{.life = life, .fingerprint = {}});
  }
  // `bad` of n calls fail.
  std::vector<Decision> run(double t, const std::string& life, int bad, const std::string& variant = "chat",
                            const std::string& verdict = "leak", std::optional<Purpose> purpose = {}) {
    std::vector<std::string> results(static_cast<std::size_t>(policy.n), "ok");
    for (int i = 0; i < bad; ++i)
      results[static_cast<std::size_t>(i)] = verdict;
    return feed(t, CanaryResult{variant, life, std::move(results), purpose});
  }
  std::vector<Decision> inconclusive(double t, const std::string& life, const std::string& why = "timeout",
                                     const std::string& variant = "chat") {
    return feed(
        t, CanaryResult{variant, life,
                        std::vector<std::string>(static_cast<std::size_t>(policy.n), "inconclusive:" + why),
                        std::nullopt});
  }
  std::vector<Decision> counters(double t, std::int64_t running, std::int64_t tokens) {
    return feed(
        t, Counters{.running = running, .waiting = 0, .prompt_tokens = tokens, .generation_tokens = tokens});
  }
  std::vector<Decision> died(double t, const std::string& life, std::optional<bool> auto_restart) {
    return feed(t, LifeEnded{.life = life,
                             .result = "success",
                             .exit_status = 0,
                             .stop_job = false,
                             .restart_job = false,
                             .auto_restart = auto_restart});
  }
  // A life that began at 0, is ready at 90 and has passed at 95.
  Engine& healthy(const std::string& life = "a") {
    start(0, life);
    ready(90, life);
    run(95, life, 0);
    return *this;
  }
  // Our restart job ends the old life; the new one is ready ten seconds later.
  void restarted(double t, const std::string& old_life, const std::string& new_life) {
    feed(t, LifeEnded{.life = old_life,
                      .result = "success",
                      .exit_status = {},
                      .stop_job = true,
                      .restart_job = true,
                      .auto_restart = false});
    start(t + 1, new_life, LifeCause::kFirebossd);
    ready(t + 10, new_life);
  }

 private:
  std::vector<Decision> play() {
    std::vector<Decision> out;
    for (auto due = operation_step(policy, state); due && plays(due->step);
         due = operation_step(policy, state))
      for (auto& decision : one(state.now, ActionOutcome{due->action, due->step, StepResult::kDone, ""}))
        out.push_back(std::move(decision));
    return out;
  }
  static bool plays(Step step) { return step != Step::kJob && step != Step::kReady && step != Step::kVerify; }
};

// "restart R2", "alert lease": kind and first word of each decision's reason, for whole comparisons.
inline std::vector<std::string> said(const std::vector<Decision>& decisions) {
  std::vector<std::string> out;
  for (const auto& decision : decisions)
    out.push_back(std::string(to_string(decision.kind)) + " " +
                  decision.reason.substr(0, decision.reason.find_first_of(" :")));
  return out;
}

}  // namespace fireboss::policy
