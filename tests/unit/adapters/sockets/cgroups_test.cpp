#include "supervisor/adapters/sockets/cgroups.h"

#include <cstdlib>
#include <sys/stat.h>

#include <gtest/gtest.h>

namespace fireboss::sockets {
namespace {

namespace fs = std::filesystem;

TEST(FindCgroup2Test, UnifiedLayout) {
  const auto root = find_cgroup2(
      "22 27 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
      "30 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  ASSERT_TRUE(root);
  EXPECT_EQ(*root, "/sys/fs/cgroup");
}

TEST(FindCgroup2Test, HybridLayout) {
  const auto root = find_cgroup2(
      "30 22 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
      "31 30 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
      "32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  ASSERT_TRUE(root);
  EXPECT_EQ(*root, "/sys/fs/cgroup/unified");
}

TEST(FindCgroup2Test, MountOfAPartIsNotTheRoot) {
  const auto root = find_cgroup2(
      "32 30 0:28 /docker/x /mnt/part rw - cgroup2 cgroup2 rw\n"
      "33 30 0:28 / /mnt/with\\040blank rw - cgroup2 cgroup2 rw");
  ASSERT_TRUE(root);
  EXPECT_EQ(*root, "/mnt/with blank");
}

TEST(FindCgroup2Test, PureV1IsAnErrorThatNamesTheWayOut) {
  const auto root = find_cgroup2("31 30 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(root.error().message.find("listener = \"any\""), std::string::npos);
}

class CgroupTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/fireboss-cgroups-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    root_ = path;
    for (const auto* directory : {"system.slice/engine.service/worker/0", "system.slice/other.service"})
      fs::create_directories(root_ / directory);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::uint64_t id(const fs::path& directory) const {
    struct stat s {};
    EXPECT_EQ(stat((root_ / directory).c_str(), &s), 0);
    return s.st_ino;
  }
  fs::path root_;
};

TEST_F(CgroupTreeTest, TheUnitItselfAndWhatIsBelowAreWithin) {
  const std::string unit = "/system.slice/engine.service";
  EXPECT_EQ(is_within(root_, unit, id("system.slice/engine.service")), true);
  EXPECT_EQ(is_within(root_, unit, id("system.slice/engine.service/worker/0")), true);
}

TEST_F(CgroupTreeTest, OthersAndParentsAreNot) {
  const std::string unit = "/system.slice/engine.service";
  EXPECT_EQ(is_within(root_, unit, id("system.slice/other.service")), false);
  EXPECT_EQ(is_within(root_, unit, id("system.slice")), false);
  EXPECT_EQ(is_within(root_, unit, 1), false);
}

TEST_F(CgroupTreeTest, LinkOutOfTheUnitIsNotFollowed) {
  fs::create_directory_symlink(root_ / "system.slice/other.service",
                               root_ / "system.slice/engine.service/link");
  EXPECT_EQ(is_within(root_, "/system.slice/engine.service", id("system.slice/other.service")), false);
}

TEST_F(CgroupTreeTest, MissingGroupIsNotFound) {
  const auto gone = is_within(root_, "/system.slice/gone.service", 5);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
}

TEST_F(CgroupTreeTest, PathsThatNameNoUnitAreRefused) {
  for (const auto* path :
       {"", "/", "system.slice", "/..", "/system.slice/../system.slice", "/system.slice//x"}) {
    const auto refused = is_within(root_, path, 5);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << path;
  }
}

TEST_F(CgroupTreeTest, BeyondTheBoundNothingIsClaimed) {
  const std::string unit = "/system.slice/engine.service";
  for (int i = 0; i < 4'100; ++i)
    fs::create_directory(root_ / "system.slice/engine.service" / std::to_string(i));
  EXPECT_EQ(is_within(root_, unit, id("system.slice/engine.service")), true);
  const auto told = is_within(root_, unit, id("system.slice/other.service"));
  ASSERT_FALSE(told) << "whether it is below one of the others is not known";
  EXPECT_EQ(told.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(told.error().message.find("4096"), std::string::npos) << told.error().message;
}

TEST_F(CgroupTreeTest, PathOfAnId) {
  EXPECT_EQ(path_of(root_, id("system.slice/engine.service/worker")), "/system.slice/engine.service/worker");
  EXPECT_EQ(path_of(root_, id("")), "/");
  EXPECT_EQ(path_of(root_, 1), "");
}

}  // namespace
}  // namespace fireboss::sockets
