// The bus goes away and comes back, systemd is executed anew, and users who may not do a thing.
#include "supervisor/adapters/sdbus/systemd_units.h"
#include "tests/system/test_system.h"

namespace fireboss::system_test {
namespace {

using ports::ActiveState;
using ports::BusBack;
using ports::BusLost;
using ports::JobResult;
using sdbus::SystemdUnits;

class BusTest : public SystemTest {
 protected:
  void begin(const std::string& steps) {
    write_unit("engine.service", "[Service]\nType=notify\n" + demo_command(steps));
    shell("systemctl start engine.service");
    units_.emplace(loop_.get_executor(),
                   sdbus::Options{.address = "", .backoff_min = Millis{50}, .backoff_max = Millis{400}});
    units_->watch("engine.service", std::ref(news_));
    ASSERT_TRUE(until([&] { return news_.count_snapshots() > 0; }));
  }
  // BusLost, BusBack and then a snapshot, in this order and once each.
  void expect_episode() {
    ASSERT_TRUE(until([&] { return news_.count<BusBack>() == 1; }));
    const auto before = news_.count_snapshots();
    ASSERT_TRUE(until([&] { return news_.count_snapshots() > before; }));
    EXPECT_EQ(news_.count<BusLost>(), 1u);
    std::size_t lost = 0, back = 0;
    for (std::size_t i = 0; i < news_.all.size(); ++i) {
      if (std::holds_alternative<BusLost>(news_.all[i]))
        lost = i;
      if (std::holds_alternative<BusBack>(news_.all[i]))
        back = i;
    }
    EXPECT_LT(lost, back);
  }

  News news_;
  std::optional<SystemdUnits> units_;
};

TEST_F(BusTest, RestartOfTheBusIsLivedThrough) {
  begin("ready");
  const auto life = news_.last_snapshot()->invocation_id;
  ASSERT_EQ(shell("systemctl restart dbus.service").status, 0);
  expect_episode();
  EXPECT_EQ(news_.last_snapshot()->invocation_id, life);
  news_.all.clear();
  shell("systemctl restart engine.service");
  EXPECT_TRUE(until([&] {
    return news_.last_snapshot() && news_.last_snapshot()->active == ActiveState::kActive &&
           news_.last_snapshot()->invocation_id != life;
  })) << "no news after the bus came back";
  const auto outcome = await(units_->restart("engine.service", Millis{10'000}, [] {}));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->result, JobResult::kDone);
}

TEST_F(BusTest, WhileTheBusIsAwayCallsAreUnavailable) {
  begin("ready");
  shell("systemctl stop dbus.socket dbus.service");
  ASSERT_TRUE(until([&] { return news_.count<BusLost>() == 1; }));
  const auto outcome = await(units_->restart("engine.service", Millis{10'000}, [] {}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kUnavailable);
  const auto snapshot = await(units_->snapshot("engine.service"));
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kUnavailable);
  shell("systemctl start dbus.socket dbus.service");
  expect_episode();
}

TEST_F(BusTest, DaemonReexecIsLivedThrough) {
  begin("ready");
  const auto life = news_.last_snapshot()->invocation_id;
  ASSERT_EQ(shell("systemctl daemon-reexec").status, 0);
  expect_episode();
  EXPECT_EQ(news_.last_snapshot()->invocation_id, life);
  news_.all.clear();
  shell("systemctl stop engine.service");
  EXPECT_TRUE(until([&] {
    return news_.last_snapshot() && news_.last_snapshot()->active == ActiveState::kInactive;
  })) << "not subscribed again";
}

TEST_F(BusTest, JobUnderWayIsFollowedOverARestartOfTheBus) {
  begin("wait=1200 ready");
  std::optional<Result<ports::JobOutcome>> outcome;
  const auto life = news_.last_snapshot()->invocation_id;
  boost::asio::co_spawn(
      loop_, units_->restart("engine.service", Millis{20'000}, [] {}),
      [&](const std::exception_ptr&, Result<ports::JobOutcome> r) { outcome = std::move(r); });
  ASSERT_TRUE(until([&] { return news_.last_snapshot()->invocation_id != life; }));
  shell("systemctl restart dbus.service");
  ASSERT_TRUE(until([&] { return outcome.has_value(); }));
  ASSERT_TRUE(*outcome) << outcome->error().message;
  EXPECT_EQ((*outcome)->result, JobResult::kDone);
  EXPECT_EQ((*outcome)->raw, "done");
}

TEST_F(BusTest, JobThatEndedUnseenIsReadOffTheUnit) {
  begin("wait=400 ready");
  std::optional<Result<ports::JobOutcome>> outcome;
  const auto life = news_.last_snapshot()->invocation_id;
  boost::asio::co_spawn(
      loop_, units_->restart("engine.service", Millis{20'000}, [] {}),
      [&](const std::exception_ptr&, Result<ports::JobOutcome> r) { outcome = std::move(r); });
  ASSERT_TRUE(until([&] { return news_.last_snapshot()->invocation_id != life; }));
  shell("systemctl stop dbus.socket dbus.service");
  ASSERT_TRUE(until([&] { return news_.count<BusLost>() == 1; }));
  EXPECT_FALSE(outcome.has_value());
  ASSERT_EQ(shell("timeout 10 sh -c 'until systemctl is-active -q engine.service; do :; done'").status, 0);
  shell("systemctl start dbus.socket dbus.service");
  ASSERT_TRUE(until([&] { return outcome.has_value(); }));
  ASSERT_TRUE(*outcome) << outcome->error().message;
  EXPECT_EQ((*outcome)->result, JobResult::kDone);
  EXPECT_EQ((*outcome)->raw, "inferred: active");
}

TEST_F(BusTest, NobodyElsesSignalsAreBelieved) {
  begin("ready");
  const auto before = news_.all.size();
  // a broadcast by another peer, and one straight at us: the second passes every match
  const auto names = shell("busctl --no-legend list --unique | awk '/test_system/ {print $1}'").text;
  const std::string emit = "dbus-send --system --type=signal ";
  const std::string body =
      " /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager.JobRemoved uint32:77 "
      "objpath:/org/freedesktop/systemd1/job/77 string:engine.service string:done";
  shell(emit + body);
  for (std::size_t at = 0, end = 0; (end = names.find('\n', at)) != std::string::npos; at = end + 1)
    shell(emit + "--dest=" + names.substr(at, end - at) + body);
  EXPECT_FALSE(names.empty());
  const auto snapshot = await(units_->snapshot("engine.service"));  // a round trip behind them
  ASSERT_TRUE(snapshot);
  for (auto i = before; i < news_.all.size(); ++i)
    EXPECT_FALSE(std::holds_alternative<ports::JobSeen>(news_.all[i]));
}

class PolkitTest : public SystemTest {
 protected:
  static Output as(const std::string& user, const std::string& what) {
    return shell("setpriv --reuid=" + user + " --regid=" + user + " --init-groups --reset-env " +
                 UNIT_CLIENT + " " + what);
  }
  void SetUp() override {
    for (const auto* name : {"engine.service", "other.service"})
      write_unit(name, "[Service]\nType=notify\n" + demo_command("ready"));
    shell("systemctl start engine.service other.service");
  }
};

TEST_F(PolkitTest, WatcherMayRestartStartAndResetItsUnit) {
  EXPECT_EQ(as("watcher", "restart engine.service").text, "ok done\n");
  EXPECT_EQ(as("watcher", "start engine.service").text, "ok done\n");
  EXPECT_EQ(as("watcher", "reset-failed engine.service").text, "ok reset\n");
  EXPECT_EQ(as("watcher", "snapshot engine.service").text, "ok running\n");
}

TEST_F(PolkitTest, WatcherMayNotTouchAnotherUnitAndIsToldWhy) {
  const auto life = property("other.service", "InvocationID");
  for (const auto* verb : {"restart", "start", "reset-failed"}) {
    const auto out = as("watcher", std::string(verb) + " other.service");
    EXPECT_EQ(out.text.substr(0, 7), "denied ") << out.text;
    EXPECT_NE(out.text.find("polkit"), std::string::npos) << out.text;
    EXPECT_NE(out.text.find("other.service"), std::string::npos) << out.text;
  }
  EXPECT_EQ(property("other.service", "InvocationID"), life);
}

TEST_F(PolkitTest, WatcherMayNotUseAnyOtherVerbOnItsUnit) {
  const auto life = property("engine.service", "InvocationID");
  const auto call = [](const std::string& arguments) {
    return shell(
        "setpriv --reuid=watcher --regid=watcher --init-groups --reset-env busctl call "
        "org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager " +
        arguments);
  };
  for (const auto* refused :
       {"St"
        "opUnit ss engine.service replace",
        "KillUnit ssi engine.service main 9", "ReloadOrRestartUnit ss engine.service replace",
        "SetUnitProperties 'sba(sv)' engine.service true 1 CPUWeight t 50",
        "StartTransientUnit 'ssa(sv)a(sa(sv))' engine2.service fail 0 0", "Reload",
        "SetEnvironment as 1 A=b"}) {
    const auto out = call(refused);
    EXPECT_NE(out.status, 0) << refused;
    EXPECT_TRUE(out.text.find("denied") != std::string::npos ||
                out.text.find("nteractive auth") != std::string::npos)
        << refused << ": " << out.text;
  }
  EXPECT_EQ(property("engine.service", "InvocationID"), life);
  EXPECT_EQ(property("engine.service", "ActiveState"), "active");
}

TEST_F(PolkitTest, StrangerMayLookButNotTouch) {
  EXPECT_EQ(as("stranger", "snapshot engine.service").text, "ok running\n");
  const auto out = as("stranger", "restart engine.service");
  EXPECT_EQ(out.text.substr(0, 7), "denied ") << out.text;
}

}  // namespace
}  // namespace fireboss::system_test
