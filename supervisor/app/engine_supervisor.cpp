#include "supervisor/app/engine_supervisor.h"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include "probes/metrics/parse.h"
#include "supervisor/app/fingerprint.h"
#include "supervisor/app/pause.h"
#include "supervisor/config/exec_start.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/view.h"

namespace fireboss::app {
namespace asio = boost::asio;
namespace {

constexpr Millis kPollEvery{15'000};
constexpr Millis kAnswerRetry{1'000};
constexpr Millis kModelsPatience{60'000};
constexpr Millis kLongestSleep{5'000};  // the loop shows progress at least that often
constexpr Millis kSuspendNoticed{2'000};
constexpr Millis kRecordRetryFirst{500}, kRecordRetryMost{30'000};
constexpr std::size_t kDecisionsKept = 64;
constexpr std::size_t kManagerLines = 32;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace

EngineSupervisor::EngineSupervisor(asio::any_io_executor executor, const config::Engine& engine,
                                   std::uint64_t raw_reply_bytes, const probes::SignatureSet& signatures,
                                   Ports ports)
    : executor_(executor),
      engine_(engine),
      ports_(ports),
      core_(engine, ports.clock, ports.store, [this](const policy::Decision& decision) { tell(decision); }),
      session_(engine, raw_reply_bytes, ports.clock, ports.sockets),
      edges_(engine.policy),
      watch_(signatures, engine.unit),
      census_(engine.required_processes, engine.policy.census_confirm),
      wake_(executor),
      changed_(executor, asio::steady_timer::time_point::max()) {}

Result<void> EngineSupervisor::restore(bool foreign) {
  foreign_record_ = foreign;
  auto restored = core_.restore();
  if (restored)
    take_deadlines();
  return restored;
}

void EngineSupervisor::spawn(asio::awaitable<void> work) {
  asio::co_spawn(executor_, std::move(work), [self = shared_from_this()](const std::exception_ptr& trouble) {
    if (!trouble || self->stopping_)
      return;
    // A coroutine of ours threw: a bug. Dying loudly lets systemd start us again from the record.
    std::rethrow_exception(trouble);
  });
}

void EngineSupervisor::start() {
  spawn(main_loop());
  spawn(poll_counters());
  if (census_.configured())
    spawn(take_census());
}

EngineFacts EngineSupervisor::facts() const {
  return {.name = engine_.name,
          .unit = engine_.unit,
          .policy = engine_.policy,
          .state = core_.state(),
          .tally = core_.tally(),
          .watched = started_,
          .records_waiting = static_cast<std::int64_t>(core_.waiting()),
          .last_progress = last_progress_};
}

void EngineSupervisor::stop() {
  stopping_ = true;
  ports_.units.unwatch(engine_.unit);
  ports_.journal.unfollow(engine_.unit);
  wake();
  changed_.cancel();
}

asio::awaitable<void> EngineSupervisor::main_loop() {
  const auto self = shared_from_this();
  last_progress_ = ports_.clock.mono();
  suspended_so_far_ = ports_.clock.boot() - ports_.clock.mono();
  ports_.units.watch(engine_.unit, [self](const ports::UnitNews& news) { self->on_news(news); });
  while (!stopping_) {
    const auto now = ports_.clock.mono();
    last_progress_ = now;
    woken_ = false;
    notice_suspend();
    if (!core_.recording() && now >= record_retry_) {
      if (core_.retry_records()) {
        record_backoff_ = Millis{0};
        record_retry_ = now;
        if (core_.recording())
          spdlog::info("{}: the record is being written again", engine_.name);
      } else {
        record_backoff_ = std::clamp(record_backoff_ * 2, kRecordRetryFirst, kRecordRetryMost);
        record_retry_ = now + record_backoff_;
        spdlog::error("{}: cannot record: {}; trying again in {}", engine_.name, core_.store_trouble(),
                      humane_duration(record_backoff_));
      }
    }
    if (started_) {
      core_.run_due_timers();
      if (const auto settle = tracker_.settle_at(); settle && *settle <= now)
        take_events(tracker_.on_settle(now));
    }
    pump();
    auto until = now + kLongestSleep;
    if (const auto timer = core_.next_timer(); started_ && timer)
      until = std::min(until, *timer);
    if (const auto settle = tracker_.settle_at())
      until = std::min(until, *settle);
    if (!core_.recording())
      until = std::min(until, record_retry_);
    // What happened in this turn, a step that ended at once for one, found nobody waiting to be woken.
    wake_.expires_after(woken_ ? Millis{0} : std::max(until - now, Millis{1}));
    co_await wake_.async_wait(kTuple);
  }
}

void EngineSupervisor::wake() {
  woken_ = true;
  wake_.cancel();
}

void EngineSupervisor::notice_suspend() {
  const auto offset = ports_.clock.boot() - ports_.clock.mono();
  const auto slept = offset - suspended_so_far_.value_or(offset);
  suspended_so_far_ = offset;
  if (started_ && slept >= kSuspendNoticed)
    feed(policy::Suspended{slept});
}

void EngineSupervisor::on_news(const ports::UnitNews& news) {
  if (stopping_)
    return;
  if (const auto* snapshot = std::get_if<ports::UnitSnapshot>(&news)) {
    take_snapshot(*snapshot);
  } else if (const auto* job = std::get_if<ports::JobSeen>(&news)) {
    take_events(tracker_.on_job(*job, ports_.clock.mono()));
  } else if (std::holds_alternative<ports::BusLost>(news)) {
    spdlog::error("{}: the bus is gone; nothing is begun until it is back", engine_.name);
    if (started_)
      feed(policy::OwnFault{policy::OwnFaultKind::kBusLost, false});
  } else if (const auto* unread = std::get_if<ports::UnitUnread>(&news)) {
    spdlog::error("{}: {} cannot be looked at; trying again: {}", engine_.name, engine_.unit, unread->why);
  } else {
    spdlog::info("{}: the bus is back", engine_.name);
    if (started_)
      feed(policy::OwnFault{policy::OwnFaultKind::kBusLost, true});
  }
  wake();
}

void EngineSupervisor::take_snapshot(const ports::UnitSnapshot& snapshot) {
  const auto former_life = tracker_.life();
  const auto now = ports_.clock.mono();
  snapshot_ = snapshot;
  session_.set_control_group(snapshot.control_group);
  const bool first = !started_;
  if (first)
    hear_of_the_past();
  auto events = tracker_.on_snapshot(snapshot, now);
  if (!started_) {
    started_ = true;
    spdlog::info("{}: {} is {} ({})", engine_.name, engine_.unit, snapshot.sub_state,
                 tracker_.life().empty() ? "no life" : "life " + tracker_.life());
    if (const auto problem = config::container_client_problem(engine_, snapshot.exec_start))
      spdlog::warn("{}", *problem);
    auto pending = core_.pending();
    if (pending) {
      pending->job_running = snapshot.job_id != 0;
      followed_job_ = pending->step == policy::Step::kJob && pending->job_running;
      spdlog::warn("{}: a {} was under way when firebossd ended, in step {}{}", engine_.name,
                   policy::to_string(pending->action), policy::to_string(pending->step),
                   pending->job_running ? "; systemd has a job for it still" : "");
    }
    if (followed_job_)
      tracker_.expect_own_job(true);
    feed(policy::DaemonStarted{std::move(pending), tracker_.life(), ports_.clock.boot_id(), foreign_record_});
    feed(policy::Configured{engine_.policy_hash, engine_.suite.hash, std::nullopt});
  }
  take_events(std::move(events));
  if (first || tracker_.life() != former_life) {
    edges_.reset();
    session_.forget_calls();
    silence_.reset();
    counters_told_ = true;
    watch_.begin(tracker_.life());
    follow_journal();
  }
  if (!tracker_.life().empty() && snapshot.invocation_id == tracker_.life())
    watch_.know_process(snapshot.main_pid);
}

// How the life ended that is found to be over: a unit that was stopped is unloaded and remembers nothing.
void EngineSupervisor::hear_of_the_past() {
  journal_since_ = ports_.clock.wall();
  const auto lines = ports_.journal.manager_tail(engine_.unit, kManagerLines);
  if (!lines)
    spdlog::warn("{}: journal: {}", engine_.name, lines.error().message);
  else
    for (const auto& line : *lines)
      take_events(tracker_.on_journal(line, ports_.clock.mono()));
}

void EngineSupervisor::follow_journal() {
  const auto self = shared_from_this();
  const auto followed = ports_.journal.follow(
      engine_.unit, tracker_.life(), journal_since_,
      [self](const ports::JournalLine& line) { self->on_line(line); },
      [self](const Error& error) { spdlog::warn("{}: journal: {}", self->engine_.name, error.message); });
  if (!followed)
    spdlog::warn("{}: journal: {}", engine_.name, followed.error().message);
}

void EngineSupervisor::take_events(std::vector<policy::EventBody> events) {
  for (auto& event : events) {
    if (auto* ready = std::get_if<policy::Ready>(&event))
      spawn(take_ready(std::move(*ready)));
    else
      feed(std::move(event));
  }
  if (tracker_.needs_answer() && answering_life_ != tracker_.life()) {
    answering_life_ = tracker_.life();
    spawn(await_answer(answering_life_));
  }
  wake();
}

void EngineSupervisor::feed(const policy::EventBody& body, std::vector<ports::RawReply> raw,
                            std::vector<ports::DayCount> counts) {
  const bool was_recording = core_.recording();
  core_.feed(body, std::move(raw), std::move(counts));
  if (was_recording && !core_.recording()) {
    record_backoff_ = kRecordRetryFirst;
    record_retry_ = ports_.clock.mono() + record_backoff_;
    spdlog::error("{}: cannot record: {}; nothing is begun until it can be", engine_.name,
                  core_.store_trouble());
  }
  changed_.cancel();
  wake();
}

// The unit is not Type=notify: it is ready when a listener that is ours has answered its model list.
asio::awaitable<void> EngineSupervisor::await_answer(std::string life) {
  const auto self = shared_from_this();
  if (const auto key = session_.credential(); !key)
    spdlog::error("{}: {}; nothing is asked without it", engine_.name, key.error().message);
  std::string told;
  while (!stopping_ && tracker_.life() == life && tracker_.needs_answer()) {
    const auto models = co_await session_.models();
    if (models && tracker_.life() == life) {
      take_events(tracker_.on_answers(life));
      co_return;
    }
    // That nobody listens yet is what loading looks like; anything else is not, and is told once.
    if (!models && models.error().code != ErrorCode::kUnavailable && models.error().message != told) {
      told = models.error().message;
      spdlog::warn("{}: not ready yet: {}", engine_.name, told);
    }
    co_await pause(kAnswerRetry);
  }
}

// The fingerprint is taken once a life, at ready. Without a model list there is none, rather than a wrong
// one.
asio::awaitable<void> EngineSupervisor::take_ready(policy::Ready ready) {
  const auto self = shared_from_this();
  const auto begun = ports_.clock.mono();
  // Credentials are what they were when firebossd was started: waiting for one is in vain.
  const auto key = session_.credential();
  if (!key)
    spdlog::error("{}: {}; nothing is asked without it", engine_.name, key.error().message);
  while (key && !stopping_ && tracker_.life() == ready.life) {
    auto models = co_await session_.models();
    if (models) {
      ready.fingerprint =
          fingerprint(engine_.suite.hash, *models, snapshot_->exec_start, snapshot_->drop_ins);
      session_.set_models(std::move(*models));
      break;
    }
    if (ports_.clock.mono() - begun > kModelsPatience) {
      spdlog::warn("{}: no model list: {}", engine_.name, models.error().message);
      break;
    }
    co_await pause(kAnswerRetry);
  }
  if (stopping_ || tracker_.life() != ready.life)
    co_return;
  feed(std::move(ready));
  // Every process that serves is there by now: whatever the kernel says of one of them later is known to be
  // ours, though it be gone by then.
  co_await ask_processes();
}

asio::awaitable<void> EngineSupervisor::poll_counters() {
  const auto self = shared_from_this();
  if (engine_.adapter == config::Adapter::kNone)
    co_return;
  while (!stopping_) {
    const auto life = tracker_.life();
    // A page without counters, or that is not there (llama-server without --metrics), is not asked for while
    // the port's silence is watched: its answer would break it.
    const bool in_the_way = silence_.watching() && !counters_told_;
    if (started_ && !life.empty() && policy::ready(core_.state()) && !in_the_way) {
      const auto page = co_await session_.metrics_page();
      policy::Counters counters;
      const auto dialect = page ? probes::detect_dialect(*page) : std::nullopt;
      if (dialect) {
        const auto read = probes::parse_counters(*page, *dialect);
        counters = {read.running, read.waiting, read.prompt_tokens, read.generation_tokens, false};
      } else {
        counters.scrape_failed = true;
      }
      if (page || page.error().code == ErrorCode::kNotFound || page.error().code == ErrorCode::kDenied)
        counters_told_ = dialect.has_value();
      if (!stopping_ && tracker_.life() == life)
        if (const auto edge = edges_.on_poll(counters, session_.own_calls(), ports_.clock.mono()))
          feed(*edge);
    }
    co_await pause(kPollEvery);
  }
}

void EngineSupervisor::pump() {
  if (!started_ || stopping_)
    return;
  // ready and verify end by events of their own: there is nothing to carry out.
  if (const auto step = core_.operation();
      step && !step_running_ && step->step != policy::Step::kReady && step->step != policy::Step::kVerify) {
    step_running_ = true;
    spawn(do_step(*step));
  }
  if (canary_running_ || calibrating_ || !core_.recording() || being_stopped())
    return;
  if (const auto due = core_.canary()) {
    canary_running_ = true;
    spawn(do_canary(*due));
  }
}

bool EngineSupervisor::being_stopped() const {
  return snapshot_ && snapshot_->active == ports::ActiveState::kDeactivating;
}

asio::awaitable<void> EngineSupervisor::do_canary(policy::CanaryDue due) {
  const auto self = shared_from_this();
  feed(policy::CanaryBegun{due.variant, due.life, due.purpose});
  co_await ask_and_record(due.variant, engine_.policy.n, due.life, due.purpose);
  canary_running_ = false;
  wake();
}

asio::awaitable<EngineSupervisor::Asked> EngineSupervisor::ask_and_record(
    std::string variant, int n, std::string life, std::optional<policy::Purpose> purpose) {
  auto run = co_await session_.run(variant, n);
  policy::CanaryResult result{variant, life, run.results(), purpose};
  // What a life answered while another took its place says nothing about either, nor what it answered while
  // it was being stopped.
  if (tracker_.life() != life || being_stopped())
    std::fill(result.results.begin(), result.results.end(), canary::inconclusive_text("life_changed"));
  std::vector<ports::RawReply> raw;
  std::vector<ports::DayCount> counts;
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    const auto& graded = run.calls[i].graded;
    counts.push_back({"calls." + std::string(canary::to_string(graded.grade)), 1});
    if (graded.grade != canary::Grade::kPass)
      raw.push_back({engine_.name, variant, std::string(canary::to_string(graded.verdict)),
                     static_cast<int>(i), run.calls[i].body});
  }
  const auto mark = decided_;
  feed(std::move(result), std::move(raw), std::move(counts));
  Asked asked{std::move(run), decided_since(mark)};
  if (tracker_.life() == life)
    watch_silence();
  co_return asked;
}

std::vector<policy::Decision> EngineSupervisor::decided_since(std::uint64_t mark) const {
  const auto since = std::min<std::uint64_t>(decided_ - mark, decisions_.size());
  return {decisions_.end() - static_cast<std::ptrdiff_t>(since), decisions_.end()};
}

void EngineSupervisor::tell(const policy::Decision& decision) {
  ++decided_;
  decisions_.push_back(decision);
  if (decisions_.size() > kDecisionsKept)
    decisions_.pop_front();
  const auto line =
      engine_.name + ": " + std::string(policy::to_string(decision.kind)) + ": " + decision.reason;
  if (decision.kind == policy::DecisionKind::kAlert && decision.severity == policy::Severity::kCritical)
    spdlog::critical("{}", line);
  else if (decision.kind == policy::DecisionKind::kAlert || decision.kind == policy::DecisionKind::kRestart)
    spdlog::warn("{}", line);
  else
    spdlog::info("{}", line);
}

}  // namespace fireboss::app
