// Written histories: refused with words, or decided; and then the rules that no history may break hold,
// everything survives being written to the record, and replay says what was said.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/hash.h"
#include "supervisor/policy/codec.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/history.h"
#include "supervisor/policy/keys.h"
#include "supervisor/policy/replay.h"
#include "supervisor/policy/simulate.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::policy {
namespace {

using fuzz::hold;

// Longer histories are read but not played: every minute of one may be a timer.
constexpr std::int64_t kMaxTimers = 3'000;
constexpr std::size_t kMaxEvents = 200;

bool acts(const Decision& decision) {
  return decision.kind == DecisionKind::kRestart || decision.kind == DecisionKind::kRecycle;
}

// What an event at a state may not lead to, whatever came before.
void check_step(const Policy& policy, const State& before, const Event& event, const Stepped& stepped) {
  const auto actions = std::count_if(stepped.decisions.begin(), stepped.decisions.end(), acts);
  hold(actions <= 1, "two actions at one event");
  for (const auto& decision : stepped.decisions) {
    hold(!decision.reason.empty(), "a decision without a reason");
    const auto written = encode(decision);
    const auto read = decode_decision(written);
    hold(read && encode(*read) == written, "a decision is not read back as it was written");
  }
  if (actions == 0) {
    return;
  }
  const auto& after = stepped.state;
  const auto& act = *std::find_if(stepped.decisions.begin(), stepped.decisions.end(), acts);
  // What our own job took down comes up again in any case.
  const bool unfinished = act.about == "down";
  hold(unfinished || after.mode.value_or(policy.mode) == Mode::kEnforce, "acts in observe");
  hold(unfinished || !after.hold || after.hold->until <= event.at, "acts under a hold");
  hold(unfinished || after.full_canary_owed.empty(), "acts on a record that was restored");
  for (const auto fault : {OwnFaultKind::kDatabaseLocked, OwnFaultKind::kDiskFull, OwnFaultKind::kBusLost}) {
    hold(!after.own_faults.contains(fault), "acts although it is in trouble itself");
  }
  hold(after.operation && after.operation->begun == event.at && !after.operation->outcome,
       "acts without an operation that begins");
  hold(!before.operation || after.last_operation != before.last_operation, "acts while an operation is open");
}

// Nothing in the history but answers that say nothing: no restart can follow from it.
bool tells_nothing(const History& history) {
  if (history.policy.max_age) {
    return false;
  }
  return std::all_of(history.events.begin(), history.events.end(), [](const Event& event) {
    if (const auto* canary = std::get_if<CanaryResult>(&event.body)) {
      return std::all_of(canary->results.begin(), canary->results.end(), [](const std::string& result) {
        return result == "ok" || (result.starts_with("inconclusive:") && result != "inconclusive:timeout");
      });
    }
    return std::holds_alternative<LifeStarted>(event.body) || std::holds_alternative<Ready>(event.body) ||
           std::holds_alternative<Tick>(event.body) || std::holds_alternative<Lease>(event.body) ||
           std::holds_alternative<CanaryBegun>(event.body) || std::holds_alternative<Guard>(event.body) ||
           std::holds_alternative<Suspended>(event.body);
  });
}

void check_record(const History& history, const Simulation& played) {
  const auto text = canonical_text(history.policy);
  const auto policy = decode_policy(text);
  hold(policy && canonical_text(*policy) == text, "a policy is not read back as it was written");
  const auto hash = sha256_hex(text);
  ReplayInput record;
  record.policies[hash] = text;
  State state;
  state.assume_calibrated = true;
  std::int64_t id = 1;
  record.events.push_back(
      {.id = id, .kind = std::string(kSnapshotKind), .version = kStateVersion, .payload = encode(state)});
  std::vector<Event> events{{.at = {}, .body = Configured{hash, "", std::nullopt}}};
  events.insert(events.end(), played.events.begin(), played.events.end());
  for (const auto& event : events) {
    const auto stepped = step(history.policy, state, event);
    check_step(history.policy, state, event, stepped);
    const auto encoded = encode(event.body);
    const auto decoded = decode_event(encoded.kind, encoded.version, encoded.payload);
    hold(decoded && encode(*decoded).payload == encoded.payload && decoded->index() == event.body.index(),
         "an event is not read back as it was written");
    record.events.push_back({.id = ++id,
                             .kind = encoded.kind,
                             .version = encoded.version,
                             .payload = encoded.payload,
                             .mono = event.at});
    for (const auto& decision : stepped.decisions) {
      const auto payload = encode(decision);
      if (!record.decisions.empty() && record.decisions.back().payload == payload) {
        record.decisions.back().last_event = id;
        ++record.decisions.back().count;
      } else {
        record.decisions.push_back({.first_event = id,
                                    .last_event = id,
                                    .count = 1,
                                    .payload = payload,
                                    .policy_hash = hash,
                                    .decider_version = std::string(decider_version())});
      }
    }
    state = stepped.state;
  }
  const auto written = encode(state);
  const auto read = decode_state(written);
  hold(read && *read == state && encode(*read) == written, "a state is not read back as it was written");
  const auto report = replay(record);
  hold(report.has_value(), "the record of a history cannot be replayed");
  hold(report->differences.empty(), "replay says something else");
  hold(report->state == state, "replay ends in another state");
}

void check(std::string_view text) {
  const auto history = read_history(text, "h.jsonl", simulated_policy());
  for (const auto* list : {&history.errors, &history.warnings}) {
    for (const auto& words : *list) {
      hold(words.starts_with("h.jsonl"), "an error that does not name the file");
      hold(words.find('\n') == std::string::npos && words.size() < 1000, "an error of more than a line");
    }
  }
  if (!history.errors.empty() || history.events.empty() || history.events.size() > kMaxEvents) {
    return;
  }
  hold(conflicts(history.policy).empty(), "a policy that contradicts itself");
  const auto shortest = std::min({history.policy.canary_every, history.policy.recycle_check_every,
                                  history.policy.maintenance_grace, history.policy.overdue_after});
  if (history.events.back().at.time_since_epoch() / shortest > kMaxTimers) {
    return;
  }
  const auto played = simulate(history);
  boost::system::error_code error;
  for (const auto& line : lines_of(played)) {
    hold(boost::json::parse(line, error).is_object() && !error, "a line that is not JSON");
  }
  if (tells_nothing(history)) {
    hold(std::none_of(played.decisions.begin(), played.decisions.end(),
                      [](const SimulatedDecision& one) { return acts(one.decision); }),
         "acts although nothing was told");
  }
  check_record(history, played);
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const auto& file : fuzz::source_files("tests/fixtures/timelines", ".jsonl")) {
    out.push_back(fuzz::read_source(file));
  }
  return out;
}

std::vector<std::string> tokens() {
  std::vector<std::string> out{
      "{\"t\":60,\"event\":\"tick\"}\n",
      "{\"t\":0,\"event\":\"daemon_started\",\"boot\":\"b\",\"life\":\"a\",\"restored\":true}\n",
      "\"event\":\"operator\",\"command\":\"hold\",\"for\":\"1h\"",
      "\"command\":\"mode\",\"to\":\"observe\"",
      "\"command\":\"restart\"",
      "\"command\":\"recycle\"",
      "\"command\":\"resume\"",
      "\"results\":[\"leak\",\"leak\",\"ok\",\"ok\"]",
      "\"results\":[\"timeout\",\"timeout\"]",
      "\"foreign_nonce\"",
      "\"inconclusive:busy\"",
      "\"event\":\"counters\",\"running\":1,\"generation_tokens\":5",
      "\"event\":\"suspended\",\"for\":\"2h\"",
      "\"event\":\"own_fault\",\"what\":\"disk_full\"",
      "\"event\":\"lease\",\"gpu\":0,\"state\":\"taken\",\"holder\":\"x\"",
      "\"event\":\"action_outcome\",\"result\":\"failed\"",
      "\"event\":\"life_ended\",\"life\":\"a\",\"stop_job\":true",
      "\"event\":\"port_bytes\",\"any_sent\":false",
      "\"event\":\"signature\",\"class\":\"gpu_fault_hw\"",
      "\"event\":\"census\",\"life\":\"a\",\"missing\":[\"w\"]",
      "\"pending\":{\"action\":\"restart\",\"life\":\"a\",\"step\":\"job\",\"job_running\":true}",
      "9223372036854775807ms",
      "106751991167d",
      "0s",
      "1ms",
      "{\"config\":{\"canary\":{\"n\":1,\"k\":1}}}\n"};
  for (const auto& key : keys()) {
    out.push_back("\"" + std::string(key.name) + "\":");
  }
  return out;
}

}  // namespace
}  // namespace fireboss::policy

int main(int argc, char** argv) {
  return fireboss::fuzz::run({.name = "history",
                              .check = fireboss::policy::check,
                              .seeds = fireboss::policy::seeds(),
                              .tokens = fireboss::policy::tokens(),
                              .max_size = 16'384,
                              .heap_fixed = std::size_t{64} << 20,
                              .heap_per_byte = 1024},
                             argc, argv);
}
