#pragma once
// The record. One writer; every call is synchronous and short. What cannot be recorded is not begun.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::ports {

struct EventRow {
  std::int64_t id = 0;  // given by the store; the order of everything
  std::string engine;
  MonoTime mono{};
  std::string boot;  // boot id that `mono` belongs to
  WallTime wall{};
  std::string kind;  // "canary", "life_started", ...
  int version = 1;
  std::string payload;  // canonical JSON
};
struct DecisionRow {
  std::int64_t id = 0;
  std::string engine;
  std::int64_t first_event = 0, last_event = 0;  // consecutive identical decisions are one row
  std::int64_t count = 1;
  MonoTime first_mono{}, last_mono{};
  WallTime first_wall{}, last_wall{};
  std::string kind, reason;
  std::string payload;  // canonical JSON of the whole decision; equal payload = identical decision
  std::string policy_hash;
  std::string decider_version, grader_version;
  std::vector<std::int64_t> evidence;  // event ids
};
struct ActionRow {
  std::int64_t id = 0;
  std::string engine, kind, life;  // kind: restart, recycle, start
  std::int64_t decision = 0;
  std::string step;   // the last one begun
  std::string state;  // open, clean, not_helped, failed, abandoned
  WallTime begun{}, ended{};
  std::string steps;  // canonical JSON: [{"detail","ms","result","step"}...]; "ms" since `begun`
};
struct AlertRow {
  std::int64_t id = 0;
  std::string engine, key, severity, text;
  WallTime raised{}, resolved{};  // resolved 0: open
  std::int64_t event = 0;
};
struct RawReply {
  std::string engine, variant, verdict;
  int call = 0;
  std::string body;  // bounded by the caller
};

// Added to the roll-up of the event's UTC day, from which long histories are read: "calls.pass",
// "calls.fail", "calls.inconclusive". The store itself counts "decision.KIND" and "alert.SEVERITY".
struct DayCount {
  std::string what;
  std::int64_t add = 1;
};

// Everything one event brings about, in ONE transaction.
struct Record {
  EventRow event;
  std::vector<DecisionRow> decisions;  // evidence and event ids of 0 mean "this event"
  // Begins with this event. decision 0: the restart or recycle among `decisions`, else the last of them.
  std::optional<ActionRow> open_action;
  std::optional<ActionRow> update_action;  // step, state, steps, ended of it; id 0: the open one
  std::vector<AlertRow> raise;             // key not open yet
  std::vector<std::string> resolve;        // keys
  std::vector<RawReply> raw_replies;
  std::vector<DayCount> counts;
  // Canonical JSON of the policy state after it: the materialised view. "": stays as it is.
  std::string state;
};
struct Recorded {
  std::int64_t event = 0;
  std::optional<std::int64_t> action;
};

class Store {
 public:
  virtual ~Store() = default;

  // kBusy: locked by somebody longer than 250 ms. kFull: no space. Nothing of the record is kept then.
  virtual Result<Recorded> record(const Record& record) = 0;
  virtual Result<void> put_policy(const std::string& hash, const std::string& text) = 0;

  virtual Result<std::optional<ActionRow>> open_action(const std::string& engine) = 0;
  // Calibration results and other facts about an engine that outlive a restart of firebossd, newest state
  // view.
  virtual Result<std::optional<std::string>> state(const std::string& engine) = 0;
  // Events of an engine with id > after, ascending, at most `limit`.
  virtual Result<std::vector<EventRow>> events(const std::string& engine, std::int64_t after, int limit) = 0;
};

}  // namespace fireboss::ports
