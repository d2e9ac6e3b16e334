#include "supervisor/config/users.h"

#include <cerrno>
#include <pwd.h>

#include <gtest/gtest.h>

namespace fireboss::config {
namespace {

template <int Errno>
passwd* nobody(const char* /*name*/) {
  errno = Errno;
  return nullptr;
}

TEST(FindUser, KnowsRoot) {
  const auto root = find_user("root");
  ASSERT_TRUE(root);
  EXPECT_EQ(*root, 0U);
}

TEST(FindUser, SaysThatThereIsNoSuchUser) {
  const auto none = find_user("no-such-user");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "no user 'no-such-user' on this machine");
  for (const auto& look_up : {nobody<0>, nobody<ENOENT>, nobody<ESRCH>, nobody<EBADF>, nobody<EPERM>})
    EXPECT_EQ(find_user("x", look_up).error().code, ErrorCode::kNotFound);
}

TEST(FindUser, TakesTroubleForNoAnswerAndNotForNoUser) {
  for (const auto& look_up : {nobody<EIO>, nobody<EMFILE>, nobody<EAGAIN>, nobody<ETIMEDOUT>})
    EXPECT_EQ(find_user("x", look_up).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace fireboss::config
