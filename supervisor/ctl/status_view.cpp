#include "supervisor/ctl/status_view.h"

#include <algorithm>

#include <boost/json/array.hpp>

#include "supervisor/ctl/escape.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/view.h"

namespace fireboss::ctl {
namespace json = boost::json;
namespace {

VariantStatus variant_status(const std::string& name, const policy::VariantState* state, MonoTime now) {
  VariantStatus out;
  out.name = name;
  if (state == nullptr || !state->last) {
    out.last = "not asked in this life";
    return out;
  }
  const auto& run = *state->last;
  const auto calls = run.ok + run.failed + run.inconclusive;
  out.ago = now - run.at;
  out.measured = run.ok + run.failed > 0;
  if (!out.measured)
    out.last = "not measured (" + run.verdict + ")";
  else if (run.failed > 0)
    out.last = std::to_string(run.failed) + " of " + std::to_string(calls) + " wrong (" + run.verdict + ")";
  else
    out.last = std::to_string(run.ok) + " of " + std::to_string(calls) + " right";
  out.wrong = state->degraded.has_value();
  return out;
}

void say_operation(EngineStatus& out, const policy::State& state, MonoTime now) {
  const auto& operation = *state.operation;
  out.next = std::string(policy::to_string(operation.action)) + " under way for " +
             humane_duration(now - operation.begun) + ", step " +
             std::string(policy::to_string(operation.step));
}

bool dead(const policy::State& state) {
  return state.life &&
         (state.life->end == policy::LifeEnd::kDeath || state.life->end == policy::LifeEnd::kReplaced);
}

std::string next_of_the_dead(const policy::Policy& policy, const policy::State& state, MonoTime now) {
  if (state.life->start_limit)
    return "nothing by itself: systemd's start limit is hit";
  if (state.life->auto_restart.value_or(false))
    return "systemd is to start it";
  const auto due = policy::start_due_at(policy, state);
  if (policy::effective_mode(policy, state) == policy::Mode::kObserve)
    return now < due ? "systemd may start it" : "nothing by itself, in mode observe";
  return now < due ? "it is started in " + humane_duration(due - now) + " unless systemd does"
                   : "it is started as soon as nothing holds that back";
}

void say_next(EngineStatus& out, const policy::Policy& policy, const policy::State& state, MonoTime now) {
  if (state.operation) {
    say_operation(out, state, now);
  } else if (dead(state)) {
    out.next = next_of_the_dead(policy, state, now);
  } else if (state.in_flight) {
    out.next = "canary " + state.in_flight->variant + " is being asked";
  } else if (!state.due.empty()) {
    out.next = "canary " + state.due.front().variant + " (" +
               std::string(policy::to_string(state.due.front().purpose)) + ") is due";
  } else if (state.next_scheduled && policy::ready(state)) {
    const auto& variants = policy.variants;
    const auto index = static_cast<std::size_t>(state.rotation) % std::max<std::size_t>(variants.size(), 1);
    out.next = "canary " + (variants.empty() ? std::string("?") : variants[index]) + " in " +
               humane_duration(std::max(*state.next_scheduled - now, Millis{0}));
  } else {
    out.next = "waiting for the engine";
  }
}

// What a restart or a start would be for, by the facts alone: whether it is held back is told elsewhere.
std::string process_trouble(const policy::Policy& policy, const policy::State& state, MonoTime now) {
  if (!policy::alive(state))
    return "";
  std::string roles;
  for (const auto& role : state.dead_roles)
    roles += (roles.empty() ? "" : ", ") + role;
  if (!roles.empty())
    return "A PROCESS IS MISSING (" + roles + ")";
  const auto still = policy::standstill(policy, state);
  return still && now >= still->due ? "STALLED (" + still->what + ")" : "";
}

// In mode observe nobody does it but the operator.
void say_observed(EngineStatus& out, const policy::Policy& policy, const policy::State& state, MonoTime now) {
  const auto held = [&out](const std::string& what) { out.held_back.push_back(what + ", by mode observe"); };
  if (dead(state) && !state.life->start_limit && !state.life->auto_restart.value_or(false) &&
      now >= policy::start_due_at(policy, state)) {
    held("a start of the dead engine");
    out.to_do.push_back("systemctl start " + out.unit + ": nobody else does in mode observe");
    return;
  }
  if (!policy::alive(state))
    return;
  const auto before = out.held_back.size();
  if (!state.dead_roles.empty())
    held("a restart for the missing process");
  else if (!process_trouble(policy, state, now).empty())
    held("a restart for the stall");
  for (const auto& [variant, variant_state] : state.variants)
    if (variant_state.degraded)
      held("a restart for " + variant);
  if (out.held_back.size() > before)
    out.to_do.push_back("systemctl restart " + out.unit + ": nobody else does in mode observe");
  else if (state.recycle.due_since && policy.max_age)
    held("a recycle");
}

// What was recorded last is not what is true now.
void say_unwatched(EngineStatus& out, Millis since) {
  out.answers = "last seen " + humane_duration(since) + " ago: " + out.answers + "; nobody is watching";
  out.age.reset();
  out.answering_for.reset();
  out.next.clear();
  if (out.health == Health::kOk || out.health == Health::kWarning)
    out.health = Health::kUnknown;
  out.to_do.insert(out.to_do.begin(),
                   "systemctl start firebossd: nothing is asked and nothing repaired without it");
}

// A file on disk proves nothing: what firebossd has loaded is what it works with.
void say_not_loaded(EngineStatus& out, const policy::State& state, const OnDisk& on_disk) {
  std::string what;
  if (state.suite_hash != on_disk.suite_hash)
    what = "suite (questions, prompt or tools)";
  if (state.policy_hash != on_disk.policy_hash)
    what += (what.empty() ? "" : " and ") + std::string("policy");
  if (what.empty())
    return;
  out.to_do.push_back("systemctl restart firebossd: the " + what +
                      " on disk differs from what it has loaded");
  if (out.health == Health::kOk)
    out.health = Health::kWarning;
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kWarning:
      return "warning";
    case Health::kCritical:
      return "critical";
    case Health::kUnknown:
      return "unknown";
  }
  return "unknown";
}

EngineStatus engine_status(const std::string& name, const std::string& unit, const policy::Policy& policy,
                           const OnDisk& on_disk, const std::optional<policy::State>& recorded,
                           std::vector<ports::AlertRow> alerts, const Moment& now) {
  EngineStatus out;
  out.name = name;
  out.unit = unit;
  out.alerts = std::move(alerts);
  if (!recorded) {
    out.answers = "never watched";
    out.to_do.emplace_back("start firebossd: nothing is recorded of this engine");
    return out;
  }
  const auto& state = *recorded;
  if (state.boot != now.boot) {
    out.answers = "unknown since the machine booted";
    out.to_do.emplace_back("start firebossd: the record is of an earlier boot");
    return out;
  }
  const auto mode = policy::effective_mode(policy, state);
  out.mode = policy::to_string(mode);
  if (state.hold && state.hold->until > now.mono)
    out.mode +=
        ", held for another " + humane_duration(state.hold->until - now.mono) + ": " + state.hold->why;
  out.restarts_in_window = policy::charges_in_window(policy, state.charges, now.mono);
  bool wrong = false, measured = true, any_measured = false;
  for (const auto& variant : policy.variants) {
    const auto found = state.variants.find(variant);
    out.variants.push_back(
        variant_status(variant, found == state.variants.end() ? nullptr : &found->second, now.mono));
    wrong = wrong || out.variants.back().wrong;
    measured = measured && out.variants.back().measured;
    any_measured = any_measured || out.variants.back().measured;
  }
  const auto stale = std::any_of(out.variants.begin(), out.variants.end(), [&](const VariantStatus& variant) {
    return variant.ago && *variant.ago > policy.canary_every * (static_cast<int>(policy.variants.size()) + 1);
  });

  if (state.life) {
    out.life = state.life->id;
    out.cause = policy::to_string(state.life->cause);
  }
  if (policy::alive(state))
    out.age = now.mono - state.life->started;
  if (policy::down_on_purpose(state)) {
    out.answers = "down on purpose for " + humane_duration(now.mono - state.life->ended);
    out.health = Health::kWarning;
  } else if (!policy::alive(state)) {
    out.answers = "DOWN";
    out.health = Health::kCritical;
  } else if (const auto trouble = process_trouble(policy, state, now.mono); !trouble.empty()) {
    out.answers = trouble;
    out.health = Health::kCritical;
  } else if (wrong) {
    out.answers = "ANSWERING WRONGLY";
    out.health = Health::kCritical;
  } else if (!policy::ready(state)) {
    out.answers = "starting";
    out.health = Health::kWarning;
  } else if (!any_measured) {
    out.answers = "not measured yet";
    out.health = Health::kUnknown;
  } else if (stale) {
    out.answers = "not asked lately";
    out.health = Health::kUnknown;
  } else if (!measured) {
    out.answers = "answering correctly, as far as measured";
    out.health = Health::kWarning;
  } else {
    out.answers = "answering correctly";
    out.health = Health::kOk;
    if (const auto since = policy::answering_since(policy, state))
      out.answering_for = now.mono - *since;
  }
  say_next(out, policy, state, now.mono);

  for (const auto& [fault, since] : state.own_faults)
    out.held_back.push_back("everything, by " + std::string(policy::to_string(fault)) + " for " +
                            humane_duration(now.mono - since));
  if (const auto holder = policy::lease_holder(state); !holder.empty())
    out.held_back.push_back("canary and operations, by the lease of " + holder);
  if (mode == policy::Mode::kObserve)
    say_observed(out, policy, state, now.mono);
  for (const auto& [variant, variant_state] : state.variants)
    if (variant_state.degraded && mode == policy::Mode::kEnforce && !state.operation &&
        out.restarts_in_window >= policy.budget)
      out.held_back.push_back("a restart for " + variant + ", by the budget (" +
                              std::to_string(out.restarts_in_window) + " in " +
                              humane_duration(policy.budget_window) + ")");

  for (const auto& alert : out.alerts) {
    if (alert.severity == "critical")
      out.health = Health::kCritical;
    else if (alert.severity == "warning" && out.health == Health::kOk)
      out.health = Health::kWarning;
    if (alert.severity != "info")
      out.to_do.push_back(alert.text);
  }
  say_not_loaded(out, state, on_disk);
  if (!policy::calibrated(policy, state) && policy::ready(state))
    out.to_do.push_back("fireboss canary calibrate " + name + ": enforce is refused until then");
  if (!now.watched)
    say_unwatched(out, now.mono - state.now);
  return out;
}

std::string to_text(const EngineStatus& status) {
  std::string out = escape(status.name) + " (" + escape(status.unit) + "): " + status.answers;
  if (status.answering_for)
    out += " for " + humane_duration(*status.answering_for);
  if (status.age)
    out += ", up " + humane_duration(*status.age);
  out += "\n";
  const auto line = [&out](std::string_view label, const std::string& text) {
    out +=
        "  " + std::string(label) + std::string(label.size() < 12 ? 12 - label.size() : 1, ' ') + text + "\n";
  };
  for (const auto& variant : status.variants)
    line(variant.name,
         escape(variant.last) + (variant.ago ? ", " + humane_duration(*variant.ago) + " ago" : ""));
  if (!status.mode.empty())
    line("mode", escape(status.mode));
  if (!status.next.empty())
    line("next", status.next);
  if (!status.life.empty())
    line("life", escape(status.life) + " (started by " + status.cause + ")");
  for (const auto& held : status.held_back)
    line("held back", escape(held));
  for (const auto& todo : status.to_do)
    line("to do", escape(todo));
  return out;
}

json::object to_json(const EngineStatus& status) {
  json::array variants;
  for (const auto& variant : status.variants) {
    json::object entry{{"name", variant.name},
                       {"last", variant.last},
                       {"wrong", variant.wrong},
                       {"measured", variant.measured}};
    if (variant.ago)
      entry["ago_ms"] = variant.ago->count();
    variants.push_back(std::move(entry));
  }
  const auto texts = [](const std::vector<std::string>& list) {
    json::array array;
    for (const auto& text : list)
      array.emplace_back(text);
    return array;
  };
  json::array alerts;
  for (const auto& alert : status.alerts)
    alerts.push_back(json::object{{"key", alert.key},
                                  {"severity", alert.severity},
                                  {"text", alert.text},
                                  {"raised", format_wall(alert.raised)}});
  json::object out{{"engine", status.name},
                   {"unit", status.unit},
                   {"health", to_string(status.health)},
                   {"answers", status.answers},
                   {"mode", status.mode},
                   {"life", status.life},
                   {"cause", status.cause},
                   {"variants", std::move(variants)},
                   {"next", status.next},
                   {"held_back", texts(status.held_back)},
                   {"to_do", texts(status.to_do)},
                   {"alerts", std::move(alerts)},
                   {"restarts_in_window", status.restarts_in_window}};
  if (status.age)
    out["age_ms"] = status.age->count();
  if (status.answering_for)
    out["answering_for_ms"] = status.answering_for->count();
  return out;
}

}  // namespace fireboss::ctl
