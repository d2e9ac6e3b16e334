// Sequences as systemd 252 was seen to produce them, and their shuffles.
#include "supervisor/app/life_tracker.h"

#include <gtest/gtest.h>

namespace fireboss::app {
namespace {

using policy::LifeCause;
using policy::LifeEnded;
using policy::LifeStarted;
using policy::Ready;
using ports::ActiveState;
using ports::JobSeen;
using ports::JournalLine;
using ports::UnitSnapshot;

constexpr MonoTime at(std::int64_t ms) {
  return MonoTime{Millis{ms}};
}

UnitSnapshot unit(ActiveState active, std::string sub_state, std::string life) {
  UnitSnapshot s;
  s.unit = "engine.service";
  s.load_state = "loaded";
  s.active = active;
  s.sub_state = std::move(sub_state);
  s.invocation_id = std::move(life);
  s.type = "notify";
  s.restart = "always";
  s.result = "success";
  s.inactive_exit = at(900'000);
  return s;
}
UnitSnapshot running(std::string life, std::uint32_t n_restarts = 0) {
  auto s = unit(ActiveState::kActive, "running", std::move(life));
  s.n_restarts = n_restarts;
  return s;
}
UnitSnapshot starting(std::string life, std::uint32_t n_restarts = 0) {
  auto s = unit(ActiveState::kActivating, "start", std::move(life));
  s.n_restarts = n_restarts;
  return s;
}
UnitSnapshot dead(std::string life) {
  return unit(ActiveState::kInactive, "dead", std::move(life));
}
UnitSnapshot auto_restart(std::string life) {
  return unit(ActiveState::kActivating, "auto-restart", std::move(life));
}
UnitSnapshot failed(std::string life, std::string result) {
  auto s = unit(ActiveState::kFailed, "failed", std::move(life));
  s.result = std::move(result);
  return s;
}

JournalLine manager(std::string life, std::string message_id) {
  JournalLine line;
  line.from_manager = true;
  line.unit = "engine.service";
  line.invocation_id = std::move(life);
  line.message_id = std::move(message_id);
  return line;
}
JournalLine stopping(std::string life) {
  return manager(std::move(life), "de5b426a63be47a7b6ac3eaac82e2f6f");
}
JournalLine stopped(std::string life, std::string job_type) {
  auto line = manager(std::move(life), "9d1aaa27d60140bd96365438aad20286");
  line.job_type = std::move(job_type);
  return line;
}
JournalLine deactivated(std::string life) {
  return manager(std::move(life), "7ad2d189f7e94e70a38c781354912448");
}
JournalLine failed_with(std::string life, std::string result) {
  auto line = manager(std::move(life), "d9b373ed55a64feb8242e02dbe79a49c");
  line.unit_result = std::move(result);
  return line;
}
JournalLine repeated(std::string life) {
  auto line = manager(std::move(life), "");
  line.message = "engine.service: Start request repeated too quickly.";
  return line;
}
JobSeen job_new(std::uint32_t id, std::string type, bool ours = false) {
  return {.unit = "engine.service",
          .id = id,
          .type = std::move(type),
          .ended = false,
          .result = "",
          .ours = ours};
}
JobSeen job_done(std::uint32_t id, std::string type, bool ours = false, std::string result = "done") {
  return {.unit = "engine.service",
          .id = id,
          .type = std::move(type),
          .ended = true,
          .result = std::move(result),
          .ours = ours};
}

std::string say(std::optional<bool> value) {
  return !value ? "?" : *value ? "yes" : "no";
}

std::string cause(LifeCause value) {
  switch (value) {
    case LifeCause::kUnknown:
      return "unknown";
    case LifeCause::kFirebossd:
      return "firebossd";
    case LifeCause::kSystemd:
      return "systemd";
    case LifeCause::kOperator:
      return "operator";
    case LifeCause::kBoot:
      return "boot";
  }
  return "";
}

// One line an event, so that a test reads as the history it is about.
std::string say(const LifeTracker::Events& events) {
  std::string out;
  for (const auto& event : events) {
    if (!out.empty())
      out += "; ";
    if (const auto* started = std::get_if<LifeStarted>(&event))
      out += "started " + started->life + " by " + cause(started->cause);
    else if (const auto* ready = std::get_if<Ready>(&event))
      out += "ready " + ready->life;
    else if (const auto* ended = std::get_if<LifeEnded>(&event))
      out += "ended " + ended->life + " stop=" + say(ended->stop_job) +
             " restart=" + say(ended->restart_job) + " auto=" + say(ended->auto_restart) +
             (ended->start_limit ? " limit" : "");
    else
      out += "?";
  }
  return out;
}

class LifeTrackerTest : public testing::Test {
 protected:
  std::string snapshot(const UnitSnapshot& s) { return say(tracker_.on_snapshot(s, now_)); }
  std::string job(const JobSeen& j) { return say(tracker_.on_job(j, now_)); }
  std::string journal(const JournalLine& l) { return say(tracker_.on_journal(l, now_)); }
  // Just before, and at, the moment when an open question is settled.
  std::string settle() {
    const auto due = tracker_.settle_at();
    if (!due)
      return "nothing to settle";
    const auto early = say(tracker_.on_settle(*due - Millis{1}));
    if (!early.empty())
      return "too early: " + early;
    now_ = *due;
    return say(tracker_.on_settle(now_));
  }
  void run(const std::string& life) {
    ASSERT_NE(snapshot(running(life)), "");
    now_ += Millis{60'000};
  }

  LifeTracker tracker_;
  MonoTime now_ = at(1'000'000);
};

TEST_F(LifeTrackerTest, AdoptsARunningLifeWithItsAge) {
  const auto events = tracker_.on_snapshot(running("a"), now_);
  EXPECT_EQ(say(events), "started a by unknown; ready a");
  EXPECT_EQ(std::get<LifeStarted>(events.front()).age, Millis{100'000});
  EXPECT_EQ(tracker_.life(), "a");
}

TEST_F(LifeTrackerTest, AdoptsALifeThatSystemdRestartedAsSystemds) {
  EXPECT_EQ(snapshot(running("a", 2)), "started a by systemd; ready a");
}

TEST_F(LifeTrackerTest, IsReadyOnlyWhenSystemdSaysSo) {
  EXPECT_EQ(snapshot(starting("a")), "started a by unknown");
  EXPECT_FALSE(tracker_.needs_answer());
  EXPECT_EQ(snapshot(starting("a")), "");
  EXPECT_EQ(snapshot(running("a")), "ready a");
  EXPECT_EQ(snapshot(running("a")), "");
}

TEST_F(LifeTrackerTest, AUnitThatDoesNotNotifyIsReadyWhenItAnswers) {
  auto simple = running("a");
  simple.type = "exec";
  EXPECT_EQ(snapshot(simple), "started a by unknown");
  EXPECT_TRUE(tracker_.needs_answer());
  EXPECT_EQ(say(tracker_.on_answers("b")), "");
  EXPECT_EQ(say(tracker_.on_answers("a")), "ready a");
  EXPECT_FALSE(tracker_.needs_answer());
  EXPECT_EQ(say(tracker_.on_answers("a")), "");
}

TEST_F(LifeTrackerTest, StopSeenOnTheBusIsAStop) {
  run("a");
  EXPECT_EQ(job(job_new(7, "stop")), "");
  EXPECT_EQ(snapshot(dead("a")), "ended a stop=yes restart=no auto=no");
  EXPECT_EQ(tracker_.life(), "");
}

TEST_F(LifeTrackerTest, StopSeenOnlyInTheJournalIsAStop) {
  run("a");
  EXPECT_EQ(journal(stopping("a")), "");
  EXPECT_EQ(journal(deactivated("a")), "");
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(tracker_.life(), "a");
  EXPECT_EQ(journal(stopped("a", "stop")), "ended a stop=yes restart=no auto=no");
}

TEST_F(LifeTrackerTest, JournalAfterTheStateChangeIsAwaited) {
  run("a");
  EXPECT_EQ(snapshot(dead("")), "");
  EXPECT_EQ(journal(stopping("a")), "");
  EXPECT_EQ(journal(deactivated("a")), "");
  EXPECT_EQ(journal(stopped("a", "stop")), "ended a stop=yes restart=no auto=no");
}

TEST_F(LifeTrackerTest, StopThatFailsIsStillAStop) {
  run("a");
  journal(stopping("a"));
  journal(failed_with("a", "signal"));
  snapshot(failed("a", "signal"));
  EXPECT_EQ(journal(stopped("a", "stop")), "ended a stop=yes restart=no auto=no");
}

TEST_F(LifeTrackerTest, CanceledStopJobIsNoStop) {
  run("a");
  job(job_new(7, "stop"));
  job(job_done(7, "stop", false, "canceled"));
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(journal(deactivated("a")), "ended a stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, OperatorsRestartIsNeitherStopNorDeath) {
  run("a");
  job(job_new(7, "restart"));
  EXPECT_EQ(snapshot(starting("b")), "ended a stop=yes restart=yes auto=no; started b by operator");
  EXPECT_EQ(snapshot(running("b")), "ready b");
}

TEST_F(LifeTrackerTest, RestartKnownOnlyFromTheJournalHoldsTheNewLifeBack) {
  run("a");
  EXPECT_EQ(snapshot(starting("b")), "");
  EXPECT_EQ(tracker_.life(), "a");
  EXPECT_EQ(snapshot(running("b")), "");
  EXPECT_EQ(journal(stopping("a")), "");
  EXPECT_EQ(journal(deactivated("a")), "");
  EXPECT_EQ(journal(stopped("a", "restart")),
            "ended a stop=yes restart=yes auto=no; started b by operator; ready b");
}

TEST_F(LifeTrackerTest, RestartWhileLoadingIsKnownFromTheJournal) {
  snapshot(starting("a"));
  job(job_new(7, "restart"));
  journal(stopping("a"));
  EXPECT_EQ(snapshot(starting("b")), "");
  EXPECT_EQ(journal(stopped("a", "restart")), "ended a stop=yes restart=yes auto=no; started b by operator");
}

TEST_F(LifeTrackerTest, JobThatIsStillStartingALifeSaysNothingAboutItsEnd) {
  run("a");
  job(job_new(7, "restart", true));
  EXPECT_EQ(snapshot(starting("b")), "ended a stop=yes restart=yes auto=no; started b by firebossd");
  job(job_new(7, "restart", true));  // told again, late
  EXPECT_EQ(snapshot(failed("b", "exit-code")), "");
  EXPECT_EQ(journal(failed_with("b", "exit-code")), "ended b stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, RestartSeenWhileTheEngineIsStoppingAlready) {
  run("a");
  snapshot(unit(ActiveState::kDeactivating, "stop-sigterm", "a"));
  job(job_new(7, "start"));
  EXPECT_EQ(snapshot(starting("b")), "ended a stop=yes restart=yes auto=no; started b by operator");
}

TEST_F(LifeTrackerTest, RestartSeenLateOnTheBusLooksLikeAStartOfARunningUnit) {
  run("a");
  job(job_new(7, "start"));
  EXPECT_EQ(snapshot(starting("b")), "ended a stop=yes restart=yes auto=no; started b by operator");
}

TEST_F(LifeTrackerTest, OurRestartIsOursAndSoIsTheLifeAfterIt) {
  run("a");
  tracker_.expect_own_job(true);
  job(job_new(7, "restart", true));
  EXPECT_EQ(snapshot(starting("b")), "ended a stop=yes restart=yes auto=no; started b by firebossd");
  snapshot(running("b"));
  job(job_done(7, "restart", true));
  now_ += Millis{60'000};
  EXPECT_EQ(journal(deactivated("b")), "");
  EXPECT_EQ(snapshot(dead("b")), "ended b stop=no restart=no auto=no");
  EXPECT_EQ(snapshot(starting("c")), "started c by operator");
}

TEST_F(LifeTrackerTest, OurQuickRestartIsOursThoughItsJobIsGoneFirst) {
  run("a");
  tracker_.expect_own_job(true);
  job(job_done(7, "restart", true));
  EXPECT_EQ(snapshot(running("b")), "ended a stop=yes restart=yes auto=no; started b by firebossd; ready b");
}

TEST_F(LifeTrackerTest, OurRestartThatWasRefusedClaimsNoLaterLife) {
  run("a");
  tracker_.expect_own_job(true);
  tracker_.expect_own_job(false);
  job(job_new(7, "stop"));
  snapshot(dead("a"));
  job(job_done(7, "stop"));
  EXPECT_EQ(snapshot(starting("b")), "started b by operator");
}

TEST_F(LifeTrackerTest, ExitZeroUnderRestartAlwaysIsADeathThatSystemdHeals) {
  run("a");
  auto waiting = auto_restart("a");
  waiting.exec_main_code = 1;
  waiting.exec_main_status = 0;
  const auto events = tracker_.on_snapshot(waiting, now_);
  EXPECT_EQ(say(events), "ended a stop=no restart=no auto=yes");
  EXPECT_EQ(std::get<LifeEnded>(events.front()).exit_status, 0);
  EXPECT_EQ(std::get<LifeEnded>(events.front()).result, "success");
  EXPECT_EQ(journal(deactivated("a")), "");
  EXPECT_EQ(job(job_new(8, "restart")), "");
  EXPECT_EQ(journal(stopped("a", "restart")), "");  // systemd's own restart says so too
  EXPECT_EQ(snapshot(starting("b", 1)), "started b by systemd");
}

TEST_F(LifeTrackerTest, QuickAutoRestartIsKnownByTheCounter) {
  run("a");
  EXPECT_EQ(snapshot(starting("b", 1)), "ended a stop=no restart=no auto=yes; started b by systemd");
}

TEST_F(LifeTrackerTest, CounterThatGrowsBeforeTheNextLifeBeginsCountsForThatLife) {
  run("a");
  snapshot(auto_restart("a"));
  auto due = auto_restart("a");
  due.n_restarts = 1;
  EXPECT_EQ(snapshot(due), "");
  EXPECT_EQ(snapshot(starting("b", 1)), "started b by systemd");
}

TEST_F(LifeTrackerTest, AutoRestartsOwnJobMakesItNoRestartByHand) {
  run("a");
  job(job_new(8, "restart"));
  EXPECT_EQ(snapshot(starting("b", 1)), "ended a stop=no restart=no auto=yes; started b by systemd");
}

TEST_F(LifeTrackerTest, ExitZeroUnderRestartOnFailureIsADeathToo) {
  run("a");
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(journal(deactivated("a")), "ended a stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, DeathLineBeforeTheStateChangeSettlesAtOnce) {
  run("a");
  EXPECT_EQ(journal(failed_with("a", "watchdog")), "");
  const auto events = tracker_.on_snapshot(failed("a", "watchdog"), now_);
  EXPECT_EQ(say(events), "ended a stop=no restart=no auto=no");
  EXPECT_EQ(std::get<LifeEnded>(events.front()).result, "watchdog");
}

TEST_F(LifeTrackerTest, WithoutAJournalADeathIsSettledByTime) {
  run("a");
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(settle(), "ended a stop=no restart=no auto=no");
  EXPECT_EQ(settle(), "nothing to settle");
}

TEST_F(LifeTrackerTest, JobTooQuickToBeAskedIsAStopWhenTheUnitStaysDown) {
  run("a");
  job(job_done(9, ""));
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(settle(), "ended a stop=yes restart=no auto=no");
}

TEST_F(LifeTrackerTest, JobTooQuickToBeAskedIsARestartWhenANewLifeStands) {
  run("a");
  job(job_done(9, ""));
  EXPECT_EQ(snapshot(running("b")), "");
  EXPECT_EQ(settle(), "ended a stop=yes restart=yes auto=no; started b by operator; ready b");
}

TEST_F(LifeTrackerTest, UntypedJobThatFailedWasARestart) {
  run("a");
  job(job_done(9, "", false, "failed"));
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(settle(), "ended a stop=yes restart=yes auto=no");
}

TEST_F(LifeTrackerTest, UntypedJobLongBeforeTheEndWasAReload) {
  run("a");
  job(job_done(9, ""));
  now_ += Millis{2'001};
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(settle(), "ended a stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, UntypedJobJustBeforeTheEndWasAStop) {
  run("a");
  job(job_done(9, ""));
  now_ += Millis{2'000};
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(settle(), "ended a stop=yes restart=no auto=no");
}

TEST_F(LifeTrackerTest, ReloadIsNoEvidence) {
  run("a");
  job(job_new(9, "reload"));
  job(job_done(9, "reload"));
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(settle(), "ended a stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, JobThatStartedALifeIsNoEvidenceAboutItsEnd) {
  snapshot(dead(""));
  job(job_done(9, ""));
  snapshot(running("a"));
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(settle(), "ended a stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, FailedStartIsADeathOfTheNewLifeAndTheOldOneWasReplaced) {
  run("a");
  job(job_new(7, "restart"));
  EXPECT_EQ(snapshot(starting("b")), "ended a stop=yes restart=yes auto=no; started b by operator");
  job(job_done(7, "restart", false, "failed"));
  EXPECT_EQ(journal(failed_with("b", "exit-code")), "");
  EXPECT_EQ(snapshot(failed("b", "exit-code")), "ended b stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, CrashLoopEndsInTheStartLimitWhateverTheResultSays) {
  run("a");
  EXPECT_EQ(snapshot(auto_restart("a")), "ended a stop=no restart=no auto=yes");
  EXPECT_EQ(snapshot(failed("a", "exit-code")), "");
  EXPECT_EQ(journal(repeated("a")), "ended a stop=no restart=no auto=no limit");
  EXPECT_EQ(settle(), "nothing to settle");
}

TEST_F(LifeTrackerTest, CrashLoopSeenOnlyAtItsEndIsADeath) {
  run("a");
  journal(failed_with("a", "exit-code"));
  journal(stopped("a", "restart"));
  journal(repeated("a"));
  EXPECT_EQ(snapshot(failed("a", "exit-code")), "ended a stop=no restart=no auto=no limit");
}

TEST_F(LifeTrackerTest, JobThatEndsInTheNextLifeSaysNothingAboutThatOne) {
  run("a");
  job(job_new(7, "restart"));
  auto b = running("b");
  b.job_id = 7;
  snapshot(b);
  job(job_done(7, "restart"));
  now_ += Millis{60'000};
  EXPECT_EQ(snapshot(dead("b")), "");
  EXPECT_EQ(settle(), "ended b stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, JobWhoseEndNobodyHeardIsForgottenWhenTheUnitHasNone) {
  run("a");
  job(job_new(7, "stop"));
  snapshot(running("a"));  // the bus was away: the job was canceled meanwhile
  EXPECT_EQ(snapshot(dead("a")), "");
  EXPECT_EQ(settle(), "ended a stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, StartLimitIsKnownFromTheStateWhenTheJournalIsSilent) {
  run("a");
  snapshot(auto_restart("a"));
  EXPECT_EQ(snapshot(failed("a", "exit-code")), "");
  EXPECT_EQ(settle(), "ended a stop=no restart=no auto=no limit");
}

TEST_F(LifeTrackerTest, StartLimitHitAsResultNeedsNoOtherWitness) {
  run("a");
  snapshot(auto_restart("a"));
  EXPECT_EQ(snapshot(failed("a", "start-limit-hit")), "ended a stop=no restart=no auto=no limit");
}

TEST_F(LifeTrackerTest, StopWhileSystemdWaitsToRestartIsAStopAfterAll) {
  run("a");
  EXPECT_EQ(snapshot(auto_restart("a")), "ended a stop=no restart=no auto=yes");
  job(job_new(9, "stop"));
  EXPECT_EQ(snapshot(dead("")), "");
  EXPECT_EQ(job(job_done(9, "stop")), "ended a stop=yes restart=no auto=no");
}

TEST_F(LifeTrackerTest, StopWhileSystemdWaitsToRestartIsKnownFromTheJournalToo) {
  run("a");
  snapshot(auto_restart("a"));
  EXPECT_EQ(journal(stopped("a", "stop")), "ended a stop=yes restart=no auto=no");
  EXPECT_EQ(snapshot(dead("")), "");
}

TEST_F(LifeTrackerTest, StopOfAUnitThatDiedMeansThatItIsToStayDown) {
  run("a");
  journal(deactivated("a"));
  snapshot(dead("a"));
  EXPECT_EQ(job(job_done(9, "stop")), "ended a stop=yes restart=no auto=no");
  EXPECT_EQ(job(job_done(10, "stop")), "");
}

TEST_F(LifeTrackerTest, JobTooQuickToBeAskedOnADeadUnitThatStaysDownWasAStop) {
  run("a");
  journal(deactivated("a"));
  snapshot(dead("a"));
  EXPECT_EQ(job(job_done(9, "")), "");
  EXPECT_EQ(settle(), "ended a stop=yes restart=no auto=no");
}

TEST_F(LifeTrackerTest, JobTooQuickToBeAskedOnADeadUnitThatRunsAgainWasAStart) {
  run("a");
  journal(deactivated("a"));
  snapshot(dead("a"));
  job(job_done(9, ""));
  EXPECT_EQ(snapshot(running("b")), "started b by operator; ready b");
  EXPECT_EQ(settle(), "nothing to settle");
}

TEST_F(LifeTrackerTest, LifeThatBeganAndFailedBetweenTwoLooks) {
  run("a");
  job(job_new(7, "restart"));
  EXPECT_EQ(snapshot(failed("b", "exit-code")),
            "ended a stop=yes restart=yes auto=no; started b by operator");
  EXPECT_EQ(journal(failed_with("b", "exit-code")), "ended b stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, LifeThatOnlyTheJournalKnowsOf) {
  run("a");
  job(job_new(7, "restart"));
  EXPECT_EQ(snapshot(dead("")), "ended a stop=yes restart=yes auto=no");
  EXPECT_EQ(journal(deactivated("b")), "");
  EXPECT_EQ(settle(), "started b by unknown; ended b stop=no restart=no auto=no");
  EXPECT_EQ(settle(), "nothing to settle");
}

TEST_F(LifeTrackerTest, LifeThatTheJournalNamesFirstIsTakenFromTheBusAllTheSame) {
  run("a");
  job(job_new(7, "stop"));
  snapshot(dead(""));
  journal(failed_with("b", "exit-code"));
  EXPECT_EQ(snapshot(failed("b", "exit-code")), "started b by operator; ended b stop=no restart=no auto=no");
  EXPECT_EQ(settle(), "nothing to settle");
}

TEST_F(LifeTrackerTest, StartAfterAStopIsTheOperators) {
  run("a");
  job(job_new(7, "stop"));
  snapshot(dead("a"));
  job(job_done(7, "stop"));
  EXPECT_EQ(snapshot(starting("b")), "started b by operator");
  now_ += Millis{60'000};
  snapshot(running("b"));
  EXPECT_EQ(journal(deactivated("b")), "");
  EXPECT_EQ(snapshot(dead("b")), "ended b stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, FirstStartOfABootIsTheBoots) {
  auto never = dead("");
  never.inactive_exit = MonoTime{};
  now_ = at(20'000);
  EXPECT_EQ(snapshot(never), "");
  auto first = starting("a");
  first.inactive_exit = at(30'000);
  EXPECT_EQ(snapshot(first), "started a by boot");
}

TEST_F(LifeTrackerTest, FirstStartLongAfterBootIsTheOperators) {
  auto never = dead("");
  never.inactive_exit = MonoTime{};
  EXPECT_EQ(snapshot(never), "");
  EXPECT_EQ(snapshot(starting("a")), "started a by operator");
}

TEST_F(LifeTrackerTest, UnitFoundStoppedIsKnownToBeStoppedFromOlderLines) {
  journal(stopping("a"));
  journal(deactivated("a"));
  journal(stopped("a", "stop"));
  EXPECT_EQ(snapshot(dead("")), "ended a stop=yes restart=no auto=no");
}

TEST_F(LifeTrackerTest, UnitFoundDeadIsKnownToHaveDiedFromOlderLines) {
  journal(stopping("a"));
  journal(stopped("a", "stop"));
  journal(deactivated("b"));
  EXPECT_EQ(snapshot(dead("")), "ended b stop=no restart=no auto=no");
}

TEST_F(LifeTrackerTest, UnitFoundDownWithoutAnyLineHasAnUnknownEnd) {
  EXPECT_EQ(snapshot(dead("a")), "ended a stop=? restart=? auto=no");
}

TEST_F(LifeTrackerTest, UnitFoundAtItsStartLimit) {
  journal(failed_with("a", "exit-code"));
  journal(repeated("a"));
  EXPECT_EQ(snapshot(failed("a", "exit-code")), "ended a stop=no restart=no auto=no limit");
}

TEST_F(LifeTrackerTest, SignalIsToldAsShellsDo) {
  run("a");
  auto killed = manager("a", "98e322203f7a4ed290d09fe03c09fe15");
  killed.exit_code = "killed";
  killed.exit_status = 9;
  journal(killed);
  journal(failed_with("a", "signal"));
  const auto events = tracker_.on_snapshot(failed("a", "signal"), now_);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<LifeEnded>(events.front()).exit_status, 137);
}

TEST_F(LifeTrackerTest, LinesOfTheEngineItselfEndNothing) {
  run("a");
  auto line = deactivated("a");
  line.from_manager = false;
  EXPECT_EQ(journal(line), "");
  EXPECT_EQ(snapshot(dead("a")), "");
}

}  // namespace
}  // namespace fireboss::app
