#include "supervisor/adapters/sqlite/lock.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/sqlite/sqlite_fixture.h"

namespace fireboss::sqlite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using LockTest = SqliteTest;

TEST_F(LockTest, TheSecondIsRefusedAndToldWhoIsFirst) {
  const auto first = lock_database(path_, "firebossd, engines: vllm, llama");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = lock_database(path_, "firebossd, engines: other");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr("database " + path_), HasSubstr("pid " + std::to_string(::getpid())),
                    HasSubstr("engines: vllm, llama")));
}

TEST_F(LockTest, IsFreeAgainWhenLetGo) {
  { ASSERT_TRUE(lock_database(path_, "a much longer text than the second one")); }
  ASSERT_TRUE(lock_database(path_, "b"));
  std::ifstream in(path_ + ".lock");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            "pid " + std::to_string(::getpid()) + ", b\n");
}

TEST_F(LockTest, DiesWithItsHolder) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe2(pipe_fds, O_CLOEXEC), 0);
  const auto child = ::fork();
  if (child == 0) {
    const auto lock = lock_database(path_, "the child");
    const char word = lock ? 'y' : 'n';
    if (::write(pipe_fds[1], &word, 1) == 1)
      ::pause();
    ::_exit(1);
  }
  char word = 0;
  ASSERT_EQ(::read(pipe_fds[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  EXPECT_FALSE(lock_database(path_, "parent"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(lock_database(path_, "parent"));
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

TEST_F(LockTest, UnitsAreLockedOneByOne) {
  const auto first = lock_unit(folder_, "vllm.service", "firebossd");
  ASSERT_TRUE(first);
  EXPECT_TRUE(lock_unit(folder_, "llama.service", "firebossd"));
  const auto second = lock_unit(folder_, "vllm.service", "firebossd");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("unit vllm.service is in use"));
}

TEST_F(LockTest, AUnitNameCannotLeadOutOfTheFolder) {
  const auto lock = lock_unit(folder_, "../../etc/x", "firebossd");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::kInvalid);
}

TEST_F(LockTest, WhatIsInTheFileCannotDirtyTheTerminal) {
  const auto first = lock_database(path_, "first");
  std::ofstream(path_ + ".lock", std::ios::binary) << "\x1b[31mred\x07\nsecond line";
  const auto second = lock_database(path_, "second");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("?[31mred?;"));
}

TEST_F(LockTest, AMissingFolderIsNamed) {
  const auto lock = lock_database(folder_ + "/none/x.db", "x");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(lock.error().message, HasSubstr(folder_ + "/none/x.db.lock"));
}

}  // namespace
}  // namespace fireboss::sqlite
