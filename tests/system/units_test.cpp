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
  EXPECT_EQ(now->notify_access, "main");
  EXPECT_FALSE(now->need_daemon_reload);
  EXPECT_EQ(now->active_enter.time_since_epoch().count(),
            std::stoll(property("engine.service", "ActiveEnterTimestampMonotonic")) / 1000);
  EXPECT_GE(now->active_enter, now->inactive_exit);
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

}  // namespace
}  // namespace fireboss::system_test
