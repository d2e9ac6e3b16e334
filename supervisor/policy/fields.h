#pragma once
// The members of State and its parts, each named once: what is written to the record, what is read back, and
// what a new boot shifts all come from these lists. f(name, member) is called for every member; names are the
// keys of the canonical JSON. A member that is missing here is lost in a snapshot: a test compares.
#include "supervisor/policy/state.h"

namespace fireboss::policy {

template <typename F>
void fields(Life& x, F&& f) {
  f("auto_restart", x.auto_restart);
  f("cause", x.cause);
  f("end", x.end);
  f("end_assumed", x.end_assumed);
  f("ended", x.ended);
  f("exit_status", x.exit_status);
  f("fingerprint", x.fingerprint);
  f("id", x.id);
  f("ready", x.ready);
  f("result", x.result);
  f("start_handled", x.start_handled);
  f("start_limit", x.start_limit);
  f("started", x.started);
}

template <typename F>
void fields(Run& x, F&& f) {
  f("at", x.at);
  f("degraded", x.degraded);
  f("failed", x.failed);
  f("foreign_nonce", x.foreign_nonce);
  f("inconclusive", x.inconclusive);
  f("ok", x.ok);
  f("purpose", x.purpose);
  f("verdict", x.verdict);
}

template <typename F>
void fields(Degraded& x, F&& f) {
  f("at", x.at);
  f("handled", x.handled);
  f("since", x.since);
  f("what", x.what);
  f("would_told", x.would_told);
}

template <typename F>
void fields(Calibration& x, F&& f) {
  f("calls", x.calls);
  f("failures", x.failures);
  f("fingerprint", x.fingerprint);
  f("p50_ms", x.p50_ms);
  f("p99_ms", x.p99_ms);
}

template <typename F>
void fields(VariantState& x, F&& f) {
  f("awaiting_confirm", x.awaiting_confirm);
  f("calibration", x.calibration);
  f("carried_at", x.carried_at);
  f("carried_calls", x.carried_calls);
  f("carried_failures", x.carried_failures);
  f("carried_verdict", x.carried_verdict);
  f("confirms", x.confirms);
  f("cusum_told", x.cusum_told);
  f("cusum_unats", x.cusum_unats);
  f("degraded", x.degraded);
  f("inconclusive_runs", x.inconclusive_runs);
  f("inconclusive_since", x.inconclusive_since);
  f("last", x.last);
  f("last_conclusive", x.last_conclusive);
  f("passed", x.passed);
  f("passing_since", x.passing_since);
}

template <typename F>
void fields(Baseline& x, F&& f) {
  f("alerted", x.alerted);
  f("key", x.key);
  f("passed", x.passed);
}

template <typename F>
void fields(Operation& x, F&& f) {
  f("action", x.action);
  f("begun", x.begun);
  f("charged", x.charged);
  f("detail", x.detail);
  f("job_begun", x.job_begun);
  f("life", x.life);
  f("new_life", x.new_life);
  f("outcome", x.outcome);
  f("own_retry", x.own_retry);
  f("cut_off", x.cut_off);
  f("reason", x.reason);
  f("rule", x.rule);
  f("step", x.step);
  f("step_begun", x.step_begun);
  f("told", x.told);
  f("variant", x.variant);
  f("verify_again", x.verify_again);
}

template <typename F>
void fields(ClosedOperation& x, F&& f) {
  f("at", x.at);
  f("end", x.end);
  f("operation", x.operation);
}

template <typename F>
void fields(Charge& x, F&& f) {
  f("at", x.at);
  f("clean_at", x.clean_at);
  f("degraded_at_age", x.degraded_at_age);
  f("life", x.life);
  f("spoiled", x.spoiled);
  f("variant", x.variant);
}

template <typename F>
void fields(Hold& x, F&& f) {
  f("begun", x.begun);
  f("until", x.until);
  f("why", x.why);
}

template <typename F>
void fields(Asked& x, F&& f) {
  f("action", x.action);
  f("at", x.at);
  f("why", x.why);
}

template <typename F>
void fields(InFlight& x, F&& f) {
  f("at", x.at);
  f("life", x.life);
  f("purpose", x.purpose);
  f("variant", x.variant);
  f("void_result", x.void_result);
}

template <typename F>
void fields(DueRun& x, F&& f) {
  f("purpose", x.purpose);
  f("since", x.since);
  f("variant", x.variant);
}

template <typename F>
void fields(TokenStep& x, F&& f) {
  f("at", x.at);
  f("tokens", x.tokens);
}

template <typename F>
void fields(TrafficState& x, F&& f) {
  f("at", x.at);
  f("busy", x.busy);
  f("bytes_at", x.bytes_at);
  f("bytes_moved", x.bytes_moved);
  f("bytes_sent", x.bytes_sent);
  f("frozen", x.frozen);
  f("generation_tokens", x.generation_tokens);
  f("prompt_tokens", x.prompt_tokens);
  f("recent", x.recent);
  f("running", x.running);
  f("sampled", x.sampled);
  f("scrape_failed", x.scrape_failed);
  f("since", x.since);
  f("stall_handled", x.stall_handled);
  f("still_since", x.still_since);
  f("timed_out_runs", x.timed_out_runs);
  f("timed_out_since", x.timed_out_since);
  f("waiting", x.waiting);
}

template <typename F>
void fields(RecycleState& x, F&& f) {
  f("due_since", x.due_since);
  f("handled", x.handled);
  f("next_check", x.next_check);
  f("overdue_told", x.overdue_told);
  f("would_told", x.would_told);
}

template <typename F>
void fields(HardwareFault& x, F&& f) {
  f("at", x.at);
  f("count", x.count);
  f("signature_class", x.signature_class);
}

template <typename F>
void fields(State& x, F&& f) {
  f("asked", x.asked);
  f("assume_calibrated", x.assume_calibrated);
  f("baselines", x.baselines);
  f("blocked_since", x.blocked_since);
  f("boot", x.boot);
  f("charges", x.charges);
  f("dead_roles", x.dead_roles);
  f("dead_roles_handled", x.dead_roles_handled);
  f("degrade_ages", x.degrade_ages);
  f("dropped", x.dropped);
  f("due", x.due);
  f("full_canary_owed", x.full_canary_owed);
  f("guards", x.guards);
  f("hardware_fault", x.hardware_fault);
  f("hold", x.hold);
  f("in_flight", x.in_flight);
  f("inconclusive_runs", x.inconclusive_runs);
  f("inconclusive_since", x.inconclusive_since);
  f("journal_death", x.journal_death);
  f("last_fingerprint", x.last_fingerprint);
  f("last_operation", x.last_operation);
  f("leases", x.leases);
  f("leases_free_since", x.leases_free_since);
  f("life", x.life);
  f("missing_roles", x.missing_roles);
  f("mode", x.mode);
  f("next_scheduled", x.next_scheduled);
  f("now", x.now);
  f("open_alerts", x.open_alerts);
  f("operation", x.operation);
  f("own_faults", x.own_faults);
  f("own_start_tried", x.own_start_tried);
  f("past_lives", x.past_lives);
  f("policy_hash", x.policy_hash);
  f("recurring", x.recurring);
  f("recycle", x.recycle);
  f("rotation", x.rotation);
  f("shadow_charges", x.shadow_charges);
  f("standing", x.standing);
  f("suite_hash", x.suite_hash);
  f("traffic", x.traffic);
  f("variants", x.variants);
  f("waiting", x.waiting);
}

}  // namespace fireboss::policy
