#pragma once
// The inputs of the policy, one engine at a time. Everything the supervisor decides is a fold over these; the
// same types are read from a written history (fireboss simulate), from the database (fireboss replay) and
// made by the running daemon. Ids of lives are systemd invocation ids in the daemon and any string in a
// written history.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"

namespace fireboss::policy {

enum class LifeCause { kUnknown, kFirebossd, kSystemd, kOperator, kBoot };
enum class Purpose { kScheduled, kConfirm, kVerify };
enum class ActionKind { kRestart, kRecycle, kStart };  // kStart: a dead unit that nobody else starts
// In the order in which an operation goes through them.
enum class Step { kEvidence, kLease, kPreStop, kDrain, kJob, kReady, kVerify, kPostReady };
enum class StepResult { kDone, kFailed, kTimeout, kCanceled };
enum class Mode { kObserve, kEnforce };
enum class OwnFaultKind { kDatabaseLocked, kDiskFull, kBusLost, kInspectionBlocked, kRecordFailed };

struct LifeStarted {
  std::string life;
  LifeCause cause = LifeCause::kUnknown;
  std::optional<std::string> fingerprint;
  // How old the life was when the event was made: 0 unless it was adopted later.
  Millis age{0};
};
struct Ready {
  std::string life;
  std::optional<std::string> fingerprint;
};
struct LifeEnded {
  std::string life;
  std::string result;                // systemd's Result, "" if unknown
  std::optional<int> exit_status;    // of the main process
  std::optional<bool> stop_job;      // a stop or restart job ended it
  std::optional<bool> restart_job;   // ... and it was a restart, not a stop
  std::optional<bool> auto_restart;  // systemd will start it again by itself
  bool start_limit = false;          // systemd refuses further starts
};
// One call's outcome as the policy sees it: verdict "ok", a failing verdict's name, "inconclusive:REASON" or
// "foreign_nonce" (spelled as in a written history).
struct CanaryResult {
  std::string variant;
  std::string life;
  std::vector<std::string> results;
  std::optional<Purpose> purpose;
};
struct Counters {
  std::optional<std::int64_t> running, waiting, prompt_tokens, generation_tokens;
  bool scrape_failed = false;
  // Whether there is traffic, until told otherwise: by who looks at every poll and tells the edges. None: to
  // be judged from the counters, each of which is then told.
  std::optional<bool> busy{};
};
// Without counters: whether bytes were sent on any connection of the engine's port since the last such event.
struct PortBytes {
  bool any_sent = false;
};
struct Lease {
  std::string gpu, holder;
  bool taken = false;
};
struct Census {
  std::string life;
  std::vector<std::string> missing;  // required process roles without a process
};
struct Guard {
  std::string name, verdict, process;
};
struct Signature {
  std::string signature_class;
  std::int64_t count = 0;
  std::string life;
};
struct OperatorHold {
  Millis length{0};
  std::string why;
};
struct OperatorResume {};
struct OperatorRecycle {};
struct OperatorRestart {
  std::string why;
};
struct OperatorMode {
  Mode to = Mode::kObserve;
};
// Ends a step of the open operation.
struct ActionOutcome {
  ActionKind action = ActionKind::kRestart;
  Step step = Step::kJob;
  StepResult result = StepResult::kFailed;
  std::string detail;  // systemd's job result or the error, for people
};
struct OwnFault {
  OwnFaultKind what = OwnFaultKind::kDatabaseLocked;
  bool over = false;
};
struct Suspended {
  Millis length{0};
};
struct PendingAction {
  ActionKind action = ActionKind::kRestart;
  std::string life;
  Step step = Step::kEvidence;
  // systemd still has a job for the unit: it was sent and is followed, not asked for again.
  bool job_running = false;
};
struct DaemonStarted {
  std::optional<PendingAction> pending;
  std::optional<std::string> life;  // the one systemd reports now; empty text: none
  std::string boot;                 // boot id: monotonic times of another boot mean nothing
  // The record is of another machine or older than what happened since: nothing acts before a full canary.
  bool restored = false;
};
// The suite, the engine's policy or its mode was (re)loaded: a baseline of its own.
struct Configured {
  std::string policy_hash, suite_hash;
  std::optional<Mode> mode;
};
struct Calibrated {
  std::string variant, fingerprint;
  std::int64_t calls = 0, failures = 0;
  std::int64_t p50_ms = 0, p99_ms = 0;
};
// A run was handed to the canary client: it is in flight until its CanaryResult.
struct CanaryBegun {
  std::string variant, life;
  Purpose purpose = Purpose::kScheduled;
};
// A timer of next_timer() came due. `name` as given there.
struct TimerDue {
  std::string name;
};
struct Tick {};

using EventBody = std::variant<LifeStarted, Ready, LifeEnded, CanaryResult, Counters, PortBytes, Lease,
                               Census, Guard, Signature, OperatorHold, OperatorResume, OperatorRecycle,
                               OperatorRestart, OperatorMode, ActionOutcome, OwnFault, Suspended,
                               DaemonStarted, Configured, Calibrated, CanaryBegun, TimerDue, Tick>;

struct Event {
  MonoTime at;
  EventBody body;
};

}  // namespace fireboss::policy
