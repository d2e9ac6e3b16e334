#include "supervisor/policy/want.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "supervisor/policy/names.h"
#include "supervisor/policy/view.h"

namespace fireboss::policy {
namespace {

std::string age_text(const State& state) {
  return state.life ? humane_duration(state.now - state.life->started) : "unknown";
}

std::optional<Want> want_start(const Policy& policy, const State& state) {
  if (!state.life || state.life->start_handled)
    return std::nullopt;
  const auto& life = *state.life;
  const auto down_for = humane_duration(state.now - life.ended);
  switch (life.end) {  // no default: a new end must be thought about
    case LifeEnd::kAlive:
    case LifeEnd::kOnPurpose:
      return std::nullopt;
    case LifeEnd::kOurs:
      if (state.operation || state.own_start_tried)
        return std::nullopt;
      return Want{
          .about = "down",
          .action = ActionKind::kStart,
          .rule = "R6",
          .what = fmt::format("down by our own job, which did not start it again; down for {}", down_for),
          .evidence = state.now,
          .charged = false};
    case LifeEnd::kDeath:
    case LifeEnd::kReplaced:
      break;
  }
  if (life.start_limit || life.auto_restart.value_or(false) || state.now < start_due_at(policy, state))
    return std::nullopt;
  return Want{.about = "dead",
              .action = ActionKind::kStart,
              .rule = "R6",
              .what = fmt::format("dead for {}, and systemd has not scheduled a start{}", down_for,
                                  life.auto_restart ? " (Restart= does not cover this end)" : ""),
              .evidence = state.now};
}

std::optional<Want> want_by_progress(const Policy& policy, const State& state) {
  if (!alive(state))
    return std::nullopt;
  if (!state.dead_roles.empty() && !state.dead_roles_handled) {
    std::string roles;
    for (const auto& role : state.dead_roles)
      roles.append(roles.empty() ? "" : ", ").append(role);
    return Want{.about = "roles",
                .rule = "R6",
                .what = state.journal_death
                            ? std::string("engine dead: its log says so and the canary finds nobody")
                            : fmt::format("engine dead: no process of {} although the unit is up", roles),
                .evidence = state.now};
  }
  const auto still = standstill(policy, state);
  if (still && state.now >= still->due && !state.traffic.stall_handled)
    return Want{
        .about = "stall",
        .rule = "R5",
        .what = fmt::format("stall: {}, for {}", still->what, humane_duration(state.now - still->since)),
        .evidence = state.now};
  return std::nullopt;
}

std::optional<Want> want_degraded(const State& state) {
  if (!alive(state))
    return std::nullopt;
  const std::string* name = nullptr;
  const VariantState* newest = nullptr;
  for (const auto& [key, variant] : state.variants)
    if (variant.degraded && !variant.degraded->handled &&
        (newest == nullptr || variant.degraded->at > newest->degraded->at)) {
      name = &key;
      newest = &variant;
    }
  if (newest == nullptr)
    return std::nullopt;
  return Want{
      .about = "degraded",
      .rule = "R2",
      .what = fmt::format(
          "degraded: {}{}; it last passed {} ago", newest->degraded->what,
          newest->last && newest->last->foreign_nonce ? ", one reply carried the nonce of another call" : "",
          newest->passed ? humane_duration(state.now - *newest->passed) : "in a life long"),
      .variant = *name,
      .evidence = newest->degraded->at};
}

std::optional<Want> want_asked(const State& state) {
  if (!state.asked)
    return std::nullopt;
  const auto why = state.asked->why.empty() ? "" : " (" + state.asked->why + ")";
  if (state.asked->action == ActionKind::kRecycle) {
    if (!ready(state))
      return std::nullopt;
    return Want{.about = "asked",
                .action = ActionKind::kRecycle,
                .rule = "recycle",
                .what = "asked for by the operator" + why,
                .evidence = state.asked->at,
                .charged = false};
  }
  return Want{.about = "asked",
              .action = alive(state) ? ActionKind::kRestart : ActionKind::kStart,
              .rule = "R4",
              .what = "not charged: the operator asked for a restart" + why,
              .evidence = state.asked->at,
              .charged = false};
}

std::optional<Want> want_recycle(const Policy& policy, const State& state) {
  if (!state.recycle.due_since || state.recycle.handled || !ready(state) || !policy.max_age)
    return std::nullopt;
  return Want{.about = "recycle",
              .action = ActionKind::kRecycle,
              .rule = "recycle",
              .what = fmt::format("due: life {} is {} old, max_age is {}", state.life->id, age_text(state),
                                  format_duration(*policy.max_age)),
              .evidence = *state.recycle.due_since,
              .charged = false};
}

Decision decision_on(const Want& want, const State& state, DecisionKind kind, const std::string& follows) {
  Decision decision;
  decision.kind = kind;
  decision.reason = want.rule + " " + want.what + (follows.empty() ? "" : "; " + follows);
  decision.action = want.action;
  decision.life = state.life ? state.life->id : "";
  decision.variant = want.variant;
  decision.about = want.about;
  return decision;
}

// Without the bus nothing can be asked for, not even the rest of what was begun.
std::optional<OwnFaultKind> fault_of_the_bus(const State& state) {
  return state.own_faults.contains(OwnFaultKind::kBusLost) ? std::optional(OwnFaultKind::kBusLost)
                                                           : std::nullopt;
}

DecisionKind kind_of(ActionKind action) {
  return action == ActionKind::kRecycle ? DecisionKind::kRecycle : DecisionKind::kRestart;
}

Decision deferred(const Want& want, const State& state, std::string by, const std::string& follows) {
  auto decision = decision_on(want, state, DecisionKind::kDefer, follows);
  decision.by = std::move(by);
  return decision;
}

Decision alert(std::string key, Severity severity, std::string reason) {
  Decision decision;
  decision.kind = DecisionKind::kAlert;
  decision.severity = severity;
  decision.reason = std::move(reason);
  decision.alert_key = std::move(key);
  return decision;
}

std::string budget_key(const std::string& about, const std::string& variant) {
  return "R4/" + (about == "degraded" ? variant : about);
}

std::string rule_of(const Decision& decision) {
  if (decision.action == ActionKind::kRecycle)
    return "";
  if (decision.about == "asked")
    return "R4 ";
  return decision.about == "stall" ? "R5 " : decision.about == "degraded" ? "R2 " : "R6 ";
}

// The page of R4. What is left running is said, and why the budget does not come back.
Decision exhausted(const Policy& policy, const State& state, const Want& want,
                   const std::vector<Charge>& charges) {
  const auto free_at = budget_free_at(policy, charges, state.now);
  std::string ages;
  for (const auto& charge : charges)
    if (charge.degraded_at_age)
      ages += (ages.empty() ? "" : ", ") + humane_duration(*charge.degraded_at_age);
  const auto budget = fmt::format("R4 budget used up: {} restarts within {} did not help", policy.budget,
                                  format_duration(policy.budget_window));
  const auto lives = ages.empty() ? std::string()
                                  : fmt::format("; the lives lasted {}, a life counts as useful from {}",
                                                ages, format_duration(policy.useful_life));
  const auto next = free_at == MonoTime::max()
                        ? std::string("no restart is allowed")
                        : fmt::format("no restart for another {}", humane_duration(free_at - state.now));
  const auto consequence =
      want.action == ActionKind::kStart ? "the engine stays down" : "the engine serves on as it is";
  const auto key = budget_key(want.about, want.variant);
  auto decision = alert(
      key, Severity::kCritical,
      fmt::format("{}{}; seen now: {} {}; {}, {}", budget, lives, want.rule, want.what, consequence, next));
  if (state.open_alerts.contains(key)) {
    decision = decision_on(want, state, DecisionKind::kNoAction, "");
    decision.reason = fmt::format("R4 budget still used up: {} {}; {}", want.rule, want.what, consequence);
  }
  decision.about = want.about;
  decision.variant = want.variant;
  decision.life = state.life ? state.life->id : "";
  return decision;
}

// Decisions about a want that is free to go as far as everybody else is concerned.
Decision act(const Policy& policy, const State& state, const Want& want) {
  const bool observe = effective_mode(policy, state) == Mode::kObserve && want.about != "down";
  const auto& charges = observe ? state.shadow_charges : state.charges;
  if (want.charged && charges_in_window(policy, charges, state.now) >= policy.budget)
    return exhausted(policy, state, want, charges);

  const auto verb = want.action == ActionKind::kStart     ? "start"
                    : want.action == ActionKind::kRecycle ? "recycle"
                                                          : "restart";
  const auto count = want.charged
                         ? fmt::format(", {} of {} in {}", charges_in_window(policy, charges, state.now) + 1,
                                       policy.budget, format_duration(policy.budget_window))
                         : std::string();
  const auto of_life = state.life && want.action != ActionKind::kStart
                           ? fmt::format(" life {} ({} old)", state.life->id, age_text(state))
                           : std::string();
  if (!observe) {
    auto decision =
        decision_on(want, state, kind_of(want.action), fmt::format("{}{}{}", verb, of_life, count));
    decision.charged = want.charged;
    return decision;
  }
  const auto wish = state.mode.value_or(policy.mode);
  const std::string why = wish == Mode::kEnforce ? "observe until calibrated" : "observe";
  const bool told = (want.about == "degraded" && state.variants.at(want.variant).degraded->would_told) ||
                    (want.about == "recycle" && state.recycle.would_told);
  auto decision = decision_on(want, state, DecisionKind::kNoAction,
                              told ? fmt::format("{}: said already in this episode", why)
                                   : fmt::format("{}: would {}{}{}", why, verb, of_life, count));
  if (!told) {
    decision.would = kind_of(want.action);
    decision.charged = want.charged;
  }
  return decision;
}

}  // namespace

std::optional<Want> wanted(const Policy& policy, const State& state) {
  if (auto want = want_start(policy, state))
    return want;
  if (auto want = want_by_progress(policy, state))
    return want;
  // A restart that the operator asks for mends what is degraded too, and waits for less.
  auto asked = want_asked(state);
  if (asked && asked->action != ActionKind::kRecycle)
    return asked;
  if (auto want = want_degraded(state))
    return want;
  if (asked)
    return asked;
  return want_recycle(policy, state);
}

std::vector<Decision> arbitrate(const Policy& policy, const State& state) {
  const auto want = wanted(policy, state);
  if (!want)
    return {};
  const bool planned = want->action == ActionKind::kRecycle;
  // What our own job took down comes up again, on hold, in observe and unrecorded if need be: that is no new
  // action but the rest of the old one, which is followed to its end.
  const bool unfinished = want->about == "down";
  std::vector<Decision> out;

  // The operator's word counts each time it is given, as does each new finding: the answer may be the same.
  const bool fresh_evidence =
      (want->about == "degraded" || want->about == "asked") && want->evidence == state.now;
  if (state.operation) {
    // What is left of a concluded operation is a hook; then this is decided. And while it has not yet brought
    // a new life, the operation itself is the answer to what is wrong with the old one.
    if (state.operation->outcome || (state.operation->new_life.empty() && !fresh_evidence))
      return {};
    out.push_back(deferred(*want, state, "operation",
                           fmt::format("waits for the open {}", to_string(state.operation->action))));
  } else if (const auto fault = unfinished ? fault_of_the_bus(state) : blocking_fault(state)) {
    auto decision = decision_on(*want, state, DecisionKind::kRefuse, "");
    decision.reason = fmt::format("R8 nothing is begun while {} lasts; wanted: {} {}", to_string(*fault),
                                  want->rule, want->what);
    out.push_back(std::move(decision));
  } else if (!state.full_canary_owed.empty() && !unfinished) {
    auto decision = decision_on(*want, state, DecisionKind::kRefuse, "");
    decision.reason =
        fmt::format("R8 nothing is begun before a full canary: the record has a gap; wanted: {} {}",
                    want->rule, want->what);
    out.push_back(std::move(decision));
  } else if (state.hold && !unfinished) {
    auto decision = decision_on(*want, state, DecisionKind::kHold,
                                "on hold" + (state.hold->why.empty() ? "" : " (" + state.hold->why + ")"));
    decision.until = state.hold->until;
    decision.would = kind_of(want->action);
    out.push_back(std::move(decision));
  } else if (state.hardware_fault && want->about != "asked") {
    auto decision = decision_on(*want, state, DecisionKind::kNoAction, "");
    decision.reason = fmt::format("R7 a restart is useless while the log says {}; seen: {} {}",
                                  state.hardware_fault->signature_class, want->rule, want->what);
    out.push_back(std::move(decision));
  } else if (const auto holder = lease_holder(state); !holder.empty()) {
    out.push_back(deferred(*want, state, "lease:" + holder, "the GPU is leased to " + holder));
    if (!planned && !state.open_alerts.contains("lease/engine"))
      out.push_back(alert("lease/engine", Severity::kCritical,
                          fmt::format("lease of {} keeps the engine from being restarted: {} {}", holder,
                                      want->rule, want->what)));
  } else if (want->about == "degraded" && state.now - want->evidence > policy.evidence_max_age) {
    auto decision = decision_on(*want, state, DecisionKind::kConfirm, "");
    decision.reason = fmt::format("R2 {} is {} old: too old to act on, a canary of {} is due",
                                  state.variants.at(want->variant).degraded->what,
                                  humane_duration(state.now - want->evidence), want->variant);
    out.push_back(std::move(decision));
  } else if (const auto pause = pause_until(state); pause && !unfinished && want->about != "asked") {
    auto decision = deferred(*want, state, "operation",
                             fmt::format("the last try came to nothing ({}); not tried again at once",
                                         state.last_operation->operation.detail));
    decision.until = pause;
    out.push_back(std::move(decision));
  } else if (planned && state.in_flight) {
    out.push_back(deferred(*want, state, "operation",
                           fmt::format("waits for the canary run of {} to end", state.in_flight->variant)));
  } else if (planned && traffic(policy, state, state.now) != Traffic::kQuiet) {
    auto decision = deferred(*want, state, "traffic", traffic_text(policy, state, state.now));
    decision.until = quiet_at(policy, state, state.now);
    out.push_back(std::move(decision));
  } else {
    out.push_back(act(policy, state, *want));
  }
  const auto standing = standing_of(out.front());
  if (!standing.empty() && standing == state.standing && !fresh_evidence)
    return {};
  return out;
}

std::string standing_of(const Decision& decision) {
  const auto of_want = decision.about + "/" + decision.variant + "/" + decision.life;
  switch (decision.kind) {  // no default: a new kind must say when it is news
    case DecisionKind::kDefer:
      return fmt::format("{} defer {}", of_want, decision.by.value_or(""));
    case DecisionKind::kHold:
      return fmt::format("{} hold {}", of_want,
                         decision.until ? decision.until->time_since_epoch().count() : 0);
    case DecisionKind::kRefuse:
      return of_want + " " + decision.reason.substr(0, decision.reason.find(';'));
    case DecisionKind::kNoAction:
    case DecisionKind::kAlert:
      // R4's page and its "still" stand for the same.
      return of_want + " " +
             (decision.reason.starts_with("R4 budget")
                  ? "R4"
                  : decision.reason.substr(0, decision.reason.find(':')));
    case DecisionKind::kConfirm:
    case DecisionKind::kRecycle:
    case DecisionKind::kRestart:
      return {};
  }
  return {};
}

void settle_want(State& state, const Decision& decision) {
  state.standing = standing_of(decision);
  const bool waits = decision.kind == DecisionKind::kDefer || decision.kind == DecisionKind::kHold ||
                     decision.kind == DecisionKind::kRefuse;
  state.waiting.reset();
  if (waits && decision.action && !state.operation && !decision.life.empty())
    state.waiting =
        fmt::format("{}{} of life {}", rule_of(decision), to_string(*decision.action), decision.life);
  const bool acted = decision.kind == DecisionKind::kRestart || decision.kind == DecisionKind::kRecycle;
  const bool shadowed = decision.kind == DecisionKind::kNoAction;  // observe, R7, R4 said before
  const bool paged = decision.kind == DecisionKind::kAlert;        // R4
  const bool stale = decision.kind == DecisionKind::kConfirm;
  if (!acted && !shadowed && !paged && !stale)
    return;
  if (acted && decision.charged)
    state.open_alerts.erase(budget_key(decision.about, decision.variant));
  if (decision.would && decision.charged)
    state.shadow_charges.push_back(Charge{
        .at = state.now,
        .variant = decision.variant,
        .degraded_at_age = state.life ? std::optional(state.now - state.life->started) : std::nullopt});

  if (decision.about == "degraded") {
    if (auto& degraded = state.variants[decision.variant].degraded) {
      degraded->handled = true;
      degraded->would_told = degraded->would_told || decision.would.has_value();
    }
  } else if (decision.about == "asked") {
    state.asked.reset();
  } else if (decision.about == "down" && acted) {
    state.own_start_tried = true;
  } else if (decision.would || acted) {
    // In observe, once; acted on, until the operation has ended.
    if (decision.about == "dead")
      state.life->start_handled = decision.would.has_value();
    else if (decision.about == "roles")
      state.dead_roles_handled = true;
    else if (decision.about == "stall")
      state.traffic.stall_handled = true;
    else if (decision.about == "recycle")
      state.recycle.handled = state.recycle.would_told = true;
  }
}

}  // namespace fireboss::policy
