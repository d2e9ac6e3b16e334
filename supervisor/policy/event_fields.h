#pragma once
// The members of events and decisions, each named once, as fields.h has those of the state.
#include "supervisor/policy/decision.h"
#include "supervisor/policy/event.h"

namespace fireboss::policy {

template <typename F>
void fields(LifeStarted& x, F&& f) {
  f("age", x.age);
  f("cause", x.cause);
  f("fingerprint", x.fingerprint);
  f("life", x.life);
}

template <typename F>
void fields(Ready& x, F&& f) {
  f("fingerprint", x.fingerprint);
  f("life", x.life);
}

template <typename F>
void fields(LifeEnded& x, F&& f) {
  f("auto_restart", x.auto_restart);
  f("exit_status", x.exit_status);
  f("life", x.life);
  f("restart_job", x.restart_job);
  f("result", x.result);
  f("start_limit", x.start_limit);
  f("stop_job", x.stop_job);
}

template <typename F>
void fields(CanaryResult& x, F&& f) {
  f("life", x.life);
  f("purpose", x.purpose);
  f("results", x.results);
  f("variant", x.variant);
}

template <typename F>
void fields(Counters& x, F&& f) {
  f("busy", x.busy);
  f("generation_tokens", x.generation_tokens);
  f("prompt_tokens", x.prompt_tokens);
  f("running", x.running);
  f("scrape_failed", x.scrape_failed);
  f("waiting", x.waiting);
}

template <typename F>
void fields(PortBytes& x, F&& f) {
  f("any_sent", x.any_sent);
}

template <typename F>
void fields(Lease& x, F&& f) {
  f("gpu", x.gpu);
  f("holder", x.holder);
  f("taken", x.taken);
}

template <typename F>
void fields(Census& x, F&& f) {
  f("life", x.life);
  f("missing", x.missing);
}

template <typename F>
void fields(Guard& x, F&& f) {
  f("name", x.name);
  f("process", x.process);
  f("verdict", x.verdict);
}

template <typename F>
void fields(Signature& x, F&& f) {
  f("count", x.count);
  f("life", x.life);
  f("signature_class", x.signature_class);
}

template <typename F>
void fields(OperatorHold& x, F&& f) {
  f("length", x.length);
  f("why", x.why);
}

template <typename F>
void fields(OperatorResume& /*x*/, F&& /*f*/) {}

template <typename F>
void fields(OperatorRecycle& /*x*/, F&& /*f*/) {}

template <typename F>
void fields(OperatorRestart& x, F&& f) {
  f("why", x.why);
}

template <typename F>
void fields(OperatorMode& x, F&& f) {
  f("to", x.to);
}

template <typename F>
void fields(ActionOutcome& x, F&& f) {
  f("action", x.action);
  f("detail", x.detail);
  f("result", x.result);
  f("step", x.step);
}

template <typename F>
void fields(OwnFault& x, F&& f) {
  f("over", x.over);
  f("what", x.what);
}

template <typename F>
void fields(Suspended& x, F&& f) {
  f("length", x.length);
}

template <typename F>
void fields(PendingAction& x, F&& f) {
  f("action", x.action);
  f("job_running", x.job_running);
  f("life", x.life);
  f("step", x.step);
}

template <typename F>
void fields(DaemonStarted& x, F&& f) {
  f("boot", x.boot);
  f("life", x.life);
  f("pending", x.pending);
  f("restored", x.restored);
}

template <typename F>
void fields(Configured& x, F&& f) {
  f("mode", x.mode);
  f("policy_hash", x.policy_hash);
  f("suite_hash", x.suite_hash);
}

template <typename F>
void fields(Calibrated& x, F&& f) {
  f("calls", x.calls);
  f("failures", x.failures);
  f("fingerprint", x.fingerprint);
  f("p50_ms", x.p50_ms);
  f("p99_ms", x.p99_ms);
  f("variant", x.variant);
}

template <typename F>
void fields(CanaryBegun& x, F&& f) {
  f("life", x.life);
  f("purpose", x.purpose);
  f("variant", x.variant);
}

template <typename F>
void fields(TimerDue& x, F&& f) {
  f("name", x.name);
}

template <typename F>
void fields(Tick& /*x*/, F&& /*f*/) {}

template <typename F>
void fields(Decision& x, F&& f) {
  f("about", x.about);
  f("action", x.action);
  f("alert_key", x.alert_key);
  f("by", x.by);
  f("charged", x.charged);
  f("kind", x.kind);
  f("life", x.life);
  f("reason", x.reason);
  f("severity", x.severity);
  f("until", x.until);
  f("variant", x.variant);
  f("would", x.would);
}

}  // namespace fireboss::policy
