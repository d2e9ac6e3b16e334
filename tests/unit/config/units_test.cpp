// The shipped units, as systemd itself reads them.
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/config_fixture.h"

extern char** environ;

namespace fireboss::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Ran {
  int status = -1;     // of waitpid
  std::string output;  // standard output and error together
};

std::optional<Ran> run(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const auto& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(fds[1]);
  Ran ran;
  char buffer[4096];
  for (ssize_t got = 0; error == 0 && (got = ::read(fds[0], buffer, sizeof buffer)) > 0;)
    ran.output.append(buffer, static_cast<std::size_t>(got));
  ::close(fds[0]);
  if (error != 0 || ::waitpid(pid, &ran.status, 0) != pid)
    return std::nullopt;
  return ran;
}

class UnitsTest : public ConfigTest {
 protected:
  void SetUp() override {
    const auto version = run({"systemd-analyze", "--version"});
    if (!version || version->status != 0)
      GTEST_SKIP() << "skipped: there is no systemd-analyze on this machine (Debian package systemd)";
  }
  static std::string text_of(const std::string& unit) {
    std::ifstream in(std::string(FIREBOSS_SOURCE_DIR) + "/units/" + unit, std::ios::binary);
    EXPECT_TRUE(in) << unit;
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The unit with a program that exists in place of one that is not installed on this machine.
  std::string placed(const std::string& unit) {
    auto text = text_of(unit);
    const std::string program = "ExecStart=/usr/bin/fireboss";
    const auto at = text.find("\n" + program);
    EXPECT_NE(at, std::string::npos);
    const auto end = text.find_first_of(" \n", at + 1);
    text.replace(at + 1, end - at - 1, "ExecStart=/bin/true");
    return put(unit, text);
  }
};

TEST_F(UnitsTest, HoldNothingThatSystemdFindsFaultWith) {
  for (const auto* unit : {"firebossd.service", "fireboss-engine.service"}) {
    const auto ran = run({"systemd-analyze", "verify", "--man=no", placed(unit)});
    ASSERT_TRUE(ran);
    EXPECT_EQ(ran->output, "") << unit;
    EXPECT_EQ(ran->status, 0) << unit;
  }
}

TEST_F(UnitsTest, AreExposedToNoMoreThanTwoOfTen) {
  for (const auto* unit : {"firebossd.service", "fireboss-engine.service"}) {
    const auto ran =
        run({"systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", placed(unit)});
    ASSERT_TRUE(ran);
    EXPECT_EQ(ran->status, 0) << ran->output;
    EXPECT_THAT(ran->output, HasSubstr("Overall exposure level for " + std::string(unit)));
  }
}

TEST_F(UnitsTest, OfTheDaemonHonourItsWordNotToBeStartedAgain) {
  const auto text = text_of("firebossd.service");
  EXPECT_THAT(text, HasSubstr("\nRestart=always\n"));
  EXPECT_THAT(text, HasSubstr("\nRestartPreventExitStatus=78\n"));
  EXPECT_THAT(text, HasSubstr("\nStartLimitIntervalSec=0\n"));
  std::ifstream main(std::string(FIREBOSS_SOURCE_DIR) + "/supervisor/daemon/main.cpp");
  const std::string source((std::istreambuf_iterator<char>(main)), {});
  EXPECT_THAT(source, HasSubstr("kExitConfig = 78;")) << "unit and program must name the same status";
}

TEST_F(UnitsTest, LeaveEnginesAloneWhenTheDaemonGoes) {
  const auto text = text_of("fireboss-engine.service");
  for (const auto* tie : {"BindsTo=", "PartOf=", "Requires=", "Requisite="})
    EXPECT_THAT(text, Not(HasSubstr(tie)));
}

// Into a folder of its own: nothing of the machine is touched.
TEST_F(UnitsTest, MakeTheUserAndTheFoldersThatTheyNeed) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "skipped: only root can make users and folders of other owners, even below a folder";
  std::filesystem::create_directories(folder_ + "/etc");
  std::filesystem::create_directories(folder_ + "/usr/lib/sysusers.d");
  const auto units = std::string(FIREBOSS_SOURCE_DIR) + "/units/";
  const auto users = run({"systemd-sysusers", "--root=" + folder_, units + "fireboss.sysusers"});
  ASSERT_TRUE(users);
  EXPECT_EQ(users->status, 0) << users->output;
  put("etc/fireboss/fireboss.toml", "");
  const auto folders =
      run({"systemd-tmpfiles", "--root=" + folder_, "--create", units + "fireboss.tmpfiles"});
  ASSERT_TRUE(folders);
  EXPECT_EQ(folders->status, 0) << folders->output;

  std::ifstream group(folder_ + "/etc/group");
  const std::string groups((std::istreambuf_iterator<char>(group)), {});
  const auto at = groups.find("fireboss:x:");
  ASSERT_NE(at, std::string::npos) << groups;
  const auto gid = static_cast<gid_t>(std::stoul(groups.substr(at + 11)));
  struct Wanted {
    const char* path;
    mode_t mode;
    gid_t group;
  };
  for (const auto& wanted :
       {Wanted{"/etc/fireboss", 0750, gid}, Wanted{"/etc/fireboss/conf.d", 0750, gid},
        Wanted{"/etc/fireboss/credentials", 0700, 0}, Wanted{"/etc/fireboss/fireboss.toml", 0640, gid}}) {
    struct stat info {};
    ASSERT_EQ(::stat((folder_ + wanted.path).c_str(), &info), 0) << wanted.path;
    EXPECT_EQ(info.st_mode & 07777, wanted.mode) << wanted.path;
    EXPECT_EQ(info.st_uid, 0U) << wanted.path;
    EXPECT_EQ(info.st_gid, wanted.group) << wanted.path;
  }
}

}  // namespace
}  // namespace fireboss::config
