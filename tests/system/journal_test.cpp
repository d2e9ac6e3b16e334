// The journal adapter against a real journald.
#include <algorithm>
#include <fstream>
#include <map>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/adapters/journal/systemd_journal.h"
#include "tests/system/test_system.h"

namespace fireboss::system_test {
namespace {

using journal::SystemdJournal;
using ports::JournalLine;

class JournalTest : public SystemTest {
 protected:
  void SetUp() override { journal_.emplace(loop_.get_executor()); }

  void start(const std::string& steps) {
    write_unit("engine.service", "[Service]\nType=notify\n" + demo_command(steps));
    ASSERT_EQ(shell("systemctl start engine.service").status, 0);
    life_ = property("engine.service", "InvocationID");
  }
  void follow(const std::string& life, WallTime since = WallTime{}) {
    const auto done = journal_->follow(
        "engine.service", life, since, [this](const JournalLine& line) { lines_.push_back(line); },
        [this](const Error& error) { errors_.push_back(error); });
    ASSERT_TRUE(done) << done.error().message;
  }
  bool until_line(const std::string& text) {
    return until([&] { return count(text) > 0; });
  }
  std::size_t count(const std::string& text) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        lines_, [&](const JournalLine& line) { return line.message.find(text) != std::string::npos; }));
  }
  const JournalLine& line(const std::string& text) const {
    for (const auto& l : lines_)
      if (l.message.find(text) != std::string::npos)
        return l;
    static const JournalLine none;
    ADD_FAILURE() << "no line with '" << text << "'";
    return none;
  }

  static constexpr const char* kStarted = "39f53479d3a045ac8e11786248231fbf";

  std::vector<JournalLine> lines_;
  std::vector<Error> errors_;
  std::string life_;
  std::optional<SystemdJournal> journal_;
};

TEST_F(JournalTest, ShowsTheLifesOwnLinesAndTheManagersAboutIt) {
  start("log=hello ready");
  follow(life_);
  ASSERT_TRUE(until_line("Started engine.service"));
  const auto& own = line("hello");
  EXPECT_EQ(own.invocation_id, life_);
  EXPECT_EQ(own.unit, "engine.service");
  EXPECT_FALSE(own.from_manager);
  EXPECT_EQ(std::to_string(own.pid), property("engine.service", "MainPID"));
  const auto& started = line("Started engine.service");
  EXPECT_TRUE(started.from_manager);
  EXPECT_EQ(started.unit, "engine.service");
  EXPECT_EQ(started.invocation_id, life_);
  EXPECT_EQ(started.job_type, "start");
  EXPECT_EQ(started.message_id, kStarted);
}

TEST_F(JournalTest, ShowsNothingOfTheNextLifeButTheManagersLines) {
  start("log=own-line ready");
  follow(life_);
  ASSERT_TRUE(until_line("own-line"));
  ASSERT_EQ(shell("systemctl restart engine.service").status, 0);
  const auto next = property("engine.service", "InvocationID");
  ASSERT_TRUE(until([&] {
    return std::ranges::any_of(
        lines_, [&](const auto& l) { return l.invocation_id == next && l.message_id == kStarted; });
  }));
  EXPECT_EQ(count("own-line"), 1u);
  EXPECT_EQ(line("Stopped engine.service").job_type, "restart");
}

TEST_F(JournalTest, OtherUnitsCannotPassForTheManager) {
  start("ready");
  follow(life_);
  ASSERT_TRUE(until_line("Started engine.service"));
  // the native protocol lets anybody write UNIT=, but not _PID=
  shell("printf 'MESSAGE=Stopped engine.service - forged\\nUNIT=engine.service\\nINVOCATION_ID=" + life_ +
        "\\nJOB_TYPE=stop\\nMESSAGE_ID=9d1aaa27d60140bd96365438aad20286\\n' | logger --journald");
  shell("systemctl stop engine.service");
  ASSERT_TRUE(until_line("Stopped engine.service."));
  EXPECT_EQ(count("forged"), 0u);
}

TEST_F(JournalTest, ChangeOfLifeNeitherLosesNorRepeatsALine) {
  start("log=first-life ready");
  follow(life_);
  ASSERT_TRUE(until_line("Started engine.service"));
  const auto before = lines_.size();
  ASSERT_EQ(shell("systemctl restart engine.service").status, 0);
  life_ = property("engine.service", "InvocationID");
  const clock::SystemClock now;
  follow(life_, now.wall());  // later than the new life's first lines
  ASSERT_TRUE(until([&] {
    return std::ranges::any_of(
        lines_, [&](const auto& l) { return l.invocation_id == life_ && l.message_id == kStarted; });
  }));
  EXPECT_EQ(count("Started engine.service"), 2u);
  EXPECT_EQ(count("Stopping engine.service"), 1u);
  std::map<std::string, int> own;
  for (const auto& l : lines_)
    if (l.message == "first-life")
      ++own[l.invocation_id];
  EXPECT_EQ(own.size(), 2u);
  EXPECT_EQ(own[life_], 1);
  EXPECT_GT(lines_.size(), before);
}

TEST_F(JournalTest, FollowSurvivesRotationAndARestartOfJournald) {
  start("ready");
  follow(life_);
  const auto say = [&](std::size_t expected) {
    shell("systemctl kill -s USR1 --kill-whom=main engine.service");
    return until([&] { return count("usr1") == expected; });
  };
  EXPECT_TRUE(say(1));
  ASSERT_EQ(shell("journalctl --rotate").status, 0);
  EXPECT_TRUE(say(2));
  ASSERT_EQ(shell("systemctl restart systemd-journald").status, 0);
  EXPECT_TRUE(say(3));
  ASSERT_EQ(shell("journalctl --rotate --vacuum-files=1").status, 0);  // the first lines' file is gone
  EXPECT_TRUE(say(4));
  shell("systemctl stop engine.service");
  EXPECT_TRUE(until_line("Stopped engine.service"));
  EXPECT_EQ(count("Started engine.service"), 1u);
  EXPECT_TRUE(errors_.empty());
}

TEST_F(JournalTest, KernelLinesAboutGpusAndKilledProcessesComeThroughOthersDoNot) {
  // journald reads the kernel's ring from /dev/kmsg; the container has none, so a FIFO can be one
  ASSERT_EQ(
      shell("test ! -e /dev/kmsg && mkfifo -m 600 /dev/kmsg && systemctl restart systemd-journald").status,
      0);
  start("ready");
  follow(life_);
  std::ofstream kmsg("/dev/kmsg", std::ios::app);
  const auto print = [&](int serial, const std::string& text) {
    kmsg << "4," << serial << ",1000000,-;" << text << "\n" << std::flush;
    shell("journalctl --sync");  // one record a read
  };
  print(1, "usb 1-1: new high-speed USB device number 2");
  print(2, "NVRM: Xid (PCI:0000:41:00): 79, pid=250, name=python3, GPU has fallen off the bus.");
  print(3, "Out of memory: Killed process 3742 (VLLM::Worker_TP1) total-vm:81306880kB, anon-rss:61058560kB");
  kmsg.close();
  EXPECT_TRUE(until_line("Out of memory"));
  EXPECT_EQ(count("usb"), 0u);
  const auto& xid = line("NVRM: Xid");
  EXPECT_TRUE(xid.from_kernel);
  EXPECT_FALSE(xid.from_manager);
  EXPECT_EQ(xid.invocation_id, "");
  EXPECT_EQ(xid.priority, 4);
  shell("rm /dev/kmsg");
}

TEST_F(JournalTest, FloodIsTakenInTurnsSoThatTimersStillRun) {
  start("ready wait=300000");
  // It lives on: of a unit that has ended journald may not learn the invocation any more.
  ASSERT_EQ(shell("systemd-run -q --unit=flood.service sh -c 'seq 5000; exec sleep infinity'").status, 0);
  std::string flood;
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
       flood.find("\"5000\"") == std::string::npos && std::chrono::steady_clock::now() < end;)
    flood = shell("journalctl --sync; journalctl -q -o json -u flood.service _TRANSPORT=stdout -n 1").text;
  const auto at = flood.find("\"_SYSTEMD_INVOCATION_ID\":\"");
  ASSERT_NE(at, std::string::npos) << flood;
  follow(flood.substr(at + 26, 32));
  std::size_t turns = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (lines_.size() < 5'000 && std::chrono::steady_clock::now() < end) {
    const auto before = lines_.size();
    loop_.restart();
    loop_.run_one_until(end);
    EXPECT_LE(lines_.size() - before, 256u);
    ++turns;
  }
  EXPECT_GE(lines_.size(), 5'000u);
  EXPECT_GE(turns, 5'000u / 256);
}

TEST_F(JournalTest, TailHasWhatClaimsToBeAnErrorOldestFirst) {
  start(
      "'log=INFO 11-29 12:00:00 [core.py:1] fine' 'log=WARNING 11-29 12:00:00 [core.py:2] first' "
      "'log=ERROR 11-29 12:00:00 [core.py:3] second' ready");
  shell("journalctl --sync");
  const auto tail = journal_->tail("engine.service", life_, 4, 10);
  ASSERT_TRUE(tail) << tail.error().message;
  ASSERT_EQ(tail->lines.size(), 2u);
  EXPECT_TRUE(tail->whole);
  EXPECT_GE(tail->looked_at, 3u);
  EXPECT_NE(tail->lines.at(0).message.find("first"), std::string::npos);
  EXPECT_EQ(tail->lines.at(0).priority, 4);
  EXPECT_NE(tail->lines.at(1).message.find("second"), std::string::npos);
  EXPECT_EQ(tail->lines.at(1).priority, 3);
  EXPECT_EQ(journal_->tail("engine.service", life_, 4, 1)->lines.front().message, tail->lines.at(1).message);
}

TEST_F(JournalTest, TailThatTakesTooLongEndsAndSaysSo) {
  start("log=WARNING-a log=WARNING-b ready");
  shell("journalctl --sync");
  SystemdJournal hurried(loop_.get_executor(), {}, Millis{0});
  const auto tail = hurried.tail("engine.service", life_, 7, 10);
  ASSERT_TRUE(tail) << tail.error().message;
  EXPECT_FALSE(tail->whole);
  EXPECT_EQ(tail->looked_at, 0u);
  EXPECT_TRUE(tail->lines.empty());
}

TEST_F(JournalTest, ManagerTailTellsHowEarlierLivesEnded) {
  start("ready");
  shell("systemctl restart engine.service; systemctl stop engine.service; journalctl --sync");
  const auto tail = journal_->manager_tail("engine.service", 50);
  ASSERT_TRUE(tail);
  std::string ends;
  for (const auto& l : *tail)
    if (l.message_id == "9d1aaa27d60140bd96365438aad20286")
      ends += l.job_type + " ";
  EXPECT_EQ(ends, "restart stop ");
}

TEST_F(JournalTest, CoversSinceTheOldestEntry) {
  const clock::SystemClock clock;
  const auto since = journal_->covers_since();
  ASSERT_TRUE(since) << since.error().message;
  EXPECT_LT(*since, clock.wall());
  EXPECT_GT(*since, clock.wall() - Millis{60'000});  // this system's journal began with its boot
}

TEST_F(JournalTest, StrangerIsToldWhichGroupIsMissing) {
  const auto out = shell("setpriv --reuid=stranger --regid=stranger --init-groups --reset-env " +
                         std::string(UNIT_CLIENT) + " journal engine.service");
  EXPECT_EQ(out.text.substr(0, 7), "denied ") << out.text;
  EXPECT_NE(out.text.find("systemd-journal"), std::string::npos) << out.text;
}

}  // namespace
}  // namespace fireboss::system_test
