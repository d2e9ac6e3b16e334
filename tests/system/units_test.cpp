// The sd-bus adapter against a real systemd: what a job's end means, and what is seen of a unit.
#include "supervisor/adapters/sdbus/systemd_units.h"
#include "tests/system/test_system.h"

namespace fireboss::system_test {
namespace {

using ports::ActiveState;
using ports::JobResult;
using sdbus::SystemdUnits;

class UnitsTest : public SystemTest {
 protected:
  void SetUp() override {
    units_.emplace(loop_.get_executor());
    units_->watch("engine.service", std::ref(news_));
  }
  bool until_active(const std::string& sub_state) {
    return until(
        [&] { return news_.last_snapshot() != nullptr && news_.last_snapshot()->sub_state == sub_state; });
  }
  Result<ports::JobOutcome> restart(Millis deadline = Millis{20'000}) {
    return await(units_->restart("engine.service", deadline, [this] { ++sent_; }));
  }

  News news_;
  int sent_ = 0;
  std::optional<SystemdUnits> units_;
};

TEST_F(UnitsTest, SnapshotOfARunningUnitAgreesWithSystemctl) {
  write_unit("engine.service",
             "[Service]\nType=notify\nRestart=always\n" + demo_command("ready 'log=two words'"));
  ASSERT_EQ(shell("systemctl start engine.service").status, 0);
  ASSERT_TRUE(until_active("running"));
  const auto now = await(units_->snapshot("engine.service"));
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->load_state, "loaded");
  EXPECT_EQ(now->active, ActiveState::kActive);
  EXPECT_EQ(now->invocation_id, property("engine.service", "InvocationID"));
  EXPECT_EQ(now->invocation_id.size(), 32u);
  EXPECT_EQ(now->type, "notify");
  EXPECT_EQ(now->restart, "always");
  EXPECT_EQ(now->result, "success");
  EXPECT_EQ(std::to_string(now->main_pid), property("engine.service", "MainPID"));
  EXPECT_EQ(now->n_restarts, 0u);
  EXPECT_EQ(now->control_group, "/system.slice/engine.service");
  EXPECT_EQ(now->exec_start, (std::vector<std::string>{DEMO_UNIT, "ready", "log=two words"}));
  EXPECT_EQ(now->fragment_path, "/run/systemd/system/engine.service");
}

TEST_F(UnitsTest, RestartThatSucceedsIsDoneAndMakesANewLife) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  shell("systemctl start engine.service");
  const auto before = property("engine.service", "InvocationID");
  ASSERT_TRUE(until_active("running"));
  const auto outcome = restart();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->result, JobResult::kDone);
  EXPECT_EQ(sent_, 1);
  EXPECT_NE(property("engine.service", "InvocationID"), before);
  ASSERT_TRUE(until([&] { return news_.jobs().size() >= 2; }));
  const auto jobs = news_.jobs();
  EXPECT_EQ(jobs.front().type, "restart");
  EXPECT_TRUE(jobs.front().ours);
  EXPECT_FALSE(jobs.front().ended);
  EXPECT_TRUE(jobs.back().ended);
  EXPECT_TRUE(jobs.back().ours);
  EXPECT_EQ(jobs.back().result, "done");
}

TEST_F(UnitsTest, JobOfAStartThatFailsIsFailed) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("exit=3"));
  ASSERT_TRUE(until_active("dead"));
  const auto outcome = await(units_->start("engine.service", Millis{20'000}, [] {}));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->result, JobResult::kFailed);
}

TEST_F(UnitsTest, StartThatSystemdCutsOffIsFailedWithResultTimeout) {
  write_unit("engine.service",
             "[Service]\nType=notify\nTimeoutStartSec=300ms\n" + demo_command("wait=60000"));
  ASSERT_TRUE(until_active("dead"));
  const auto outcome = await(units_->start("engine.service", Millis{20'000}, [] {}));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->result, JobResult::kFailed);
  ASSERT_TRUE(until_active("failed"));
  EXPECT_EQ(news_.last_snapshot()->result, "timeout");
}

TEST_F(UnitsTest, JobTimeoutIsTimeout) {
  write_unit("slow.service", "[Service]\nType=notify\n" + demo_command("wait=60000"));
  write_unit("engine.service", "[Unit]\nAfter=slow.service\nJobTimeoutSec=300ms\n[Service]\nType=notify\n" +
                                   demo_command("ready"));
  ASSERT_TRUE(until_active("dead"));
  shell("systemctl start --no-block slow.service");
  const auto outcome = await(units_->start("engine.service", Millis{20'000}, [] {}));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->result, JobResult::kTimeout);
}

TEST_F(UnitsTest, StartCanceledByAStopIsCanceled) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("wait=60000"));
  ASSERT_TRUE(until_active("dead"));
  std::optional<Result<ports::JobOutcome>> outcome;
  boost::asio::co_spawn(
      loop_, units_->start("engine.service", Millis{20'000}, [] {}),
      [&](const std::exception_ptr&, Result<ports::JobOutcome> r) { outcome = std::move(r); });
  ASSERT_TRUE(until_active("start"));
  shell("systemctl stop engine.service");
  ASSERT_TRUE(until([&] { return outcome.has_value(); }));
  ASSERT_TRUE(*outcome) << outcome->error().message;
  EXPECT_EQ((*outcome)->result, JobResult::kCanceled);
}

TEST_F(UnitsTest, StartThatLacksWhatItRequiresIsDependency) {
  write_unit("needed.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n");
  write_unit("engine.service",
             "[Unit]\nRequires=needed.service\nAfter=needed.service\n[Service]\nType=notify\n" +
                 demo_command("ready"));
  ASSERT_TRUE(until_active("dead"));
  const auto outcome = await(units_->start("engine.service", Millis{20'000}, [] {}));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->result, JobResult::kDependency);
}

TEST_F(UnitsTest, OurWaitingEndsAtItsDeadlineAndTheJobGoesOn) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("wait=1500 ready"));
  ASSERT_TRUE(until_active("dead"));
  const auto outcome = await(units_->start("engine.service", Millis{300}, [] {}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(until_active("running"));
}

TEST_F(UnitsTest, QueuedStopJobRefusesOurRestart) {
  write_unit("engine.service",
             "[Service]\nType=notify\nTimeoutStopSec=3s\n" + demo_command("ready ignore-term"));
  shell("systemctl start engine.service");
  ASSERT_TRUE(until_active("running"));
  shell("systemctl stop --no-block engine.service");
  ASSERT_TRUE(until_active("stop-sigterm"));
  const auto outcome = restart();
  ASSERT_FALSE(outcome) << outcome->raw;
  EXPECT_EQ(outcome.error().code, ErrorCode::kBusy);
  EXPECT_NE(outcome.error().message.find("RestartUnit engine.service"), std::string::npos);
  ASSERT_TRUE(
      until([&] { return news_.last_snapshot()->active == ActiveState::kFailed; }));  // killed after 3 s
  EXPECT_EQ(property("engine.service", "ActiveState"), "failed");
}

TEST_F(UnitsTest, UnknownUnitIsNotFound) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  ASSERT_TRUE(until_active("dead"));
  const auto snapshot = await(units_->snapshot("nosuch.service"));
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kNotFound);
  const auto outcome = await(units_->restart("nosuch.service", Millis{5'000}, [] {}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kNotFound);
  EXPECT_NE(outcome.error().message.find("nosuch.service"), std::string::npos);
}

TEST_F(UnitsTest, NameThatIsNoUnitsIsAnErrorToo) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  ASSERT_TRUE(until_active("dead"));
  EXPECT_FALSE(await(units_->snapshot("no unit; at all")));
  EXPECT_FALSE(await(units_->restart("no unit; at all", Millis{5'000}, [] {})));
}

TEST_F(UnitsTest, WatchdogDeathIsSeenWithItsResult) {
  write_unit("engine.service",
             "[Service]\nType=notify\nWatchdogSec=300ms\n" + demo_command("ready wait=400 no-ping"));
  shell("systemctl start engine.service");
  ASSERT_TRUE(until_active("failed"));
  EXPECT_EQ(news_.last_snapshot()->result, "watchdog");
  EXPECT_EQ(news_.last_snapshot()->exec_main_code, 2);
  EXPECT_EQ(news_.last_snapshot()->exec_main_status, 6);  // SIGABRT
}

TEST_F(UnitsTest, ResetFailedClearsTheStartLimit) {
  write_unit("engine.service",
             "[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=60\n[Service]\nType=notify\nRestart=always\n"
             "RestartSec=20ms\n" +
                 demo_command("ready wait=40 exit=3"));
  shell("systemctl start engine.service");
  ASSERT_TRUE(
      until([&] { return news_.last_snapshot() && news_.last_snapshot()->active == ActiveState::kFailed; }));
  const auto refused = await(units_->start("engine.service", Millis{10'000}, [] {}));
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->result, JobResult::kFailed);
  ASSERT_TRUE(await(units_->reset_failed("engine.service")));
  const auto started = await(units_->start("engine.service", Millis{10'000}, [] {}));
  ASSERT_TRUE(started);
  EXPECT_EQ(started->result, JobResult::kDone);
}

TEST_F(UnitsTest, DependentsThatARestartWouldReachAreNamed) {
  write_unit("bound.service",
             "[Unit]\nBindsTo=engine.service\nAfter=engine.service\n[Service]\nExecStart=/bin/sleep 99\n");
  write_unit("part.service", "[Unit]\nPartOf=bound.service\n[Service]\nExecStart=/bin/sleep 99\n");
  write_unit("idle.service", "[Unit]\nRequires=engine.service\n[Service]\nExecStart=/bin/sleep 99\n");
  write_unit("wanting.service", "[Unit]\nWants=engine.service\n[Service]\nExecStart=/bin/sleep 99\n");
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  shell("systemctl start engine.service bound.service part.service wanting.service");
  shell("systemctl show -p LoadState idle.service");  // loaded, so that its Requires= is known, but down
  ASSERT_TRUE(until_active("running"));
  const auto now = await(units_->snapshot("engine.service"));
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->dependents, (std::vector<std::string>{"bound.service", "part.service"}));
}

TEST_F(UnitsTest, ProcessesOfTheUnit) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  shell("systemctl start engine.service");
  ASSERT_TRUE(until_active("running"));
  const auto processes = await(units_->processes("engine.service"));
  ASSERT_TRUE(processes) << processes.error().message;
  ASSERT_EQ(processes->size(), 1u);
  EXPECT_EQ(processes->front().pid, news_.last_snapshot()->main_pid);
  EXPECT_NE(processes->front().command.find("demo_unit"), std::string::npos);
  EXPECT_EQ(processes->front().control_group, "/system.slice/engine.service");
}

TEST_F(UnitsTest, OperatorsJobsAreSeenAndAreNotOurs) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  shell("systemctl start engine.service");
  ASSERT_TRUE(until_active("running"));
  news_.all.clear();
  shell("systemctl stop engine.service");
  ASSERT_TRUE(until([&] { return !news_.jobs().empty() && news_.jobs().back().ended; }));
  EXPECT_EQ(news_.jobs().back().result, "done");
  EXPECT_FALSE(news_.jobs().back().ours);
  // asked in time its type is known; too late it is unknown, never another one
  EXPECT_TRUE(news_.jobs().back().type == "stop" || news_.jobs().back().type.empty())
      << news_.jobs().back().type;
}

TEST_F(UnitsTest, DropInsAndAPendingReloadAreSeen) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  shell(
      "mkdir -p /run/systemd/system/engine.service.d; printf '[Service]\\nRestart=always\\n' "
      ">/run/systemd/system/engine.service.d/50-x.conf; systemctl daemon-reload; systemctl start "
      "engine.service");
  ASSERT_TRUE(until_active("running"));
  EXPECT_EQ(news_.last_snapshot()->drop_ins,
            (std::vector<std::string>{"/run/systemd/system/engine.service.d/50-x.conf"}));
  EXPECT_EQ(news_.last_snapshot()->restart, "always");
}

TEST_F(UnitsTest, DaemonReloadBringsAFreshSnapshot) {
  write_unit("engine.service", "[Service]\nType=notify\n" + demo_command("ready"));
  shell("systemctl start engine.service");
  ASSERT_TRUE(until_active("running"));
  write_unit("engine.service", "[Service]\nType=notify\nRestart=on-failure\n" + demo_command("ready"));
  EXPECT_TRUE(until([&] { return news_.last_snapshot()->restart == "on-failure"; }));
}

}  // namespace
}  // namespace fireboss::system_test
