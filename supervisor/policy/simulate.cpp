#include "supervisor/policy/simulate.h"

#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "supervisor/policy/canonical.h"
#include "supervisor/policy/engine_state.h"

namespace fireboss::policy {
namespace {

constexpr std::int64_t kProgressEvery = 64;  // events

bool done_at_once(Step step) {
  switch (step) {  // no default: a new step is either played or written
    case Step::kEvidence:
    case Step::kLease:
    case Step::kPreStop:
    case Step::kDrain:
    case Step::kPostReady:
      return true;
    case Step::kJob:
    case Step::kReady:
    case Step::kVerify:
      return false;
  }
  return false;
}

constexpr int kTimersAtOnce = 1000;

class World {
 public:
  explicit World(const Policy& policy) : policy_(policy) { simulation_.state.assume_calibrated = true; }

  void feed(const Event& event) {
    one(event);
    while (const auto due = operation_step(policy_, simulation_.state)) {
      if (!done_at_once(due->step))
        break;
      one({.at = event.at,
           .body = ActionOutcome{
               .action = due->action, .step = due->step, .result = StepResult::kDone, .detail = ""}});
    }
  }

  void advance(MonoTime to) {
    // A timer that did not move on would be a mistake of the policy; the history goes on all the same.
    int at_once = 0;
    for (auto last = simulation_.state.now; const auto timer = next_timer(policy_, simulation_.state);) {
      at_once = timer->at == last ? at_once + 1 : 0;
      last = timer->at;
      if (timer->at > to || at_once > kTimersAtOnce)
        return;
      feed({.at = timer->at, .body = TimerDue{timer->name}});
    }
  }

  Simulation take() { return std::move(simulation_); }

 private:
  void one(const Event& event) {
    auto stepped = step(policy_, std::move(simulation_.state), event);
    simulation_.state = std::move(stepped.state);
    simulation_.events.push_back(event);
    for (auto& decision : stepped.decisions)
      simulation_.decisions.push_back({.at = event.at, .decision = std::move(decision)});
  }

  const Policy& policy_;
  Simulation simulation_;
};

std::string seconds(MonoTime at) {
  const auto ms = at.time_since_epoch().count();
  auto out = std::to_string(ms / 1000);
  if (ms % 1000 != 0) {
    out += fmt::format(".{:03}", ms % 1000);
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out;
}

std::string quoted(std::string_view text) {
  return canonical(boost::json::string(text));
}

std::string without_time(const Decision& decision) {
  auto out = fmt::format(R"("decision":"{}","reason":{})", to_string(decision.kind), quoted(decision.reason));
  if (decision.until)
    out += ",\"until\":" + seconds(*decision.until);
  if (decision.by)
    out += ",\"by\":" + quoted(*decision.by);
  if (decision.would)
    out += fmt::format(R"(,"would":"{}")", to_string(*decision.would));
  return out;
}

}  // namespace

Policy simulated_policy() {
  Policy policy;
  policy.mode = Mode::kEnforce;
  return policy;
}

Simulation simulate(const History& history,
                    const std::function<void(std::int64_t done, std::int64_t all)>& on_progress) {
  World world(history.policy);
  std::int64_t done = 0;
  for (const auto& event : history.events) {
    if (on_progress && done % kProgressEvery == 0)
      on_progress(done, static_cast<std::int64_t>(history.events.size()));
    ++done;
    world.advance(event.at);
    world.feed(event);
  }
  return world.take();
}

std::vector<std::string> lines_of(const Simulation& simulation) {
  std::vector<std::string> out;
  std::string last;
  for (const auto& [at, decision] : simulation.decisions) {
    auto text = without_time(decision);
    if (text == last)
      continue;
    out.push_back("{\"t\":" + seconds(at) + "," + text + "}");
    last = std::move(text);
  }
  return out;
}

}  // namespace fireboss::policy
