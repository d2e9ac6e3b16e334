#include "supervisor/app/engine_core.h"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "canary/grade/grade.h"
#include "supervisor/policy/codec.h"
#include "supervisor/policy/names.h"

namespace fireboss::app {
namespace json = boost::json;
namespace {

// [{"detail", "ms", "result", "step"}...]: ms since the operation began at which the step ended.
void append_step(std::string& steps, policy::Step step, Millis since_begun, std::string_view result,
                 std::string_view detail) {
  boost::system::error_code error;
  auto parsed = json::parse(steps.empty() ? "[]" : steps, error);
  auto array = !error && parsed.is_array() ? parsed.get_array() : json::array();
  json::object entry;
  if (!detail.empty())
    entry["detail"] = detail;
  entry["ms"] = since_begun.count();
  entry["result"] = result;
  entry["step"] = policy::to_string(step);
  array.push_back(std::move(entry));
  steps = json::serialize(array);
}

// Written in one turn of the loop: each is a transaction with its fdatasync, and the watchdog waits for the
// turn's end.
constexpr int kRecordsATurn = 64;
// What waits keeps its raw replies and its state up to here; beyond it only events, decisions and the newest
// state, which are all that replay needs.
constexpr std::size_t kWaitingWhole = 256;

policy::OwnFaultKind fault_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kBusy:
      return policy::OwnFaultKind::kDatabaseLocked;
    case ErrorCode::kFull:
      return policy::OwnFaultKind::kDiskFull;
    default:
      return policy::OwnFaultKind::kRecordFailed;
  }
}

bool same_operation(const std::optional<policy::Operation>& a, const std::optional<policy::Operation>& b) {
  return a.has_value() == b.has_value() &&
         (!a || (a->begun == b->begun && a->action == b->action && a->life == b->life));
}

}  // namespace

EngineCore::EngineCore(const config::Engine& engine, ports::Clock& clock, ports::Store& store,
                       std::function<void(const policy::Decision&)> on_decision)
    : engine_(engine), clock_(clock), store_(store), on_decision_(std::move(on_decision)) {}

Result<void> EngineCore::restore() {
  if (auto kept = store_.put_policy(engine_.policy_hash, policy::canonical_text(engine_.policy)); !kept)
    return kept;
  const auto stored = store_.state(engine_.name);
  if (!stored)
    return fail(stored.error());
  if (*stored) {
    auto state = policy::decode_state(**stored);
    if (!state)
      return fail(state.error().code, state.error().message +
                                          " (as recorded): start the Fireboss that wrote it, or restore the "
                                          "newest backup of the database, see docs/operating.md");
    state_ = std::move(*state);
  }
  auto action = store_.open_action(engine_.name);
  if (!action)
    return fail(action.error());
  action_ = std::move(*action);
  return {};
}

std::optional<policy::PendingAction> EngineCore::pending() const {
  if (!state_.operation)
    return std::nullopt;
  return policy::PendingAction{state_.operation->action, state_.operation->life, state_.operation->step};
}

void EngineCore::feed(const policy::EventBody& body, std::vector<ports::RawReply> raw_replies,
                      std::vector<ports::DayCount> counts) {
  // The restored state may be of another boot, whose clock was ahead of this one's: until DaemonStarted has
  // told so, its times and timers mean nothing.
  if (std::holds_alternative<policy::DaemonStarted>(body)) {
    step(clock_.mono(), body, std::move(raw_replies), std::move(counts));
    return;
  }
  const auto now = std::max(clock_.mono(), state_.now);
  run_due_timers();
  step(now, body, std::move(raw_replies), std::move(counts));
}

void EngineCore::run_due_timers() {
  const auto now = clock_.mono();
  // A timer that does not move on would hang the loop; the policy promises that it does.
  for (int i = 0; i < 1000; ++i) {
    const auto timer = policy::next_timer(engine_.policy, state_);
    if (!timer || timer->at > now)
      return;
    step(std::max(timer->at, state_.now), policy::TimerDue{timer->name}, {}, {});
  }
}

std::optional<MonoTime> EngineCore::next_timer() const {
  const auto timer = policy::next_timer(engine_.policy, state_);
  return timer ? std::optional(timer->at) : std::nullopt;
}

std::optional<policy::StepDue> EngineCore::operation() const {
  return policy::operation_step(engine_.policy, state_);
}

std::optional<policy::CanaryDue> EngineCore::canary() const {
  return policy::canary_due(state_);
}

void EngineCore::step(MonoTime at, const policy::EventBody& body, std::vector<ports::RawReply> raw_replies,
                      std::vector<ports::DayCount> counts) {
  const policy::Event event{at, body};
  const auto with_extras = [&](ports::Record record) {
    record.raw_replies = std::move(raw_replies);
    record.counts = std::move(counts);
    return record;
  };
  const auto action_before = action_;
  auto stepped = policy::step(engine_.policy, state_, event);
  auto record = make_record(state_, event, stepped);
  if (!waiting_.empty()) {
    put_aside(with_extras(std::move(record)));
    take(event, stepped);
    return;
  }
  record = with_extras(std::move(record));
  const auto recorded = store_.record(record);
  if (recorded) {
    if (recorded->action && action_ && action_->id == 0)
      action_->id = *recorded->action;
    take(event, stepped);
    return;
  }
  // What cannot be recorded is not begun: the event is decided again with the trouble known, and both wait.
  store_trouble_ = recorded.error().message;
  fault_ = fault_of(recorded.error());
  action_ = action_before;
  const policy::Event fault{at, policy::OwnFault{fault_, false}};
  auto refused = policy::step(engine_.policy, state_, fault);
  put_aside(make_record(state_, fault, refused));
  take(fault, refused);
  stepped = policy::step(engine_.policy, state_, event);
  auto again = make_record(state_, event, stepped);
  again.raw_replies = std::move(record.raw_replies);
  again.counts = std::move(record.counts);
  put_aside(std::move(again));
  take(event, stepped);
}

void EngineCore::put_aside(ports::Record record) {
  if (waiting_.size() >= kWaitingWhole) {
    record.raw_replies.clear();
    waiting_.back().state.clear();
  }
  waiting_.push_back(std::move(record));
}

bool EngineCore::retry_records() {
  for (int turn = 0; turn < kRecordsATurn && !waiting_.empty(); ++turn) {
    const auto recorded = store_.record(waiting_.front());
    if (!recorded) {
      store_trouble_ = recorded.error().message;
      return false;
    }
    if (recorded->action && action_ && action_->id == 0)
      action_->id = *recorded->action;
    waiting_.pop_front();
  }
  if (waiting_.empty() && !store_trouble_.empty()) {
    store_trouble_.clear();
    feed(policy::OwnFault{fault_, true});
  }
  return true;
}

void EngineCore::take(const policy::Event& event, const policy::Stepped& stepped) {
  tally_.count(engine_.policy, state_, event, stepped);
  state_ = stepped.state;
  for (const auto& decision : stepped.decisions)
    on_decision_(decision);
}

ports::Record EngineCore::make_record(const policy::State& before, const policy::Event& event,
                                      const policy::Stepped& stepped) {
  const auto& after = stepped.state;
  const auto wall = clock_.wall();
  const auto encoded = policy::encode(event.body);

  ports::Record record;
  record.event = {.id = 0,
                  .engine = engine_.name,
                  .mono = event.at,
                  .boot = clock_.boot_id(),
                  .wall = wall,
                  .kind = encoded.kind,
                  .version = encoded.version,
                  .payload = encoded.payload};
  record.state = policy::encode(after);

  for (const auto& decision : stepped.decisions) {
    ports::DecisionRow row;
    row.engine = engine_.name;
    row.first_mono = row.last_mono = event.at;
    row.first_wall = row.last_wall = wall;
    row.kind = policy::to_string(decision.kind);
    row.reason = decision.reason;
    row.payload = policy::encode(decision);
    row.policy_hash = engine_.policy_hash;
    row.decider_version = policy::decider_version();
    row.grader_version = canary::grader_version();
    row.evidence = {0};
    record.decisions.push_back(std::move(row));
    if (decision.kind == policy::DecisionKind::kAlert)
      record.raise.push_back({.id = 0,
                              .engine = engine_.name,
                              .key = decision.alert_key,
                              .severity = std::string(policy::to_string(decision.severity)),
                              .text = decision.reason,
                              .raised = wall,
                              .resolved = {},
                              .event = 0});
  }
  for (const auto& [key, since] : before.open_alerts)
    if (!after.open_alerts.contains(key))
      record.resolve.push_back(key);

  const bool closed = action_ && before.operation && !same_operation(before.operation, after.operation);
  const bool moved = action_ && !closed && before.operation && after.operation &&
                     before.operation->step != after.operation->step;
  if (closed || moved) {
    const auto* outcome = std::get_if<policy::ActionOutcome>(&event.body);
    const auto* timer = std::get_if<policy::TimerDue>(&event.body);
    append_step(action_->steps, before.operation->step, event.at - before.operation->begun,
                outcome != nullptr ? policy::to_string(outcome->result)
                : timer != nullptr && timer->name == "operation"
                    ? policy::to_string(policy::StepResult::kTimeout)
                : closed ? "ended"
                         : "done",
                outcome != nullptr ? std::string_view(outcome->detail) : std::string_view());
    if (closed) {
      action_->state = after.last_operation ? policy::to_string(after.last_operation->end) : "abandoned";
      action_->ended = wall;
      if (after.last_operation && !after.last_operation->operation.detail.empty())
        append_step(action_->steps, before.operation->step, event.at - before.operation->begun,
                    action_->state, after.last_operation->operation.detail);
    } else {
      action_->step = policy::to_string(after.operation->step);
    }
    record.update_action = action_;
    if (closed)
      action_.reset();
  }
  if (after.operation && !same_operation(before.operation, after.operation)) {
    action_ = ports::ActionRow{.id = 0,
                               .engine = engine_.name,
                               .kind = std::string(policy::to_string(after.operation->action)),
                               .life = after.operation->life,
                               .decision = 0,
                               .step = std::string(policy::to_string(after.operation->step)),
                               .state = "open",
                               .begun = wall,
                               .ended = {},
                               .steps = "[]"};
    record.open_action = action_;
  }
  return record;
}

}  // namespace fireboss::app
