#include "supervisor/app/metrics_page.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "supervisor/policy/alert_severity.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/view.h"
#include "supervisor/policy/want.h"

namespace fireboss::app {
namespace {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
using Engines = std::vector<EngineFacts>;

constexpr std::array kOutcomes{policy::RunGrade::kPass, policy::RunGrade::kFail, policy::RunGrade::kSuspect,
                               policy::RunGrade::kInconclusive};
constexpr std::array<std::string_view, 5> kStates{"unknown", "starting", "serving", "down",
                                                  "down_on_purpose"};
constexpr std::array<std::string_view, 10> kBlockers{
    "traffic",   "lease",  "group",          "operation",        "hold",
    "own_fault", "budget", "hardware_fault", "evidence_too_old", "observe"};
constexpr std::array<std::string_view, 3> kTraffic{"unknown", "busy", "quiet"};
constexpr std::array kFaults{policy::OwnFaultKind::kDatabaseLocked, policy::OwnFaultKind::kDiskFull,
                             policy::OwnFaultKind::kBusLost, policy::OwnFaultKind::kInspectionBlocked,
                             policy::OwnFaultKind::kRecordFailed};
constexpr std::array kActions{policy::ActionKind::kRestart, policy::ActionKind::kRecycle,
                              policy::ActionKind::kStart};
constexpr std::array kEnds{policy::OperationEnd::kClean, policy::OperationEnd::kNotHelped,
                           policy::OperationEnd::kFailed, policy::OperationEnd::kAbandoned};
constexpr std::array kSeverities{policy::Severity::kCritical, policy::Severity::kWarning};
constexpr std::array kDecisionKinds{policy::DecisionKind::kNoAction, policy::DecisionKind::kConfirm,
                                    policy::DecisionKind::kAlert,    policy::DecisionKind::kDefer,
                                    policy::DecisionKind::kHold,     policy::DecisionKind::kRecycle,
                                    policy::DecisionKind::kRestart,  policy::DecisionKind::kRefuse};

std::string in_seconds(Millis time) {
  const auto ms = time.count();
  return fmt::format("{}{}.{:03}", ms < 0 ? "-" : "", std::abs(ms) / 1000, std::abs(ms) % 1000);
}

// Families in order, each with its samples together, as the format wants it.
class Page {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }
  void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }

  void sample(Labels labels, std::string_view value) {
    text_ += name_;
    char open = '{';
    for (const auto& [label, content] : labels) {
      text_ += open;
      text_ += label;
      text_ += "=\"";
      append_escaped(content);
      text_ += '"';
      open = ',';
    }
    if (labels.size() > 0)
      text_ += '}';
    text_ += ' ';
    text_ += value;
    text_ += '\n';
  }
  void sample(Labels labels, std::int64_t value) { sample(labels, std::to_string(value)); }
  void sample(Labels labels, bool value) { sample(labels, std::string_view(value ? "1" : "0")); }
  void sample(Labels labels, Millis value) { sample(labels, in_seconds(value)); }
  void sample(Labels labels, WallTime value) { sample(labels, in_seconds(value.time_since_epoch())); }

  std::string take() { return std::move(text_); }

 private:
  void append_escaped(std::string_view value) {
    for (const char c : value) {
      if (c == '\\' || c == '"')
        text_ += '\\';
      text_ += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
    }
  }

  std::string text_;
  std::string_view name_;
};

template <typename Key>
std::int64_t counted(const std::map<Key, std::int64_t>& counts, const Key& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

const VariantTally& tally_of(const EngineFacts& engine, const std::string& variant) {
  static const VariantTally kNone;
  const auto found = engine.tally.variants().find(variant);
  return found == engine.tally.variants().end() ? kNone : found->second;
}

const policy::VariantState& state_of(const EngineFacts& engine, const std::string& variant) {
  static const policy::VariantState kNone;
  const auto found = engine.state.variants.find(variant);
  return found == engine.state.variants.end() ? kNone : found->second;
}

// The last run of that outcome: of this firebossd, or of the one before as far as the state remembers it.
std::optional<MonoTime> last_run(const EngineFacts& engine, const std::string& variant,
                                 policy::RunGrade grade) {
  std::optional<MonoTime> at;
  const auto take = [&at](MonoTime candidate) { at = std::max(at.value_or(candidate), candidate); };
  const auto& seen = tally_of(engine, variant).last_run;
  if (const auto found = seen.find(grade); found != seen.end())
    take(found->second);
  if (!engine.watched)
    return at;  // its times may be of an earlier boot
  const auto& state = state_of(engine, variant);
  if (grade == policy::RunGrade::kPass && state.passed)
    take(*state.passed);
  for (const auto& run : {state.last, state.last_conclusive})
    if (run && policy::grade_run(engine.policy, *run) == grade)
      take(run->at);
  return at;
}

bool degraded(const EngineFacts& engine) {
  return std::any_of(engine.state.variants.begin(), engine.state.variants.end(),
                     [](const auto& entry) { return entry.second.degraded.has_value(); });
}

void daemon_families(Page& page, const DaemonFacts& daemon, const Engines& engines) {
  page.gauge("fireboss_build_info",
             "What runs: version of the program, of its decision rules, of its grader.");
  page.sample(
      {{"version", daemon.version}, {"decider", daemon.decider_version}, {"grader", daemon.grader_version}},
      true);
  page.gauge("process_start_time_seconds", "Start of firebossd since the Unix epoch.");
  page.sample({}, daemon.started);
  if (daemon.cpu) {
    page.counter("process_cpu_seconds_total", "User and system CPU time of firebossd.");
    page.sample({}, *daemon.cpu);
  }
  if (daemon.resident_bytes) {
    page.gauge("process_resident_memory_bytes", "Resident memory of firebossd.");
    page.sample({}, static_cast<std::int64_t>(*daemon.resident_bytes));
  }
  page.gauge("fireboss_engines", "Engines that firebossd is configured for.");
  page.sample({}, static_cast<std::int64_t>(engines.size()));
  page.gauge("fireboss_loop_lag_seconds", "How late the event loop last came to a timer of its own.");
  page.sample({}, daemon.loop_lag);
  page.gauge("fireboss_loop_lag_most_seconds", "The longest such lag since firebossd began.");
  page.sample({}, daemon.loop_lag_most);
  page.gauge("fireboss_database_bytes", "Size of the record's files.");
  if (daemon.database_bytes)
    page.sample({{"file", "main"}}, static_cast<std::int64_t>(*daemon.database_bytes));
  if (daemon.wal_bytes)
    page.sample({{"file", "wal"}}, static_cast<std::int64_t>(*daemon.wal_bytes));
}

void own_families(Page& page, const Engines& engines, MonoTime now) {
  page.gauge("fireboss_records_waiting",
             "Records that cannot be written; while there is one nothing new is begun.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, engine.records_waiting);
  page.gauge("fireboss_own_fault", "Trouble of the monitor itself, by kind.");
  for (const auto& engine : engines)
    for (const auto kind : kFaults)
      page.sample({{"engine", engine.name}, {"kind", policy::to_string(kind)}},
                  engine.state.own_faults.contains(kind));
  page.gauge("fireboss_engine_loop_age_seconds", "Since the engine's own loop last turned.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, std::max(now - engine.last_progress, Millis{0}));
}

void engine_families(Page& page, const Engines& engines, const WallOffset& wall) {
  page.gauge("fireboss_engine_info", "The engine's systemd unit.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}, {"unit", engine.unit}}, true);
  page.gauge("fireboss_engine_state", "1 for the state that the engine is in.");
  for (const auto& engine : engines)
    for (const auto state : kStates)
      page.sample({{"engine", engine.name}, {"state", state}},
                  state == state_name(engine.state, engine.watched));
  page.gauge("fireboss_engine_mode",
             "1 for the mode that counts: enforce only when set, calibrated and nothing else.");
  for (const auto& engine : engines)
    for (const auto mode : {policy::Mode::kObserve, policy::Mode::kEnforce})
      page.sample({{"engine", engine.name}, {"mode", policy::to_string(mode)}},
                  policy::effective_mode(engine.policy, engine.state) == mode);
  page.gauge("fireboss_engine_calibrated", "Whether every variant is calibrated well enough for enforce.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, policy::calibrated(engine.policy, engine.state));
  page.gauge("fireboss_engine_degraded", "Whether a variant is answered wrongly now.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, degraded(engine));
  page.gauge("fireboss_engine_traffic",
             "1 for what is known of the engine's traffic; unknown counts as busy.");
  for (const auto& engine : engines)
    for (std::size_t i = 0; i < kTraffic.size(); ++i)
      page.sample(
          {{"engine", engine.name}, {"traffic", kTraffic[i]}},
          static_cast<std::size_t>(policy::traffic(engine.policy, engine.state, engine.state.now)) == i);
  page.gauge("fireboss_engine_life_start_time_seconds", "Start of the current life; none while it is down.");
  for (const auto& engine : engines)
    if (engine.watched && policy::alive(engine.state))
      page.sample({{"engine", engine.name}}, wall.at(engine.state.life->started));
  page.gauge("fireboss_engine_answering_since_timestamp_seconds",
             "Since when every run of every variant was right; none while that is not so.");
  for (const auto& engine : engines)
    if (const auto since = policy::answering_since(engine.policy, engine.state); since && engine.watched)
      page.sample({{"engine", engine.name}}, wall.at(*since));
}

void canary_counters(Page& page, const Engines& engines) {
  page.counter("fireboss_canary_runs_total", "Canary runs by their outcome, since firebossd began.");
  for (const auto& engine : engines)
    for (const auto& variant : engine.policy.variants)
      for (const auto grade : kOutcomes)
        page.sample({{"engine", engine.name}, {"variant", variant}, {"outcome", outcome_name(grade)}},
                    counted(tally_of(engine, variant).runs, grade));
  page.counter("fireboss_canary_calls_total", "Canary calls by grade, since firebossd began.");
  for (const auto& engine : engines)
    for (const auto& variant : engine.policy.variants) {
      const auto& tally = tally_of(engine, variant);
      page.sample({{"engine", engine.name}, {"variant", variant}, {"grade", "pass"}}, tally.passed);
      page.sample({{"engine", engine.name}, {"variant", variant}, {"grade", "fail"}}, tally.failed);
      page.sample({{"engine", engine.name}, {"variant", variant}, {"grade", "inconclusive"}},
                  tally.inconclusive);
    }
  page.counter("fireboss_canary_not_passed_total",
               "Canary calls that did not pass, by verdict or by why nothing could be said.");
  for (const auto& engine : engines)
    for (const auto& [variant, tally] : engine.tally.variants())
      for (const auto& [verdict, count] : tally.verdicts)
        page.sample({{"engine", engine.name}, {"variant", variant}, {"verdict", verdict}}, count);
}

void canary_families(Page& page, const Engines& engines, const WallOffset& wall) {
  page.gauge("fireboss_canary_last_run_timestamp_seconds",
             "End of the last canary run of that outcome; by the monotonic clock, shown as Unix time.");
  for (const auto& engine : engines)
    for (const auto& variant : engine.policy.variants)
      for (const auto grade : kOutcomes)
        if (const auto at = last_run(engine, variant, grade))
          page.sample({{"engine", engine.name}, {"variant", variant}, {"outcome", outcome_name(grade)}},
                      wall.at(*at));
  page.gauge("fireboss_canary_degraded", "Whether the variant is answered wrongly now.");
  for (const auto& engine : engines)
    for (const auto& variant : engine.policy.variants)
      page.sample({{"engine", engine.name}, {"variant", variant}},
                  state_of(engine, variant).degraded.has_value());
  page.gauge("fireboss_canary_cusum_nats",
             "Evidence that the variant fails more often than when calibrated; an alert at 8.");
  for (const auto& engine : engines)
    for (const auto& variant : engine.policy.variants)
      page.sample({{"engine", engine.name}, {"variant", variant}},
                  Millis{state_of(engine, variant).cusum_unats / 1000});
  page.gauge("fireboss_canary_next_timestamp_seconds", "When the next scheduled run is due.");
  for (const auto& engine : engines)
    if (engine.watched && engine.state.next_scheduled && policy::ready(engine.state))
      page.sample({{"engine", engine.name}}, wall.at(*engine.state.next_scheduled));
  page.gauge("fireboss_canary_interval_seconds", "Configured time between two scheduled runs.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, engine.policy.canary_every);
  page.gauge("fireboss_canary_silent_after_seconds",
             "Without a conclusive run for that long, nothing is known of the answers.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, policy::unmeasured_after(engine.policy));
  canary_counters(page, engines);
}

void operation_families(Page& page, const Engines& engines, const WallOffset& wall) {
  page.gauge("fireboss_operation_open", "Whether a restart, recycle or start is under way.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, engine.state.operation.has_value());
  page.gauge("fireboss_operation_step", "1 for the step that the open operation is in.");
  for (const auto& engine : engines)
    if (const auto& open = engine.state.operation)
      page.sample({{"engine", engine.name},
                   {"action", policy::to_string(open->action)},
                   {"step", policy::to_string(open->step)}},
                  true);
  page.gauge("fireboss_operation_begun_timestamp_seconds", "When the open operation began.");
  for (const auto& engine : engines)
    if (engine.state.operation && engine.watched)
      page.sample({{"engine", engine.name}}, wall.at(engine.state.operation->begun));
  page.counter("fireboss_operations_total", "Operations that ended, by how, since firebossd began.");
  for (const auto& engine : engines)
    for (const auto action : kActions)
      for (const auto end : kEnds)
        page.sample({{"engine", engine.name},
                     {"action", policy::to_string(action)},
                     {"result", policy::to_string(end)}},
                    counted(engine.tally.operations(), {action, end}));
  page.gauge("fireboss_restart_budget", "Restarts that may fail to help within the budget's window (R4).");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, std::int64_t{engine.policy.budget});
  page.gauge("fireboss_restart_budget_left", "What is left of it now.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}},
                std::max<std::int64_t>(
                    engine.policy.budget -
                        policy::charges_in_window(engine.policy, engine.state.charges, engine.state.now),
                    0));
}

void decision_families(Page& page, const Engines& engines, const WallOffset& wall, MonoTime now) {
  page.gauge("fireboss_blocked", "1 for what keeps a restart, start or recycle that is wanted from going.");
  for (const auto& engine : engines) {
    const auto by = blocker(engine.policy, engine.state);
    for (const auto name : kBlockers)
      page.sample({{"engine", engine.name}, {"by", name}}, name == by);
  }
  page.gauge("fireboss_hold", "Whether the operator holds the engine.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, engine.state.hold.has_value() && engine.state.hold->until > now);
  page.gauge("fireboss_hold_until_timestamp_seconds", "When the hold ends by itself.");
  for (const auto& engine : engines)
    if (engine.state.hold && engine.state.hold->until > now && engine.watched)
      page.sample({{"engine", engine.name}}, wall.at(engine.state.hold->until));
  page.gauge("fireboss_lease_held", "Whether somebody else holds a GPU of the engine.");
  for (const auto& engine : engines)
    page.sample({{"engine", engine.name}}, !engine.state.leases.empty());
  page.gauge("fireboss_recycle_due_timestamp_seconds", "Since when a recycle by age is due and waits.");
  for (const auto& engine : engines)
    if (engine.state.recycle.due_since && engine.watched)
      page.sample({{"engine", engine.name}}, wall.at(*engine.state.recycle.due_since));
  page.gauge("fireboss_alerts_open", "Alerts raised and not resolved, by severity.");
  for (const auto& engine : engines)
    for (const auto severity : kSeverities)
      page.sample({{"engine", engine.name}, {"severity", policy::to_string(severity)}},
                  std::int64_t{std::count_if(engine.state.open_alerts.begin(), engine.state.open_alerts.end(),
                                             [severity](const auto& alert) {
                                               return policy::alert_severity(alert.first) == severity;
                                             })});
  page.counter("fireboss_alerts_total", "Alerts raised since firebossd began, by severity.");
  for (const auto& engine : engines)
    for (const auto severity : kSeverities)
      page.sample({{"engine", engine.name}, {"severity", policy::to_string(severity)}},
                  counted(engine.tally.alerts(), severity));
  page.counter("fireboss_decisions_total", "Decisions since firebossd began, those not to act included.");
  for (const auto& engine : engines)
    for (const auto kind : kDecisionKinds)
      page.sample({{"engine", engine.name}, {"decision", policy::to_string(kind)}},
                  counted(engine.tally.decisions(), kind));
}

std::string_view blocker_of(const policy::Decision& decision) {
  switch (decision.kind) {  // no default: a new kind must be thought about
    case policy::DecisionKind::kDefer:
      for (const auto name : {"traffic", "lease", "group"})
        if (decision.by.value_or("").starts_with(name))
          return name;
      return "operation";
    case policy::DecisionKind::kHold:
      return "hold";
    case policy::DecisionKind::kRefuse:
      return "own_fault";
    case policy::DecisionKind::kConfirm:
      return "evidence_too_old";
    case policy::DecisionKind::kAlert:
      return "budget";
    case policy::DecisionKind::kNoAction:
      return decision.reason.starts_with("R7")   ? "hardware_fault"
             : decision.reason.starts_with("R4") ? "budget"
                                                 : "observe";
    case policy::DecisionKind::kRecycle:
    case policy::DecisionKind::kRestart:
      return "";
  }
  return "";
}

}  // namespace

std::string_view blocker(const policy::Policy& policy, const policy::State& state) {
  // What was said already is not said again: here it is asked for again.
  auto asked = state;
  asked.standing.clear();
  if (const auto said = policy::arbitrate(policy, asked); !said.empty())
    return blocker_of(said.front());
  // A finding that was answered for good ("the budget is used up", "observe: would restart") is wanted no
  // more; what answered it still stands.
  const bool wrong = std::any_of(state.variants.begin(), state.variants.end(),
                                 [](const auto& entry) { return entry.second.degraded.has_value(); });
  if (!wrong || state.operation || !policy::alive(state))
    return "";
  if (policy::effective_mode(policy, state) == policy::Mode::kObserve)
    return "observe";
  return policy::charges_in_window(policy, state.charges, state.now) >= policy.budget ? "budget" : "";
}

std::string_view state_name(const policy::State& state, bool watched) {
  if (!watched || !state.life)
    return "unknown";
  if (policy::down_on_purpose(state))
    return "down_on_purpose";
  if (!policy::alive(state))
    return "down";
  return policy::ready(state) ? "serving" : "starting";
}

std::string metrics_page(const DaemonFacts& daemon, const std::vector<EngineFacts>& engines, MonoTime now,
                         const WallOffset& wall) {
  Page page;
  daemon_families(page, daemon, engines);
  own_families(page, engines, now);
  engine_families(page, engines, wall);
  canary_families(page, engines, wall);
  operation_families(page, engines, wall);
  decision_families(page, engines, wall, now);
  return page.take();
}

}  // namespace fireboss::app
