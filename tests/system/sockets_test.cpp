// Who listens on the port: needs real units in real control groups.
#include "supervisor/adapters/sdbus/systemd_units.h"
#include "supervisor/adapters/sockets/kernel_sockets.h"
#include "tests/system/test_system.h"

namespace fireboss::system_test {
namespace {

constexpr std::uint16_t kPort = 8123;

class ListenerTest : public SystemTest {
 protected:
  void start(const std::string& name, const std::string& steps) {
    write_unit(name, "[Service]\nType=notify\n" + demo_command(steps));
    const auto started = shell("systemctl start " + name);
    ASSERT_EQ(started.status, 0) << started.text;
  }
  sockets::KernelSockets sockets_;
};

TEST_F(ListenerTest, ListenerOfTheUnitIsOurs) {
  start("engine.service", "listen=8123 ready");
  const auto found = sockets_.listeners(kPort);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(sockets_.belongs(found->front(), property("engine.service", "ControlGroup")), true);
  EXPECT_EQ(sockets_.control_group_of(found->front()), property("engine.service", "ControlGroup"));
}

TEST_F(ListenerTest, ListenerInASubgroupOfTheUnitIsOurs) {
  write_unit("engine.service",
             "[Service]\nType=notify\nNotifyAccess=all\nDelegate=yes\nExecStart=/bin/sh -c "
             "'g=/sys/fs/cgroup; test -d "
             "$g/unified && g=$g/unified; mkdir $g/system.slice/engine.service/workers; echo 0 "
             ">$g/system.slice/engine.service/workers/cgroup.procs; exec " +
                 std::string(DEMO_UNIT) + " listen=8123 ready'\n");
  ASSERT_EQ(shell("systemctl start engine.service").status, 0);
  const auto found = sockets_.listeners(kPort);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(sockets_.belongs(found->front(), "/system.slice/engine.service"), true);
  EXPECT_EQ(sockets_.control_group_of(found->front()), "/system.slice/engine.service/workers");
}

TEST_F(ListenerTest, ForeignProcessOnThePortIsNotOursAndIsNamed) {
  start("stranger.service", "listen=8123 ready");
  start("engine.service", "ready");
  const auto found = sockets_.listeners(kPort);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(sockets_.belongs(found->front(), property("engine.service", "ControlGroup")), false);
  EXPECT_EQ(sockets_.control_group_of(found->front()), "/system.slice/stranger.service");
}

TEST_F(ListenerTest, UnitThatIsDownHasNoControlGroup) {
  start("stranger.service", "listen=8123 ready");
  const auto found = sockets_.listeners(kPort);
  ASSERT_TRUE(found);
  const auto told = sockets_.belongs(found->front(), "/system.slice/engine.service");
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::kNotFound);
}

TEST_F(ListenerTest, UnprivilegedUserIsToldTheSame) {
  start("engine.service", "listen=8123 ready");
  const std::string as_stranger = "setpriv --reuid=stranger --regid=stranger --init-groups --reset-env " +
                                  std::string(UNIT_CLIENT) + " listener ";
  EXPECT_EQ(shell(as_stranger + "engine.service 8123").text, "ok ours /system.slice/engine.service\n");
  write_unit("other.service", "[Service]\nType=notify\n" + demo_command("ready"));
  shell("systemctl start other.service");
  EXPECT_EQ(shell(as_stranger + "other.service 8123").text, "ok foreign /system.slice/engine.service\n");
}

}  // namespace
}  // namespace fireboss::system_test
