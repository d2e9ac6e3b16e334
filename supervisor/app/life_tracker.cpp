#include "supervisor/app/life_tracker.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace fireboss::app {

using policy::EventBody;
using policy::LifeCause;
using policy::LifeEnded;
using ports::ActiveState;
using ports::UnitSnapshot;

namespace {

// systemd's message ids: sd-messages(3).
constexpr std::string_view kUnitStopping = "de5b426a63be47a7b6ac3eaac82e2f6f";
constexpr std::string_view kUnitStopped = "9d1aaa27d60140bd96365438aad20286";
constexpr std::string_view kUnitSuccess = "7ad2d189f7e94e70a38c781354912448";
constexpr std::string_view kUnitFailureResult = "d9b373ed55a64feb8242e02dbe79a49c";
constexpr std::string_view kProcessExit = "98e322203f7a4ed290d09fe03c09fe15";
constexpr std::string_view kRepeated = "Start request repeated too quickly";  // it has no id

// How long the other witness is waited for: the journal follows the bus by milliseconds.
constexpr Millis kSettle{2'000};
// A unit's first start this early after boot is the boot's doing.
constexpr Millis kBootWindow{5 * 60'000};
constexpr std::size_t kHeardKept = 8, kJobsKept = 16;

bool is_auto_restart(const UnitSnapshot& s) {
  return s.sub_state.starts_with("auto-restart");
}

// The invocation that the snapshot names has no process any more.
bool is_over(const UnitSnapshot& s) {
  switch (s.active) {
    case ActiveState::kInactive:
    case ActiveState::kFailed:
      return true;
    case ActiveState::kActivating:
      return is_auto_restart(s);
    case ActiveState::kActive:
    case ActiveState::kReloading:
    case ActiveState::kDeactivating:
    case ActiveState::kMaintenance:
    case ActiveState::kUnknown:
      return false;
  }
  return false;
}

void append(LifeTracker::Events& to, LifeTracker::Events from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void set_cause(LifeEnded& end, bool stop_job, bool restart_job) {
  end.stop_job = stop_job;
  end.restart_job = restart_job;
}

}  // namespace

LifeTracker::Events LifeTracker::on_snapshot(const UnitSnapshot& snapshot, MonoTime now) {
  if (!ending_)
    return take(snapshot, now);
  if (snapshot.invocation_id == life_ || snapshot.invocation_id.empty())
    ending_->at_end = snapshot;
  latest_ = snapshot;
  return resolve(now, false);
}

LifeTracker::Events LifeTracker::take(const UnitSnapshot& snapshot, MonoTime now) {
  const bool over = is_over(snapshot);
  const auto& id = snapshot.invocation_id;
  const bool first = !std::exchange(adopted_, true);
  if (first && over)
    return adopt_ended(snapshot);
  if (life_.empty()) {
    if (!id.empty() && id != last_life_)  // over or not: it may have begun and ended unseen
      return begin(snapshot, now, first);
    after_end_ = snapshot;
    return revise(now, false);
  }
  if (over || (!id.empty() && id != life_)) {
    const bool same = id.empty() || id == life_;
    ending_ = Ending{now + kSettle, same ? snapshot : UnitSnapshot{}};
    latest_ = snapshot;
    return resolve(now, false);
  }
  n_restarts_ = snapshot.n_restarts;
  active_ = snapshot.active == ActiveState::kActive || snapshot.active == ActiveState::kReloading;
  started_ = active_ || snapshot.active == ActiveState::kDeactivating;
  if (snapshot.job_id == 0)
    for (auto& [number, job] : jobs_)
      job.stale = true;
  if (!active_ || !notify_ || std::exchange(ready_, true))
    return {};
  return {policy::Ready{.life = life_, .fingerprint = std::nullopt}};
}

LifeTracker::Events LifeTracker::begin(const UnitSnapshot& snapshot, MonoTime now, bool adopting) {
  policy::LifeStarted started{.life = snapshot.invocation_id,
                              .cause = cause_of(snapshot, now, adopting),
                              .fingerprint = std::nullopt,
                              .age = Millis{0}};
  if (adopting && snapshot.inactive_exit > MonoTime{} && snapshot.inactive_exit < now)
    started.age = now - snapshot.inactive_exit;
  if (!adopting)
    own_expected_ = false;
  own_until_.reset();
  life_ = snapshot.invocation_id;
  ready_ = active_ = started_ = false;
  notify_ = snapshot.type.starts_with("notify");
  never_ran_ = false;
  last_end_.reset();
  after_end_.reset();
  revise_at_.reset();
  done_type_.reset();
  untyped_.reset();
  Events events{std::move(started)};
  append(events, take(snapshot, now));
  return events;
}

LifeCause LifeTracker::cause_of(const UnitSnapshot& snapshot, MonoTime now, bool adopting) const {
  // NRestarts counts systemd's own restarts only and starts again from 0 with a start by hand
  if (snapshot.n_restarts > n_restarts_)
    return LifeCause::kSystemd;
  if (adopting)
    return LifeCause::kUnknown;
  if (own_expected_ || (own_until_ && now <= *own_until_))
    return LifeCause::kFirebossd;
  if (never_ran_ && snapshot.inactive_exit < MonoTime{} + kBootWindow)
    return LifeCause::kBoot;
  return LifeCause::kOperator;
}

LifeTracker::Events LifeTracker::adopt_ended(const UnitSnapshot& snapshot) {
  never_ran_ = snapshot.inactive_exit == MonoTime{};
  n_restarts_ = snapshot.n_restarts;
  last_life_ = snapshot.invocation_id;
  if (last_life_.empty() && !heard_.empty())
    last_life_ = heard_.back().life;
  if (last_life_.empty())
    return {};
  never_ran_ = false;
  auto end = ended(last_life_, snapshot);
  end.auto_restart = is_auto_restart(snapshot);
  const auto* h = heard(last_life_);
  if (h != nullptr && h->stopped_by == "stop")
    set_cause(end, true, false);
  else if (h != nullptr && h->stopped_by == "restart" && h->stopping)
    set_cause(end, true, true);
  else if (*end.auto_restart || (h != nullptr && h->over && !h->stopping))
    set_cause(end, false, false);
  last_end_ = end;
  after_end_ = snapshot;
  return {end};
}

LifeTracker::Events LifeTracker::on_job(const ports::JobSeen& job, MonoTime now) {
  if (!job.ended) {
    if (jobs_.size() == kJobsKept)
      jobs_.clear();
    jobs_.insert_or_assign(job.id,
                           Job{.type = job.type, .life = life_, .after_start = started_, .stale = false});
    own_expected_ = own_expected_ || job.ours;
    return ending_ ? resolve(now, false) : Events{};
  }
  // Without an entry it was never seen while it was open. A life's own start is removed before systemd shows
  // the life as active.
  Job seen{.type = job.type, .life = life_, .after_start = started_, .stale = false};
  if (const auto found = jobs_.extract(job.id); !found.empty())
    seen = found.mapped();
  const bool belongs = seen.life == life_ && seen.after_start;
  if (job.ours) {
    own_expected_ = false;
    // Also of a job that failed: the life that it began and that ended at once may be shown only now.
    if (job.result != "canceled")
      own_until_ = now + kSettle;
  }
  if (job.result == "canceled" || job.result == "skipped")
    return {};
  // what fails is never the stopping: a stop that had to kill is done
  const bool done = job.result == "done";
  if (seen.type == "stop" && done)
    done_type_ = "stop";  // also of a unit that was down already: the operator wants it so
  else if (belongs && (seen.type == "restart" || seen.type == "start"))
    done_type_ = "restart";
  else if (seen.type.empty() && (belongs || (done && life_.empty())))
    untyped_ = Untyped{.at = now, .done = done};
  if (ending_)
    return resolve(now, false);
  return life_.empty() ? revise(now, false) : Events{};
}

LifeTracker::Events LifeTracker::on_journal(const ports::JournalLine& line, MonoTime now) {
  if (!line.from_manager)
    return {};
  const auto& id = !line.invocation_id.empty() ? line.invocation_id : !life_.empty() ? life_ : last_life_;
  if (id.empty())
    return {};
  auto& h = hear(id);
  if (line.message_id == kUnitStopping)
    h.stopping = true;
  else if (line.message_id == kUnitStopped)
    h.stopped_by = line.job_type;
  else if (line.message_id == kUnitSuccess || line.message_id == kUnitFailureResult) {
    h.over = true;
    h.result = line.message_id == kUnitSuccess ? "success" : line.unit_result;
  } else if (line.message_id == kProcessExit && !line.exit_code.empty())
    h.exit_status = line.exit_code == "exited" ? line.exit_status : 128 + line.exit_status;
  else if (line.message.find(kRepeated) != std::string::npos)
    h.start_limit = true;
  else
    return {};
  if (!adopted_)
    return {};
  if (ending_)
    return resolve(now, false);
  if (life_.empty() && id != last_life_ && h.over && !revise_at_)
    revise_at_ = now + kSettle;  // a life that the bus has not shown: it still may
  return life_.empty() && id == last_life_ ? revise(now, false) : Events{};
}

LifeTracker::Events LifeTracker::on_answers(const std::string& life) {
  if (life != life_ || life_.empty() || ending_ || std::exchange(ready_, true))
    return {};
  return {policy::Ready{.life = life_, .fingerprint = std::nullopt}};
}

std::optional<MonoTime> LifeTracker::settle_at() const {
  if (ending_)
    return ending_->settle_at;
  return revise_at_;
}

LifeTracker::Events LifeTracker::on_settle(MonoTime now) {
  if (ending_ && now >= ending_->settle_at)
    return resolve(now, true);
  if (!ending_ && revise_at_ && now >= *revise_at_)
    return revise(now, true);
  return {};
}

void LifeTracker::expect_own_job(bool open) {
  own_expected_ = open;
}

bool LifeTracker::needs_answer() const {
  return !life_.empty() && !ready_ && !notify_ && active_ && !ending_;
}

bool LifeTracker::restarted_by_systemd() const {
  const auto& s = *latest_;
  return is_auto_restart(s) ||
         (!s.invocation_id.empty() && s.invocation_id != life_ && s.n_restarts > n_restarts_);
}

// A restart, or a start, which is what a restart becomes in its second half, of a life that had started
// already. On a life that is still starting it would be the job that began it.
bool LifeTracker::job_evidence(const std::string& type) const {
  return done_type_ == type || std::ranges::any_of(jobs_, [&](const auto& entry) {
           const auto& job = entry.second;
           if (job.stale || job.life != life_)
             return false;
           return type == "stop" ? job.type == "stop"
                                 : job.after_start && (job.type == "restart" || job.type == "start");
         });
}

std::optional<LifeTracker::Cause> LifeTracker::judge(bool forced) const {
  if (restarted_by_systemd())
    return Cause::kDeath;
  const auto* h = heard(life_);
  if (job_evidence("stop") || (h != nullptr && h->stopped_by == "stop"))
    return Cause::kStop;
  if (job_evidence("restart") || (h != nullptr && h->stopped_by == "restart" && h->stopping))
    return Cause::kRestart;
  if (h != nullptr && h->over && !h->stopping)
    return Cause::kDeath;
  if (!forced)
    return std::nullopt;
  const bool replaced = !latest_->invocation_id.empty() && latest_->invocation_id != life_;
  const bool untyped = untyped_ && ending_->settle_at <= untyped_->at + 2 * kSettle;  // else it was a reload
  const bool by_job = untyped || (h != nullptr && h->stopping);
  if (own_expected_ || (by_job && (replaced || (untyped && !untyped_->done))))
    return Cause::kRestart;
  return by_job ? Cause::kStop : Cause::kDeath;
}

LifeEnded LifeTracker::ended(const std::string& life, const UnitSnapshot& at_end) const {
  LifeEnded end;
  end.life = life;
  end.result = at_end.result;
  // CLD_EXITED is 1; a signal is told as shells do
  if (at_end.exec_main_code == 1)
    end.exit_status = at_end.exec_main_status;
  else if (at_end.exec_main_code > 1)
    end.exit_status = 128 + at_end.exec_main_status;
  if (const auto* h = heard(life); h != nullptr) {
    if (!h->result.empty())
      end.result = h->result;
    if (h->exit_status)
      end.exit_status = h->exit_status;
    end.start_limit = h->start_limit;
  }
  end.start_limit = end.start_limit || end.result == "start-limit-hit" || at_end.result == "start-limit-hit";
  return end;
}

LifeTracker::Events LifeTracker::resolve(MonoTime now, bool forced) {
  const auto cause = judge(forced);
  if (!cause)
    return {};
  auto end = ended(life_, ending_->at_end);
  set_cause(end, *cause != Cause::kDeath, *cause == Cause::kRestart);
  end.auto_restart = restarted_by_systemd();
  last_life_ = std::exchange(life_, {});
  last_end_ = end;
  ending_.reset();
  ready_ = active_ = started_ = false;
  forget_jobs();
  const auto next = std::exchange(latest_, std::nullopt);
  Events events{std::move(end)};
  append(events, take(*next, now));
  return events;
}

// Evidence about a life ends with it; a job that is still open goes on to the next.
void LifeTracker::forget_jobs() {
  done_type_.reset();
  untyped_.reset();
  revise_at_.reset();
}

// What became known about the last life after its end was told.
LifeTracker::Events LifeTracker::revise(MonoTime now, bool forced) {
  if (forced && !heard_.empty() && heard_.back().over && heard_.back().life != last_life_)
    return unseen_life(heard_.back().life);
  if (!last_end_ || last_life_.empty())
    return {};
  const auto* h = heard(last_life_);
  auto end = *last_end_;
  const bool was_stop = end.stop_job.value_or(false) && !end.restart_job.value_or(false);
  const bool waiting = end.auto_restart.value_or(false);
  const bool down = after_end_ && is_over(*after_end_) && !is_auto_restart(*after_end_);
  if (!was_stop && (done_type_ == "stop" || (h != nullptr && h->stopped_by == "stop"))) {
    set_cause(end, true, false);
    end.auto_restart = false;
  } else if (!end.start_limit && !was_stop &&
             ((h != nullptr && h->start_limit) || (after_end_ && after_end_->result == "start-limit-hit"))) {
    end.start_limit = true;
    end.auto_restart = false;
  } else if (down && (waiting || (untyped_ && !was_stop))) {
    // systemd was about to start it again and does not: it gave up, or somebody stopped it. Or a job has
    // ended on a unit that was down and still is: nothing but a stop does that.
    if (!forced) {
      if (!revise_at_)
        revise_at_ = now + kSettle;
      return {};
    }
    end.auto_restart = false;
    untyped_.reset();
    if (waiting && after_end_->active == ActiveState::kFailed)
      end.start_limit = true;
    else
      set_cause(end, true, false);
  } else {
    if (forced)
      revise_at_.reset();
    return {};
  }
  revise_at_.reset();
  last_end_ = end;
  return {end};
}

// Begun and ended so fast that the unit was unloaded before it could be asked: only the journal tells of it.
LifeTracker::Events LifeTracker::unseen_life(const std::string& life) {
  revise_at_.reset();
  last_life_ = life;
  auto end = ended(life, UnitSnapshot{});
  set_cause(end, false, false);
  end.auto_restart = false;
  last_end_ = end;
  const auto cause = own_expected_ || own_until_ ? LifeCause::kFirebossd : LifeCause::kUnknown;
  return {policy::LifeStarted{.life = life, .cause = cause, .fingerprint = std::nullopt, .age = Millis{0}},
          std::move(end)};
}

const LifeTracker::Heard* LifeTracker::heard(const std::string& life) const {
  const auto found = std::ranges::find(heard_, life, &Heard::life);
  return found == heard_.end() ? nullptr : &*found;
}

LifeTracker::Heard& LifeTracker::hear(const std::string& life) {
  if (const auto found = std::ranges::find(heard_, life, &Heard::life); found != heard_.end())
    return *found;
  if (heard_.size() == kHeardKept)
    heard_.pop_front();
  return heard_.emplace_back(Heard{.life = life,
                                   .stopping = false,
                                   .stopped_by = {},
                                   .over = false,
                                   .result = {},
                                   .exit_status = std::nullopt,
                                   .start_limit = false});
}

}  // namespace fireboss::app
