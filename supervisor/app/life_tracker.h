#pragma once
// From what systemd says about one unit to the policy's events: a life began, is ready, ended and by what. Pure:
// fed by the shell, which passes the time. Tells a stop from a restart from a death (design section 4): the exit
// status decides nothing.
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
  explicit LifeTracker(std::string unit);

  // Each returns the events that follow, in order; most calls return none. The first snapshot adopts what runs: a
  // LifeStarted with its age, then Ready if systemd's word or answers() says so.
  std::vector<policy::EventBody> on_snapshot(const ports::UnitSnapshot& snapshot, MonoTime now);
  std::vector<policy::EventBody> on_job(const ports::JobSeen& job, MonoTime now);
  std::vector<policy::EventBody> on_journal(const ports::JournalLine& line, MonoTime now);
  // The engine's model list was answered by a listener that is ours: ready, for a unit that is not Type=notify.
  std::vector<policy::EventBody> on_answers(const std::string& life, MonoTime now);

  // An end whose cause is not clear yet is held back until the manager's line arrives or this time has come.
  [[nodiscard]] std::optional<MonoTime> settle_at() const;
  std::vector<policy::EventBody> on_settle(MonoTime now);

  // Our own operation sends (or has ended) a job: a life that begins meanwhile is caused by firebossd.
  void expect_own_job(bool open);

  // The current life, "" if none; whether it still has to be asked for its model list to be called ready.
  [[nodiscard]] const std::string& life() const;
  [[nodiscard]] bool needs_answer() const;

 private:
  std::string unit_;
};

}  // namespace fireboss::app
