#include <utility>

#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/operation.h"
#include "supervisor/policy/reduce.h"
#include "supervisor/policy/view.h"
#include "supervisor/policy/want.h"

namespace fireboss::policy {
namespace {

void remember_alert(State& state, const Decision& decision) {
  const auto& key = decision.alert_key;
  state.open_alerts.emplace(key, state.now);
  if (key.starts_with("R3/")) {
    const auto& run = state.variants[decision.variant].last;
    current_baseline(state).alerted.insert(decision.variant + "/" + (run ? run->verdict : ""));
  } else if (key.starts_with("cusum/")) {
    state.variants[key.substr(key.find('/') + 1)].cusum_told = true;
  }
}

void ask_for_confirmation(State& state, const std::string& name) {
  auto& variant = state.variants[name];
  variant.awaiting_confirm = true;
  ++variant.confirms;
  make_due(state, name, Purpose::kConfirm);
}

}  // namespace

State apply(State state, const Decision& decision) {
  if (!decision.alert_key.empty())
    remember_alert(state, decision);
  if (decision.about == "dropped") {
    state.dropped.reset();
    return state;
  }
  if (decision.about == "operation") {
    if (state.operation)
      state.operation->told = true;
    if (state.last_operation)
      state.last_operation->operation.told = true;
    return state;
  }
  if (decision.kind == DecisionKind::kConfirm)
    ask_for_confirmation(state, decision.variant);
  if (!decision.about.empty())
    settle_want(state, decision);
  if (decision.kind == DecisionKind::kRestart || decision.kind == DecisionKind::kRecycle)
    open_operation(state, decision);
  return state;
}

Stepped step(const Policy& policy, State state, const Event& event) {
  Stepped stepped;
  stepped.state = reduce(policy, std::move(state), event);
  stepped.decisions = decide(policy, stepped.state, event);
  for (const auto& decision : stepped.decisions)
    stepped.state = apply(std::move(stepped.state), decision);
  return stepped;
}

}  // namespace fireboss::policy
