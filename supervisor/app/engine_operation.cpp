// The steps of an operation, carried out one at a time as the policy asks for them (design section 7).
#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/spdlog.h>

#include "probes/metrics/parse.h"
#include "supervisor/app/engine_supervisor.h"
#include "supervisor/app/redact.h"
#include "supervisor/policy/names.h"

namespace fireboss::app {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr Millis kDrainPoll{500};
constexpr std::size_t kEvidenceBytes = 64 * 1024;
constexpr std::size_t kJournalLines = 200;
constexpr int kWarning = 4;  // syslog priority
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

std::string bounded(std::string text) {
  if (text.size() > kEvidenceBytes)
    text.resize(kEvidenceBytes);
  return text;
}

// An allow-list: nothing of the environment, arguments that look like keys masked.
std::string unit_facts(const ports::UnitSnapshot& unit) {
  json::array exec;
  for (const auto& argument : redact_arguments(unit.exec_start))
    exec.emplace_back(argument);
  json::array drop_ins;
  for (const auto& path : unit.drop_ins)
    drop_ins.emplace_back(path);
  return json::serialize(json::object{{"exec_start", std::move(exec)},
                                      {"drop_ins", std::move(drop_ins)},
                                      {"fragment", unit.fragment_path},
                                      {"main_pid", unit.main_pid},
                                      {"n_restarts", unit.n_restarts},
                                      {"restart", unit.restart},
                                      {"result", unit.result},
                                      {"sub_state", unit.sub_state},
                                      {"type", unit.type}});
}

policy::StepResult result_of(ports::JobResult result) {
  switch (result) {  // no default: a new result must be thought about
    case ports::JobResult::kDone:
      return policy::StepResult::kDone;
    case ports::JobResult::kCanceled:
      return policy::StepResult::kCanceled;
    case ports::JobResult::kTimeout:
      return policy::StepResult::kTimeout;
    case ports::JobResult::kFailed:
    case ports::JobResult::kDependency:
    case ports::JobResult::kSkipped:
    case ports::JobResult::kUnknown:
      return policy::StepResult::kFailed;
  }
  return policy::StepResult::kFailed;
}

}  // namespace

asio::awaitable<void> EngineSupervisor::do_step(policy::StepDue due) {
  const auto self = shared_from_this();
  auto done = co_await carry_out(due);
  step_running_ = false;
  if (!stopping_)
    feed(std::move(done.outcome), std::move(done.evidence));
}

asio::awaitable<EngineSupervisor::StepDone> EngineSupervisor::carry_out(policy::StepDue due) {
  StepDone done{{due.action, due.step, policy::StepResult::kDone, ""}, {}};
  switch (due.step) {
    case policy::Step::kEvidence:
      done.evidence = co_await gather_evidence(due);
      break;
    case policy::Step::kDrain:
      done.outcome = co_await drain(due);
      break;
    case policy::Step::kJob:
      done.outcome = co_await send_job(due);
      break;
    case policy::Step::kLease:
    case policy::Step::kPreStop:
    case policy::Step::kPostReady:
    case policy::Step::kReady:
    case policy::Step::kVerify:
      break;
  }
  co_return done;
}

asio::awaitable<std::vector<ports::RawReply>> EngineSupervisor::gather_evidence(policy::StepDue due) {
  std::vector<ports::RawReply> evidence;
  const auto keep = [&](const char* what, std::string body) {
    evidence.push_back({engine_.name, what, "evidence", static_cast<int>(evidence.size()),
                        bounded(session_.without_key(std::move(body)))});
  };
  if (snapshot_)
    keep("unit", unit_facts(*snapshot_));
  if (!due.life.empty()) {
    const auto tail = ports_.journal.tail(engine_.unit, due.life, kWarning, kJournalLines);
    std::string text;
    if (!tail)
      text = "not readable: " + tail.error().message;
    else if (!tail->whole)
      text = "looked back " + std::to_string(tail->looked_at) + " entries; older ones not looked at\n";
    if (tail)
      for (const auto& line : tail->lines)
        text += format_wall(line.at) + " " + line.message + "\n";
    keep("journal", std::move(text));
  }
  if (engine_.adapter != config::Adapter::kNone) {
    auto page = co_await session_.metrics_page();
    keep("metrics", page ? std::move(*page) : "not readable: " + page.error().message);
  }
  co_return evidence;
}

asio::awaitable<policy::ActionOutcome> EngineSupervisor::drain(policy::StepDue due) {
  const policy::ActionOutcome done{due.action, due.step, policy::StepResult::kDone, ""};
  asio::steady_timer timer(executor_);
  while (!stopping_ && ports_.clock.mono() < due.deadline && tracker_.life() == due.life) {
    std::optional<std::int64_t> in_flight;
    if (engine_.adapter != config::Adapter::kNone)
      if (const auto page = co_await session_.metrics_page())
        if (const auto dialect = probes::detect_dialect(*page)) {
          const auto counters = probes::parse_counters(*page, *dialect);
          if (counters.running && counters.waiting)
            in_flight = *counters.running + *counters.waiting;
        }
    if (!in_flight)
      if (const auto traffic = ports_.sockets.traffic(engine_.port))
        in_flight = static_cast<std::int64_t>(traffic->connections);
    if (in_flight == 0)
      co_return done;
    timer.expires_after(std::min(kDrainPoll, std::max(due.deadline - ports_.clock.mono(), Millis{1})));
    co_await timer.async_wait(kTuple);
  }
  auto late = done;
  late.detail = "requests were still in flight";
  co_return late;
}

// The job was sent by a firebossd that has ended: it is followed to its end, never sent again.
asio::awaitable<policy::ActionOutcome> EngineSupervisor::follow_job(policy::StepDue due) {
  policy::ActionOutcome outcome{due.action, due.step, policy::StepResult::kTimeout,
                                "the job that an earlier firebossd sent did not end in time"};
  asio::steady_timer timer(executor_);
  while (!stopping_ && ports_.clock.mono() < due.deadline) {
    if (snapshot_ && snapshot_->job_id == 0) {
      const bool up = snapshot_->active == ports::ActiveState::kActive;
      outcome.result = up ? policy::StepResult::kDone : policy::StepResult::kFailed;
      outcome.detail = "sent by an earlier firebossd; " + engine_.unit + " is " + snapshot_->sub_state;
      break;
    }
    timer.expires_after(kDrainPoll);
    co_await timer.async_wait(kTuple);
  }
  co_return outcome;
}

asio::awaitable<policy::ActionOutcome> EngineSupervisor::send_job(policy::StepDue due) {
  policy::ActionOutcome outcome{due.action, due.step, policy::StepResult::kFailed, ""};
  if (std::exchange(followed_job_, false))
    co_return co_await follow_job(due);
  // What our own job left down is the rest of what was recorded when it was begun.
  const auto& operation = core_.state().operation;
  if (!core_.recording() && !(operation && operation->own_retry)) {
    outcome.detail = "not begun: it cannot be recorded (" + core_.store_trouble() + ")";
    co_return outcome;
  }
  // Clears the start counter, so that our own start cannot hit the limit. Before the last look, not after it:
  // between that and the job nothing may come that takes time.
  if (const auto reset = co_await ports_.units.reset_failed(engine_.unit);
      !reset && reset.error().code != ErrorCode::kNotFound)
    spdlog::warn("{}: reset-failed: {}; going on", engine_.name, reset.error().message);
  const auto now = co_await ports_.units.snapshot(engine_.unit);
  if (!now) {
    outcome.detail = now.error().message;
    co_return outcome;
  }
  const bool start = due.action == policy::ActionKind::kStart;
  if (!start && now->invocation_id != due.life) {
    outcome.result = policy::StepResult::kCanceled;
    outcome.detail = "the life it was meant for is over";
    co_return outcome;
  }
  if (start && now->active != ports::ActiveState::kInactive && now->active != ports::ActiveState::kFailed) {
    outcome.result = policy::StepResult::kCanceled;
    outcome.detail = engine_.unit + " is " + now->sub_state + " already";
    co_return outcome;
  }
  if (now->active == ports::ActiveState::kDeactivating) {
    outcome.result = policy::StepResult::kCanceled;
    outcome.detail = engine_.unit + " is being stopped already, by a job that is not ours";
    co_return outcome;
  }
  if (!now->dependents.empty()) {
    outcome.detail = "the job would stop " + now->dependents.front() +
                     " too (Requires=, BindsTo= or PartOf=): not sent; see docs/operating.md";
    co_return outcome;
  }
  tracker_.expect_own_job(true);
  const auto patience = std::max(due.deadline - ports_.clock.mono(), Millis{1'000});
  // Named and of its final type: docs/adr/0005.
  const std::function<void()> sent = [name = engine_.name, start, unit = engine_.unit] {
    spdlog::warn("{}: {} of {} sent", name, start ? "StartUnit" : "RestartUnit", unit);
  };
  // Not `start ? co_await a : co_await b`: g++ 12 copies such a result byte by byte, and it is freed twice.
  Result<ports::JobOutcome> job = fail(ErrorCode::kInternal, "");
  if (start)
    job = co_await ports_.units.start(engine_.unit, patience, sent);
  else
    job = co_await ports_.units.restart(engine_.unit, patience, sent);
  if (job) {
    outcome.result = result_of(job->result);
    outcome.detail = job->raw;
  } else {
    outcome.result = job.error().code == ErrorCode::kTimeout ? policy::StepResult::kTimeout
                     : job.error().code == ErrorCode::kBusy  ? policy::StepResult::kCanceled
                                                             : policy::StepResult::kFailed;
    outcome.detail = job.error().message;
    // After a deadline it may still come; what was refused will not, and the next life is not our doing.
    if (job.error().code != ErrorCode::kTimeout)
      tracker_.expect_own_job(false);
  }
  co_return outcome;
}

}  // namespace fireboss::app
