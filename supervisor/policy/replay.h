#pragma once
// Decides a recorded history again and compares with what was recorded. Pure: rows in, differences out.
// Within one decider version every byte must agree; rows of another version are compared too, and their
// differences listed as what the new version would have said.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

struct StoredEvent {
  std::int64_t id = 0;
  std::string kind{};  // kSnapshotKind: the state as it was when the snapshot was written
  int version = 1;
  std::string payload{};
  MonoTime mono{};
};

// Consecutive identical decisions are one row.
struct StoredDecision {
  std::int64_t first_event = 0, last_event = 0, count = 1;
  std::string payload{};
  std::string policy_hash{};
  std::string decider_version{};
};

struct ReplayInput {
  std::vector<StoredEvent> events{};              // of one engine, by id
  std::vector<StoredDecision> decisions{};        // of the same engine, in order
  std::map<std::string, std::string> policies{};  // canonical text by hash
};

struct Difference {
  std::int64_t event = 0;         // the one at which the decision fell
  std::string stored{};           // what the record has, "" if nothing
  std::string replayed{};         // what is decided now, "" if nothing
  std::string decider_version{};  // of the record
};

struct ReplayReport {
  std::int64_t first_event = 0;            // replay began after this snapshot; 0: at the beginning
  std::int64_t events = 0, decisions = 0;  // replayed; decisions counted singly
  bool other_version = false;              // some rows are of another decider version
  std::vector<Difference> differences{};
  State state{};  // at the end
};

// Told now and then how many of all events have been decided again.
using OnProgress = std::function<void(std::int64_t done, std::int64_t all)>;

// kCorrupt, kUnsupported: an event or policy cannot be read, with its id. kNotFound: a policy is missing.
[[nodiscard]] Result<ReplayReport> replay(const ReplayInput& input, const OnProgress& on_progress = {});

}  // namespace fireboss::policy
