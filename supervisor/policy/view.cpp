#include "supervisor/policy/view.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

namespace fireboss::policy {
namespace {

constexpr Millis kPause{60'000};
constexpr std::int64_t kPpm = 1'000'000;

std::optional<std::int64_t> produced(const TrafficState& traffic) {
  return traffic.generation_tokens ? traffic.generation_tokens : traffic.prompt_tokens;
}

bool counters_known(const TrafficState& traffic) {
  return traffic.sampled && !traffic.scrape_failed && produced(traffic).has_value();
}

std::int64_t tokens_since(const TrafficState& traffic, MonoTime after) {
  std::int64_t sum = 0;
  for (const auto& step : traffic.recent)
    if (step.at > after)
      sum += step.tokens;
  return sum;
}

bool counts_as_traffic(const Policy& policy, std::int64_t tokens) {
  return tokens > 0 && tokens >= policy.quiet_tokens;
}

}  // namespace

bool few_enough_failures(std::int64_t failures, std::int64_t calls) {
  return calls > 0 && failures * kPpm <= calls * kMaxCalibratedPpm;
}

bool enough_calls(std::int64_t calls) {
  return calls >= kLeastCalibrationCalls;
}

bool calibrated(const Policy& policy, const State& state) {
  if (state.assume_calibrated)
    return true;
  return std::all_of(policy.variants.begin(), policy.variants.end(), [&](const std::string& name) {
    const auto found = state.variants.find(name);
    if (found == state.variants.end() || !found->second.calibration)
      return false;
    const auto& calibration = *found->second.calibration;
    return enough_calls(calibration.calls) && few_enough_failures(calibration.failures, calibration.calls);
  });
}

Mode effective_mode(const Policy& policy, const State& state) {
  const auto wanted = state.mode.value_or(policy.mode);
  return wanted == Mode::kEnforce && calibrated(policy, state) ? Mode::kEnforce : Mode::kObserve;
}

bool alive(const State& state) {
  return state.life && state.life->end == LifeEnd::kAlive;
}

bool ready(const State& state) {
  return alive(state) && state.life->ready.has_value();
}

bool down_on_purpose(const State& state) {
  return state.life && state.life->end == LifeEnd::kOnPurpose;
}

bool known_past_life(const State& state, std::string_view life) {
  return std::find(state.past_lives.begin(), state.past_lives.end(), life) != state.past_lives.end();
}

std::string baseline_key(const State& state) {
  const auto& own = state.life ? state.life->fingerprint : state.last_fingerprint;
  return state.suite_hash + "/" + own.value_or(state.last_fingerprint.value_or(""));
}

const Baseline* find_baseline(const State& state, std::string_view key) {
  const auto found = std::find_if(state.baselines.begin(), state.baselines.end(),
                                  [key](const Baseline& baseline) { return baseline.key == key; });
  return found == state.baselines.end() ? nullptr : &*found;
}

bool has_passed(const State& state, std::string_view variant) {
  const auto* baseline = find_baseline(state, baseline_key(state));
  return baseline != nullptr && baseline->passed.contains(std::string(variant));
}

std::optional<MonoTime> answering_since(const Policy& policy, const State& state) {
  std::optional<MonoTime> since;
  for (const auto& name : policy.variants) {
    const auto found = state.variants.find(name);
    if (found == state.variants.end() || !found->second.passing_since)
      return std::nullopt;
    since = std::max(since.value_or(*found->second.passing_since), *found->second.passing_since);
  }
  return since;
}

Traffic traffic(const Policy& policy, const State& state, MonoTime now) {
  const auto& t = state.traffic;
  if (!t.sampled || t.scrape_failed)
    return Traffic::kUnknown;
  if (t.busy)
    return *t.busy ? Traffic::kBusy : Traffic::kQuiet;
  if (t.running.value_or(0) > 0 || t.waiting.value_or(0) > 0)
    return Traffic::kBusy;
  if (!t.running && !t.waiting)
    return Traffic::kUnknown;
  if (!produced(t)) {
    if (!t.bytes_sent)
      return Traffic::kUnknown;
    return t.bytes_moved && now - *t.bytes_moved < policy.quiet_for ? Traffic::kBusy : Traffic::kQuiet;
  }
  if (counts_as_traffic(policy, tokens_since(t, now - policy.quiet_for)))
    return Traffic::kBusy;
  // Before the first sample tokens may have been produced.
  return now - t.since < policy.quiet_for ? Traffic::kUnknown : Traffic::kQuiet;
}

std::optional<MonoTime> quiet_at(const Policy& policy, const State& state, MonoTime now) {
  if (traffic(policy, state, now) == Traffic::kQuiet)
    return now;
  const auto& t = state.traffic;
  std::vector<MonoTime> candidates;
  if (t.sampled)
    candidates.push_back(t.since + policy.quiet_for);
  for (const auto& step : t.recent)
    candidates.push_back(step.at + policy.quiet_for);
  if (t.bytes_moved)
    candidates.push_back(*t.bytes_moved + policy.quiet_for);
  std::sort(candidates.begin(), candidates.end());
  for (const auto at : candidates)
    if (at > now && traffic(policy, state, at) == Traffic::kQuiet)
      return at;
  return std::nullopt;
}

std::string traffic_text(const Policy& policy, const State& state, MonoTime now) {
  const auto& t = state.traffic;
  if (!t.sampled)
    return "nothing is known of the engine's traffic";
  if (t.scrape_failed)
    return "the engine's counters cannot be read";
  if (t.busy)
    return *t.busy ? fmt::format("traffic in the last {}", format_duration(policy.quiet_for)) : "no traffic";
  if (t.running.value_or(0) > 0 || t.waiting.value_or(0) > 0)
    return fmt::format("{} running, {} waiting", t.running.value_or(0), t.waiting.value_or(0));
  const auto tokens = tokens_since(t, now - policy.quiet_for);
  if (counts_as_traffic(policy, tokens))
    return fmt::format("{} tokens in the last {}", tokens, format_duration(policy.quiet_for));
  if (traffic(policy, state, now) == Traffic::kQuiet)
    return "no traffic";
  return produced(t) ? fmt::format("watched for less than {}", format_duration(policy.quiet_for))
                     : "the engine tells no counters";
}

std::optional<Standstill> standstill(const Policy& policy, const State& state) {
  const auto& t = state.traffic;
  if (t.still_since && t.frozen && counters_known(t))
    return Standstill{.since = *t.still_since,
                      .due = *t.still_since + policy.stall_after,
                      .what = fmt::format("{} running, {} waiting and no counter moves",
                                          t.running.value_or(0), t.waiting.value_or(0))};
  if (!counters_known(t) && t.timed_out_runs >= 2 && t.bytes_sent == false && t.bytes_at >= t.timed_out_since)
    return Standstill{
        .since = t.timed_out_since,
        .due = state.now,
        .what = fmt::format("{} runs in a row timed out and the port sent no byte", t.timed_out_runs)};
  return std::nullopt;
}

std::int64_t charges_in_window(const Policy& policy, const std::vector<Charge>& charges, MonoTime now) {
  return std::count_if(charges.begin(), charges.end(),
                       [&](const Charge& charge) { return now - charge.at < policy.budget_window; });
}

MonoTime budget_free_at(const Policy& policy, const std::vector<Charge>& charges, MonoTime now) {
  std::vector<MonoTime> ends;
  for (const auto& charge : charges)
    if (now - charge.at < policy.budget_window)
      ends.push_back(charge.at + policy.budget_window);
  std::sort(ends.begin(), ends.end());
  const auto over = static_cast<std::int64_t>(ends.size()) - policy.budget;
  if (over < 0)
    return now;
  return policy.budget == 0 ? MonoTime::max() : ends.at(static_cast<std::size_t>(over));
}

std::string lease_holder(const State& state) {
  std::set<std::string> holders;
  for (const auto& [key, holder] : state.leases)
    holders.insert(holder);
  std::string out;
  for (const auto& holder : holders)
    out.append(out.empty() ? "" : ", ").append(holder);
  return out;
}

std::optional<MonoTime> start_awaited_since(const State& state) {
  if (!state.life || state.life->end != LifeEnd::kDeath || !state.life->auto_restart.value_or(false) ||
      !state.leases.empty())
    return std::nullopt;
  return std::max(state.life->ended, state.leases_free_since);
}

MonoTime start_due_at(const Policy& policy, const State& state) {
  const auto& last = state.last_operation;
  const bool tried =
      last && last->operation.action == ActionKind::kStart && last->operation.life == state.life->id;
  return std::max(state.life->ended, tried ? last->at : state.life->ended) + policy.dead_grace;
}

std::optional<MonoTime> pause_until(const State& state) {
  const auto& last = state.last_operation;
  // A job that was refused has come to nothing too: the life that it was to end is still there.
  const bool touched =
      last && last->operation.job_begun &&
      !(state.life && state.life->end == LifeEnd::kAlive && state.life->id == last->operation.life);
  if (!last || touched || last->operation.cut_off || last->end == OperationEnd::kClean ||
      last->at + kPause <= state.now)
    return std::nullopt;
  return last->at + kPause;
}

Millis blocked_alert_after(const Policy& policy) {
  return std::min(policy.inconclusive_alert_after, policy.canary_every * policy.inconclusive_alert_runs);
}

Millis silent_after(const Policy& policy) {
  return policy.canary_every * (static_cast<int>(policy.variants.size()) + 2);
}

Millis unmeasured_after(const Policy& policy) {
  return std::max(silent_after(policy), policy.inconclusive_alert_after + policy.canary_every);
}

std::optional<OwnFaultKind> blocking_fault(const State& state) {
  for (const auto kind : {OwnFaultKind::kDatabaseLocked, OwnFaultKind::kDiskFull, OwnFaultKind::kRecordFailed,
                          OwnFaultKind::kBusLost})
    if (state.own_faults.contains(kind))
      return kind;
  return std::nullopt;
}

std::optional<Millis> median(std::vector<Millis> ages) {
  if (ages.empty())
    return std::nullopt;
  const auto middle = ages.begin() + static_cast<std::ptrdiff_t>((ages.size() - 1) / 2);
  std::nth_element(ages.begin(), middle, ages.end());
  return *middle;
}

}  // namespace fireboss::policy
