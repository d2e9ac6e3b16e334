#pragma once
// What is known about one engine: the fold over its events. Plain data, nothing derived from a clock; codec.h
// turns it into canonical JSON and back. Functions over it that people and the shell ask are in view.h.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "supervisor/policy/event.h"

namespace fireboss::policy {

// How a life ended, as far as the rules tell ends apart. The exit status plays no part (R6).
enum class LifeEnd {
  kAlive,
  kDeath,      // by itself, whatever the exit status says
  kOnPurpose,  // a stop job that was not ours
  kOurs,       // the job of our own operation
  kReplaced,   // another life took its place, or a restart job that was not ours ended it
};

struct Life {
  std::string id{};
  LifeCause cause = LifeCause::kUnknown;
  std::optional<std::string> fingerprint{};
  MonoTime started{};
  std::optional<MonoTime> ready{};

  LifeEnd end = LifeEnd::kAlive;
  MonoTime ended{};  // set when end is not kAlive, as are the next four
  std::string result{};
  std::optional<int> exit_status{};
  std::optional<bool> auto_restart{};
  bool start_limit = false;
  bool end_assumed = false;    // found down when firebossd came back; how it ended is not told yet
  bool start_handled = false;  // the start of the dead unit was decided (or would have been, in observe)

  bool operator==(const Life&) const = default;
};

// One canary run, counted. `verdict` is the most frequent failing verdict, or the reason why nothing was
// measured.
struct Run {
  MonoTime at{};
  Purpose purpose = Purpose::kScheduled;
  std::int64_t ok = 0, failed = 0, inconclusive = 0;
  bool foreign_nonce = false;
  bool degraded = false;  // by the policy's rule, a confirming run together with the one before
  std::string verdict{};

  bool operator==(const Run&) const = default;
};

// Degraded by R2 or R3's arithmetic; a want of the policy until it is handled or passes.
struct Degraded {
  MonoTime at{};            // of the newest evidence
  MonoTime since{};         // of the first one of this episode
  std::string what{};       // "3 of 4 calls of chat failed (leak)"
  bool handled = false;     // acted on, refused for good, or too old: only fresh evidence counts again
  bool would_told = false;  // observe: said once an episode what would have been done

  bool operator==(const Degraded&) const = default;
};

struct Calibration {
  std::string fingerprint{};
  std::int64_t calls = 0, failures = 0, p50_ms = 0, p99_ms = 0;

  bool operator==(const Calibration&) const = default;
};

struct VariantState {
  std::optional<Run> last{};             // of the current life
  std::optional<Run> last_conclusive{};  // of the current life
  std::optional<MonoTime> passed{};      // last pass, in any life
  // First pass of an unbroken row of them, in the current life and under the current baseline. Runs that said
  // nothing do not break it.
  std::optional<MonoTime> passing_since{};
  bool awaiting_confirm = false;      // the next run of the variant is the confirming one
  std::int64_t confirms = 0;          // since the last scheduled run
  std::int64_t carried_failures = 0;  // Rule::kConfirm: of the run that asked for the confirmation ...
  std::int64_t carried_calls = 0;
  MonoTime carried_at{};  // ... and when
  std::string carried_verdict{};
  std::optional<Degraded> degraded{};
  std::int64_t cusum_unats = 0;  // micro-nats (log-likelihood ratio x 1e6)
  bool cusum_told = false;
  std::int64_t inconclusive_runs = 0;  // in a row
  std::optional<MonoTime> inconclusive_since{};
  std::optional<Calibration> calibration{};

  bool operator==(const VariantState&) const = default;
};

// What has passed under one fingerprint, in any life.
struct Baseline {
  std::string key{};                // suite hash and fingerprint
  std::set<std::string> passed{};   // variants
  std::set<std::string> alerted{};  // "variant/verdict": R3 alerts once each

  bool operator==(const Baseline&) const = default;
};

enum class OperationEnd { kClean, kNotHelped, kFailed, kAbandoned };

// The one operation that may be open. Its steps are those of `Step`, in that order; a start skips pre_stop
// and drain, a restart of a stalled or dead engine the drain.
struct Operation {
  ActionKind action = ActionKind::kRestart;
  std::string rule{};      // first word of its reason: "R2", "recycle", ...
  std::string reason{};    // of the decision
  std::string variant{};   // whose failure caused it, "" if none: verify waits for that one
  std::string life{};      // the life it was opened for
  std::string new_life{};  // the life that came of it, "" until known
  MonoTime begun{};
  Step step = Step::kEvidence;
  MonoTime step_begun{};
  bool charged = false;                    // counts against the budget
  bool job_begun = false;                  // the job step was reached: the engine may have been touched
  bool own_retry = false;                  // starts again what our own job left down
  bool cut_off = false;                    // by the end of firebossd: no sign that it would fail again
  std::optional<OperationEnd> outcome{};   // known, only post_ready is left to do
  std::string detail{};                    // why it failed or was abandoned
  bool told = false;                       // the outcome has been said in a decision
  std::optional<MonoTime> verify_again{};  // the last verifying run said nothing: the next one

  bool operator==(const Operation&) const = default;
};

struct ClosedOperation {
  Operation operation{};
  OperationEnd end = OperationEnd::kClean;
  MonoTime at{};

  bool operator==(const ClosedOperation&) const = default;
};

// A restart that counts against the budget until it leaves the window or is refunded.
struct Charge {
  MonoTime at{};
  std::string life{};                       // the one that came of it, "" until known
  std::string variant{};                    // of the failure, "" if none
  std::optional<MonoTime> clean_at{};       // its clean verification
  std::optional<Millis> degraded_at_age{};  // how old the failed life was
  bool spoiled = false;                     // degraded again before useful_life: no refund

  bool operator==(const Charge&) const = default;
};

struct Hold {
  MonoTime begun{}, until{};
  std::string why{};

  bool operator==(const Hold&) const = default;
};

// The operator's request, until done, or lapsed.
struct Asked {
  ActionKind action = ActionKind::kRestart;
  std::string why{};
  MonoTime at{};

  bool operator==(const Asked&) const = default;
};

struct InFlight {
  std::string variant{}, life{};
  Purpose purpose = Purpose::kScheduled;
  MonoTime at{};
  bool void_result = false;  // the suite changed meanwhile: what comes back is of another baseline

  bool operator==(const InFlight&) const = default;
};

struct DueRun {
  std::string variant{};
  Purpose purpose = Purpose::kScheduled;
  MonoTime since{};

  bool operator==(const DueRun&) const = default;
};

struct TokenStep {
  MonoTime at{};
  std::int64_t tokens = 0;

  bool operator==(const TokenStep&) const = default;
};

// What the engine's counters (or the kernel's socket diagnostics) say. Reset with every life.
struct TrafficState {
  bool sampled = false;        // at least one good sample in this life
  bool scrape_failed = false;  // the newest scrape: no information, which counts as traffic
  MonoTime at{};               // of the newest good sample
  MonoTime since{};            // of the first good sample without a gap
  std::optional<bool> busy{};  // as the newest good sample tells it
  std::optional<std::int64_t> running{}, waiting{}, prompt_tokens{}, generation_tokens{};
  std::vector<TokenStep> recent{};        // tokens produced within quiet_for of the newest sample
  std::optional<MonoTime> still_since{};  // work present and every counter as it was at that time
  bool frozen = false;                    // ... seen so by more than one sample
  bool stall_handled = false;
  std::optional<bool> bytes_sent{};       // PortBytes: newest, none if unknown
  MonoTime bytes_at{};                    // of the newest PortBytes
  std::optional<MonoTime> bytes_moved{};  // last time that any were sent
  std::int64_t timed_out_runs = 0;        // in a row, every call of them
  MonoTime timed_out_since{};             // end of the first of them

  bool operator==(const TrafficState&) const = default;
};

struct RecycleState {
  std::optional<MonoTime> next_check{};
  std::optional<MonoTime> due_since{};
  bool handled = false;     // until the next check: tried and failed, or told in observe
  bool would_told = false;  // observe: once a life
  std::int64_t overdue_told = 0;

  bool operator==(const RecycleState&) const = default;
};

struct HardwareFault {
  MonoTime at{};
  std::string signature_class{};
  std::int64_t count = 0;

  bool operator==(const HardwareFault&) const = default;
};

struct State {
  MonoTime now{};      // of the newest event
  std::string boot{};  // boot id that every time in here belongs to
  std::string policy_hash{}, suite_hash{};

  std::optional<Mode> mode{};      // the operator's word; else the policy's
  bool assume_calibrated = false;  // a written history: the engine counts as calibrated
  std::optional<Hold> hold{};
  std::optional<Asked> asked{};

  std::optional<Life> life{};             // the current one, or the last if the engine is down
  std::vector<std::string> past_lives{};  // newest last, bounded
  std::optional<std::string> last_fingerprint{};
  std::vector<Baseline> baselines{};  // most recently used last, bounded

  std::map<std::string, VariantState> variants{};
  std::int64_t inconclusive_runs = 0;  // in a row, of whatever variant
  std::optional<MonoTime> inconclusive_since{};
  std::vector<DueRun> due{};  // in the order in which they are to be run
  std::optional<InFlight> in_flight{};
  std::optional<MonoTime> next_scheduled{};
  std::int64_t rotation = 0;                 // index of the next variant
  std::optional<MonoTime> blocked_since{};   // a run is due and a lease keeps it from beginning
  std::set<std::string> full_canary_owed{};  // database restored: nothing acts until these have run

  TrafficState traffic{};
  std::map<std::string, MonoTime> missing_roles{};  // since the first census without them
  std::vector<std::string> dead_roles{};            // missing in two censuses
  bool dead_roles_handled = false;
  std::optional<MonoTime> journal_death{};  // the log says that the engine's core is dead
  std::optional<HardwareFault> hardware_fault{};
  std::map<std::string, std::string> guards{};  // "name/process": last verdict

  std::map<std::string, std::string> leases{};  // "gpu/holder": holder; never our own
  MonoTime leases_free_since{};                 // when the last one was released
  std::map<OwnFaultKind, MonoTime> own_faults{};

  std::optional<Operation> operation{};
  std::optional<ClosedOperation> last_operation{};
  bool own_start_tried = false;  // what our job left down has been started again once
  std::vector<Charge> charges{}, shadow_charges{};
  std::int64_t recurring = 0;          // restarts refunded
  std::vector<Millis> degrade_ages{};  // of refunded ones, bounded
  RecycleState recycle{};

  // Alerts raised and not resolved: key and since when. The shell resolves what vanishes from here.
  std::map<std::string, MonoTime> open_alerts{};
  // The action that is wanted and has to wait, "R2 restart of life a"; dropped when that life is over.
  std::optional<std::string> waiting{}, dropped{};
  std::string standing{};  // what was last said about the standing want, so that it is said once

  bool operator==(const State&) const = default;
};

}  // namespace fireboss::policy
