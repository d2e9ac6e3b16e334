#pragma once
// From what systemd says about one unit to the policy's events: a life began, is ready, ended and by what.
// Pure: fed by the shell, which passes the time. Tells a stop from a restart from a death (design section 4):
// the exit status decides nothing.
//
// Two witnesses, in any order: the bus (state, jobs) and the manager's journal lines. What each says, as seen
// on systemd 252:
// clang-format off
//   stop          "Stopping" .. "Deactivated"/"Failed" .. "Stopped" with JOB_TYPE=stop; a job of type stop
//   restart       the same, "Stopped" with JOB_TYPE=restart ("Stopping" says stop even then); a job of type restart
//   death         "Deactivated"/"Failed" without a "Stopping" before it; no job. The exit status may be 0.
//   ... healed    sub-state auto-restart, NRestarts grows with the next life; its "Stopped" says JOB_TYPE=restart
//   ... given up  auto-restart, then failed: "Start request repeated too quickly", whatever Result= says
// clang-format on
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "supervisor/policy/event.h"
#include "supervisor/ports/journal.h"
#include "supervisor/ports/unit_manager.h"

namespace fireboss::app {

class LifeTracker {
 public:
  using Events = std::vector<policy::EventBody>;

  // Each returns the events that follow, in order; most calls return none. The first snapshot adopts what
  // runs: a LifeStarted with its age, then Ready if systemd's word says so. If nothing runs, a LifeEnded of
  // the last life as far as the manager's lines given before it (Journal::manager_tail) tell how that ended.
  // A LifeEnded may be repeated for the same life when more is known: the start limit, or a stop of what
  // systemd was about to restart.
  Events on_snapshot(const ports::UnitSnapshot& snapshot, MonoTime now);
  Events on_job(const ports::JobSeen& job, MonoTime now);
  Events on_journal(const ports::JournalLine& line, MonoTime now);
  // The engine's model list was answered by a listener that is ours: ready, for a unit that is not
  // Type=notify.
  Events on_answers(const std::string& life);

  // An end whose cause is not clear yet is held back until the manager's line arrives or this time has come.
  // What comes after the end waits behind it.
  [[nodiscard]] std::optional<MonoTime> settle_at() const;
  Events on_settle(MonoTime now);

  // Our own operation sends (or has ended) a job: a life that begins meanwhile is caused by firebossd. Ends
  // by itself with that life, or with the job if the bus told of it.
  void expect_own_job(bool open);

  // The current life, "" if none; whether it still has to be asked for its model list to be called ready.
  [[nodiscard]] const std::string& life() const { return life_; }
  [[nodiscard]] bool needs_answer() const;

 private:
  // What the manager's lines have said of one invocation.
  struct Heard {
    std::string life;
    bool stopping = false;   // "Stopping"
    std::string stopped_by;  // JOB_TYPE of "Stopped"
    bool over = false;       // "Deactivated successfully" or "Failed with result"
    std::string result;
    std::optional<int> exit_status;
    bool start_limit = false;
  };
  struct Job {
    std::string type, life;    // the life that was current when the job was first seen
    bool after_start = false;  // ... and had become active
    bool stale = false;        // the unit has no job any more, though nobody told of this one's end
  };
  enum class Cause { kStop, kRestart, kDeath };

  Events take(const ports::UnitSnapshot& snapshot, MonoTime now);
  Events begin(const ports::UnitSnapshot& snapshot, MonoTime now, bool adopting);
  Events adopt_ended(const ports::UnitSnapshot& snapshot);
  Events resolve(MonoTime now, bool forced);
  Events revise(MonoTime now, bool forced);
  Events unseen_life(const std::string& life);
  std::optional<Cause> judge(bool forced) const;
  bool restarted_by_systemd() const;
  policy::LifeEnded ended(const std::string& life, const ports::UnitSnapshot& at_end) const;
  void forget_jobs();
  bool job_evidence(const std::string& type) const;
  const Heard* heard(const std::string& life) const;
  Heard& hear(const std::string& life);
  policy::LifeCause cause_of(const ports::UnitSnapshot& snapshot, MonoTime now, bool adopting) const;

  bool adopted_ = false;
  std::string life_;
  bool ready_ = false, notify_ = false, active_ = false;
  bool started_ = false;  // has been active, be it stopping now
  std::uint32_t n_restarts_ = 0;
  bool never_ran_ = false;  // found down, and not started since the machine booted

  struct Ending {
    MonoTime settle_at;
    ports::UnitSnapshot at_end;  // the last one that still spoke of this life
  };
  std::optional<Ending> ending_;
  std::optional<ports::UnitSnapshot> latest_;  // while an ending is open: what waits behind it

  std::string last_life_;
  std::optional<policy::LifeEnded> last_end_;
  std::optional<ports::UnitSnapshot> after_end_;
  std::optional<MonoTime> revise_at_;

  std::map<std::uint32_t, Job> jobs_;
  std::optional<std::string> done_type_;  // of a job that ended `done` on the current (or last) life
  struct Untyped {
    MonoTime at;
    bool done = false;
  };
  std::optional<Untyped> untyped_;  // the last job that ended before anybody could ask what it was
  bool own_expected_ = false;
  std::optional<MonoTime> own_until_;
  std::deque<Heard> heard_;  // newest last, bounded
};

}  // namespace fireboss::app
