// The life tracker on what a real systemd says: each history with both witnesses, and with the bus alone.
#include <map>

#include <boost/asio/steady_timer.hpp>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/adapters/journal/systemd_journal.h"
#include "supervisor/adapters/sdbus/systemd_units.h"
#include "supervisor/app/life_tracker.h"
#include "tests/system/test_system.h"

namespace fireboss::system_test {
namespace {

using app::LifeTracker;
using policy::LifeCause;
using policy::LifeEnded;
using policy::LifeStarted;
using policy::Ready;

enum class Witness { kBoth, kBusAlone };

class LivesTest : public SystemTest, public testing::WithParamInterface<Witness> {
 protected:
  // Lives are named a, b, c in the order in which they are met.
  std::string name(const std::string& life) {
    if (life.empty())
      return "-";
    const auto [entry, fresh] =
        names_.try_emplace(life, std::string(1, static_cast<char>('a' + names_.size())));
    return entry->second;
  }

  void begin(const std::string& unit_text, bool start = true) {
    write_unit("engine.service", unit_text);
    if (start)
      shell("systemctl start engine.service");
    units_.emplace(loop_.get_executor());
    journal_.emplace(loop_.get_executor());
    watch();
    ASSERT_TRUE(until([&] { return adopted_; }));
  }
  void watch() {
    if (GetParam() == Witness::kBoth) {
      const auto lines = journal_->manager_tail("engine.service", 32);
      ASSERT_TRUE(lines);
      for (const auto& line : *lines)
        take(tracker_.on_journal(line, clock_.mono()));
      ASSERT_TRUE(journal_->follow(
          "engine.service", "", clock_.wall(),
          [this](const ports::JournalLine& line) { take(tracker_.on_journal(line, clock_.mono())); },
          [](const Error&) {}));
    }
    units_->watch("engine.service", [this](const ports::UnitNews& news) {
      if (const auto* snapshot = std::get_if<ports::UnitSnapshot>(&news)) {
        take(tracker_.on_snapshot(*snapshot, clock_.mono()));
        adopted_ = true;
      } else if (const auto* job = std::get_if<ports::JobSeen>(&news)) {
        take(tracker_.on_job(*job, clock_.mono()));
      }
    });
  }

  void take(const LifeTracker::Events& events) {
    for (const auto& event : events) {
      if (const auto* started = std::get_if<LifeStarted>(&event)) {
        history_ += "started " + name(started->life) + " by " + std::string(cause(started->cause)) + "\n";
      } else if (const auto* ready = std::get_if<Ready>(&event)) {
        history_ += "ready " + name(ready->life) + "\n";
      } else if (const auto* ended = std::get_if<LifeEnded>(&event)) {
        history_ += "ended " + name(ended->life) + " by " +
                    (!ended->stop_job      ? "?"
                     : !*ended->stop_job   ? "death"
                     : *ended->restart_job ? "restart"
                                           : "stop") +
                    (ended->auto_restart.value_or(false) ? ", systemd restarts" : "") +
                    (ended->start_limit ? ", start limit" : "") + "\n";
        last_ = *ended;
      }
    }
  }
  static std::string_view cause(LifeCause c) {
    switch (c) {
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

  // Runs until that much has happened and nothing is left open; settles what comes due.
  ::testing::AssertionResult happened(const std::string& expected) {
    const bool done = until([&] {
      if (const auto due = tracker_.settle_at(); due && clock_.mono() >= *due)
        take(tracker_.on_settle(clock_.mono()));
      if (const auto due = tracker_.settle_at()) {  // wakes the loop
        settle_.expires_after(std::max(*due - clock_.mono(), Millis{1}));
        settle_.async_wait([](const boost::system::error_code&) {});
      }
      return history_ == expected && !tracker_.settle_at();
    });
    if (done)
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "this happened:\n" << history_ << "instead of:\n" << expected;
  }

  std::map<std::string, std::string> names_;
  std::string history_;
  LifeEnded last_;
  bool adopted_ = false;
  clock::SystemClock clock_;
  LifeTracker tracker_;
  boost::asio::steady_timer settle_{loop_};
  std::optional<sdbus::SystemdUnits> units_;
  std::optional<journal::SystemdJournal> journal_;
};

const std::string kAdopted = "started a by unknown\nready a\n";

// "Late": the loop stands still until the job is over, so that the bus can no longer be asked what it was.
TEST_P(LivesTest, OperatorsStopAndStart) {
  begin("[Service]\nType=notify\nRestart=always\n" + demo_command("ready"));
  shell("systemctl stop --no-block engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by stop\n"));
  shell("systemctl start --no-block engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by stop\nstarted b by operator\nready b\n"));
}

TEST_P(LivesTest, OperatorsStopAndStartSeenLate) {
  begin("[Service]\nType=notify\nRestart=always\n" + demo_command("ready"));
  shell("systemctl stop engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by stop\n"));
  shell("systemctl start engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by stop\nstarted b by operator\nready b\n"));
}

TEST_P(LivesTest, OperatorsRestartIsNotAStop) {
  begin("[Service]\nType=notify\nRestart=always\n" + demo_command("ready"));
  shell("systemctl restart --no-block engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by restart\nstarted b by operator\nready b\n"));
}

TEST_P(LivesTest, OperatorsRestartSeenLateIsNotAStop) {
  begin("[Service]\nType=notify\nRestart=always\n" + demo_command("ready"));
  shell("systemctl restart engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by restart\nstarted b by operator\nready b\n"));
}

TEST_P(LivesTest, OurRestartIsOurs) {
  begin("[Service]\nType=notify\nRestart=always\n" + demo_command("ready"));
  tracker_.expect_own_job(true);
  const auto outcome = await(units_->restart("engine.service", Millis{10'000}, [] {}));
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(happened(kAdopted + "ended a by restart\nstarted b by firebossd\nready b\n"));
}

TEST_P(LivesTest, SlowStopOfAnEngineThatIgnoresTermIsAStop) {
  begin("[Service]\nType=notify\nRestart=always\nTimeoutStopSec=500ms\n" + demo_command("ready ignore-term"));
  shell("systemctl stop engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by stop\n"));
  EXPECT_EQ(last_.result, "timeout");
}

TEST_P(LivesTest, ExitZeroUnderRestartAlways) {
  begin("[Service]\nType=notify\nRestart=always\nRestartSec=300ms\n" +
        demo_command("ready 'log=EngineDeadError' wait=500 exit=0"));
  EXPECT_TRUE(happened(kAdopted + "ended a by death, systemd restarts\nstarted b by systemd\nready b\n"));
  EXPECT_EQ(last_.result, "success");
  EXPECT_EQ(last_.exit_status, 0);
}

TEST_P(LivesTest, ExitZeroUnderRestartOnFailureIsADeathThatNobodyHeals) {
  begin("[Service]\nType=notify\nRestart=on-failure\nRestartSec=50ms\n" +
        demo_command("ready wait=500 exit=0"));
  EXPECT_TRUE(happened(kAdopted + "ended a by death\n"));
  EXPECT_EQ(last_.result, "success");
  // systemd unloads the unit at once and its status with it; an exit of 0 is not in the journal either
  EXPECT_EQ(last_.exit_status.value_or(0), 0);
}

TEST_P(LivesTest, QuickAutoRestartWithoutAnyDelay) {
  begin("[Service]\nType=notify\nRestart=always\nRestartSec=0\n" + demo_command("ready wait=800 exit=1"));
  EXPECT_TRUE(happened(kAdopted + "ended a by death, systemd restarts\nstarted b by systemd\nready b\n"));
}

TEST_P(LivesTest, KilledByAnybody) {
  begin("[Service]\nType=notify\n" + demo_command("ready"));
  shell("systemctl kill -s KILL engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by death\n"));
  EXPECT_EQ(last_.exit_status, 137);
  EXPECT_EQ(last_.result, "signal");
}

TEST_P(LivesTest, Watchdog) {
  begin("[Service]\nType=notify\nWatchdogSec=300ms\nRestart=on-failure\nRestartSec=20s\n" +
        demo_command("ready wait=400 no-ping"));
  EXPECT_TRUE(happened(kAdopted + "ended a by death, systemd restarts\n"));
  EXPECT_EQ(last_.result, "watchdog");
}

TEST_P(LivesTest, CrashLoopIntoTheStartLimit) {
  begin(
      "[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=60\n[Service]\nType=notify\nRestart=always\n"
      "RestartSec=200ms\n" +
      demo_command("ready wait=300 exit=3"));
  EXPECT_TRUE(happened(kAdopted + "ended a by death, systemd restarts\nstarted b by systemd\nready b\n"
                                  "ended b by death, systemd restarts\nended b by death, start limit\n"));
  EXPECT_EQ(last_.result, "exit-code");  // as systemd has it: never start-limit-hit here
}

TEST_P(LivesTest, StopWhileSystemdWaitsToRestart) {
  begin("[Service]\nType=notify\nRestart=always\nRestartSec=30s\n" + demo_command("ready wait=300 exit=0"));
  EXPECT_TRUE(happened(kAdopted + "ended a by death, systemd restarts\n"));
  shell("systemctl stop engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by death, systemd restarts\nended a by stop\n"));
}

TEST_P(LivesTest, StopOfAUnitThatHasDied) {
  begin("[Service]\nType=notify\n" + demo_command("ready wait=300 exit=3"));
  EXPECT_TRUE(happened(kAdopted + "ended a by death\n"));
  shell("systemctl stop engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by death\nended a by stop\n"));
}

TEST_P(LivesTest, RestartWhoseStartFails) {
  begin("[Service]\nType=notify\nExecStartPre=/bin/sh -c 'test ! -e /run/broken'\n" + demo_command("ready"));
  shell("touch /run/broken; systemctl restart engine.service");
  EXPECT_TRUE(happened(kAdopted + "ended a by restart\nstarted b by operator\nended b by death\n"));
}

INSTANTIATE_TEST_SUITE_P(Witnesses, LivesTest, testing::Values(Witness::kBoth, Witness::kBusAlone),
                         [](const auto& p) { return p.param == Witness::kBoth ? "Both" : "BusAlone"; });

class AdoptionTest : public LivesTest {};

TEST_P(AdoptionTest, UnitThatWasStoppedBeforeWeLooked) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  shell("systemctl start engine.service; systemctl stop engine.service; journalctl --sync");
  begin("[Service]\nType=notify\n" + demo_command("ready"), false);
  EXPECT_TRUE(happened("ended a by stop\n"));
  EXPECT_EQ(last_.life.size(), 32u);
}

TEST_P(AdoptionTest, UnitThatDiedBeforeWeLooked) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready wait=50 exit=0"));
  shell(
      "systemctl start engine.service; timeout 10 sh -c 'while systemctl is-active -q engine.service; do :; "
      "done'; "
      "journalctl --sync");
  begin("[Service]\nType=notify\n" + demo_command("ready"), false);
  EXPECT_TRUE(happened("ended a by death\n"));
}

INSTANTIATE_TEST_SUITE_P(Witnesses, AdoptionTest, testing::Values(Witness::kBoth),
                         [](const auto&) { return "Both"; });

}  // namespace
}  // namespace fireboss::system_test
