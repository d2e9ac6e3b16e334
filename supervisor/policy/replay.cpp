#include "supervisor/policy/replay.h"

#include <algorithm>
#include <utility>

#include "supervisor/policy/codec.h"
#include "supervisor/policy/engine_state.h"

namespace fireboss::policy {
namespace {

constexpr std::size_t kProgressEvery = 64;  // events

// Consecutive identical decisions, on either side of the comparison.
struct Series {
  std::int64_t first_event = 0, last_event = 0, count = 0;
  std::string payload, version;
};

void append(std::vector<Series>& out, const Series& one) {
  if (!out.empty() && out.back().payload == one.payload && out.back().version == one.version) {
    out.back().last_event = one.last_event;
    out.back().count += one.count;
  } else {
    out.push_back(one);
  }
}

struct Decoded {
  const StoredEvent* row = nullptr;
  std::optional<EventBody> body;  // none: a snapshot
};

Result<std::vector<Decoded>> decode(const ReplayInput& input) {
  std::vector<Decoded> out;
  for (const auto& row : input.events) {
    if (row.kind == kSnapshotKind) {
      out.push_back({.row = &row, .body = std::nullopt});
      continue;
    }
    auto body = decode_event(row.kind, row.version, row.payload);
    if (!body)
      return fail(body.error().in("event #" + std::to_string(row.id)));
    out.push_back({.row = &row, .body = std::move(*body)});
  }
  return out;
}

// The policy hash under which each event was decided. Decisions name theirs. Between them it is that of the
// newest `configured`; a firebossd that has just started decides under the one that it is about to name.
// Before any of these it is `first`, which the snapshot names.
std::vector<std::string> policies_of(const std::vector<Decoded>& events, const ReplayInput& input,
                                     const std::string& first) {
  std::map<std::int64_t, std::string> named;
  for (const auto& decision : input.decisions) {
    named[decision.first_event] = decision.policy_hash;
    named[decision.last_event] = decision.policy_hash;
  }
  std::vector<std::string> out(events.size());
  std::string coming;
  for (std::size_t i = events.size(); i-- > 0;) {
    if (!events[i].body)
      continue;
    if (const auto* configured = std::get_if<Configured>(&*events[i].body))
      coming = configured->policy_hash;
    if (std::holds_alternative<DaemonStarted>(*events[i].body))
      out[i] = coming;
  }
  auto current = first.empty() ? coming : first;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].body)
      continue;
    if (const auto* configured = std::get_if<Configured>(&*events[i].body))
      current = configured->policy_hash;
    else if (!out[i].empty())
      current = out[i];
    const auto found = named.find(events[i].row->id);
    out[i] = found != named.end() ? found->second : current;
    if (current.empty() && found != named.end())
      current = found->second;
  }
  return out;
}

class Policies {
 public:
  explicit Policies(const std::map<std::string, std::string>& texts) : texts_(texts) {}

  Result<const Policy*> get(const std::string& hash) {
    if (const auto known = decoded_.find(hash); known != decoded_.end())
      return &known->second;
    const auto text = texts_.find(hash);
    if (text == texts_.end())
      return fail(ErrorCode::kNotFound, hash.empty()
                                            ? std::string("no policy is named before that event")
                                            : "the text of policy " + hash + " is not in the record");
    auto policy = decode_policy(text->second);
    if (!policy)
      return fail(policy.error().in("policy " + hash));
    return &decoded_.emplace(hash, std::move(*policy)).first->second;
  }

 private:
  const std::map<std::string, std::string>& texts_;
  std::map<std::string, Policy> decoded_;
};

std::vector<Series> stored_series(const ReplayInput& input, std::int64_t after) {
  std::vector<Series> out;
  for (const auto& row : input.decisions)
    if (row.last_event > after)
      append(out, {.first_event = row.first_event,
                   .last_event = row.last_event,
                   .count = row.count,
                   .payload = row.payload,
                   .version = row.decider_version});
  return out;
}

void compare(const std::vector<Series>& stored, const std::vector<Series>& replayed, ReplayReport& report) {
  const auto difference = [&](const Series* was, const Series* is) {
    report.differences.push_back(
        {.event = was != nullptr ? was->first_event : is->first_event,
         .stored = was != nullptr ? was->payload : "",
         .replayed = is != nullptr ? is->payload : "",
         .decider_version = was != nullptr ? was->version : std::string(decider_version())});
  };
  // Two lists in the order of events: what only one of them has at an event is a difference there.
  std::size_t s = 0, r = 0;
  while (s < stored.size() || r < replayed.size()) {
    const auto* was = s < stored.size() ? &stored[s] : nullptr;
    const auto* is = r < replayed.size() ? &replayed[r] : nullptr;
    if (was != nullptr && is != nullptr && was->payload == is->payload && was->last_event == is->last_event) {
      // The beginning of a series may lie before the snapshot.
      const bool cut = was->first_event <= report.first_event;
      if (!cut && (was->first_event != is->first_event || was->count != is->count))
        difference(was, is);
      ++s, ++r;
    } else if (was != nullptr && is != nullptr && was->first_event == is->first_event) {
      difference(was, is);
      ++s, ++r;
    } else if (is == nullptr || (was != nullptr && was->first_event < is->first_event)) {
      difference(was, nullptr);
      ++s;
    } else {
      difference(nullptr, is);
      ++r;
    }
  }
}

}  // namespace

Result<ReplayReport> replay(const ReplayInput& input, const OnProgress& on_progress) {
  const auto events = decode(input);
  if (!events)
    return fail(events.error());
  Policies policies(input.policies);
  ReplayReport report;
  std::vector<Series> replayed;
  const auto oldest_snapshot = std::find_if(events->begin(), events->end(),
                                            [](const Decoded& event) { return !event.body.has_value(); });
  std::size_t i = 0;
  if (oldest_snapshot != events->end()) {
    auto state = decode_state(oldest_snapshot->row->payload);
    if (!state)
      return fail(state.error().in("snapshot #" + std::to_string(oldest_snapshot->row->id)));
    report.state = std::move(*state);
    report.first_event = oldest_snapshot->row->id;
    i = static_cast<std::size_t>(oldest_snapshot - events->begin()) + 1;
  }
  const auto hashes = policies_of(*events, input, report.state.policy_hash);
  for (; i < events->size(); ++i) {
    const auto& event = (*events)[i];
    if (!event.body)
      continue;  // a later snapshot says what the fold says
    const auto policy = policies.get(hashes[i]);
    if (!policy)
      return fail(policy.error().in("event #" + std::to_string(event.row->id)));
    auto stepped = step(**policy, std::move(report.state), {.at = event.row->mono, .body = *event.body});
    report.state = std::move(stepped.state);
    ++report.events;
    if (on_progress && i % kProgressEvery == 0)
      on_progress(static_cast<std::int64_t>(i), static_cast<std::int64_t>(events->size()));
    for (const auto& decision : stepped.decisions) {
      ++report.decisions;
      append(replayed, {.first_event = event.row->id,
                        .last_event = event.row->id,
                        .count = 1,
                        .payload = encode(decision),
                        .version = std::string(decider_version())});
    }
  }
  auto stored = stored_series(input, report.first_event);
  for (const auto& series : stored)
    report.other_version = report.other_version || series.version != decider_version();
  compare(stored, replayed, report);
  return report;
}

}  // namespace fireboss::policy
