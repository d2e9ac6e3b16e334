#include "supervisor/adapters/sdbus/bus_error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace fireboss::sdbus {
namespace {

using ports::ActiveState;
using ports::JobResult;

struct NamedCase {
  const char* name;
  ErrorCode code;
};

class ErrorNameTest : public testing::TestWithParam<NamedCase> {};

TEST_P(ErrorNameTest, HasItsCodeAndNamesMethodUnitAndMessage) {
  const auto error = to_error(GetParam().name, "what systemd said", {"RestartUnit", "vllm.service"});
  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_NE(error.message.find("RestartUnit vllm.service: "), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("what systemd said"), std::string::npos) << error.message;
}

INSTANTIATE_TEST_SUITE_P(
    Names, ErrorNameTest,
    testing::Values(NamedCase{"org.freedesktop.systemd1.NoSuchUnit", ErrorCode::kNotFound},
                    NamedCase{"org.freedesktop.systemd1.UnitMasked", ErrorCode::kInvalid},
                    NamedCase{"org.freedesktop.DBus.Error.AccessDenied", ErrorCode::kDenied},
                    NamedCase{"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired",
                              ErrorCode::kDenied},
                    NamedCase{"org.freedesktop.systemd1.TransactionIsDestructive", ErrorCode::kBusy},
                    NamedCase{"org.freedesktop.systemd1.TransactionJobsConflicting", ErrorCode::kBusy},
                    NamedCase{"org.freedesktop.systemd1.ShuttingDown", ErrorCode::kBusy},
                    NamedCase{"org.freedesktop.DBus.Error.NoReply", ErrorCode::kUnavailable},
                    NamedCase{"org.freedesktop.DBus.Error.ServiceUnknown", ErrorCode::kUnavailable},
                    NamedCase{"org.example.Unheard", ErrorCode::kInternal}));

TEST(ErrorNameTest, DenialNamesPolkitAndWhatToDo) {
  const auto error =
      to_error("org.freedesktop.DBus.Error.AccessDenied", "Permission denied", {"StartUnit", "a.service"});
  EXPECT_NE(error.message.find("polkit"), std::string::npos);
  EXPECT_NE(error.message.find("/etc/polkit-1/rules.d"), std::string::npos);
}

TEST(ErrorNameTest, UnknownNameIsKept) {
  EXPECT_EQ(to_error("org.example.Unheard", "hm", {"StartUnit", ""}).message,
            "StartUnit: hm (org.example.Unheard)");
}

TEST(ErrnoTest, LostConnectionIsUnavailable) {
  for (const int number : {ENOTCONN, ECONNRESET, ENOENT, ECONNREFUSED, EPIPE})
    EXPECT_EQ(errno_error(-number, "bus").code, ErrorCode::kUnavailable) << number;
  EXPECT_EQ(errno_error(-EACCES, "bus").code, ErrorCode::kDenied);
  EXPECT_EQ(errno_error(-EBADMSG, "bus").code, ErrorCode::kInternal);
  EXPECT_EQ(errno_error(-ENOENT, "bus unix:path=/x").message, "bus unix:path=/x: No such file or directory");
}

TEST(JobResultTest, EveryWordIsMapped) {
  EXPECT_EQ(to_outcome("done").result, JobResult::kDone);
  EXPECT_EQ(to_outcome("canceled").result, JobResult::kCanceled);
  EXPECT_EQ(to_outcome("timeout").result, JobResult::kTimeout);
  EXPECT_EQ(to_outcome("failed").result, JobResult::kFailed);
  EXPECT_EQ(to_outcome("dependency").result, JobResult::kDependency);
  EXPECT_EQ(to_outcome("skipped").result, JobResult::kSkipped);
}

TEST(JobResultTest, UnknownWordIsKeptRaw) {
  EXPECT_EQ(to_outcome("collected").result, JobResult::kUnknown);
  EXPECT_EQ(to_outcome("collected").raw, "collected");
}

TEST(ActiveStateTest, EveryWordIsMapped) {
  EXPECT_EQ(to_active_state("active"), ActiveState::kActive);
  EXPECT_EQ(to_active_state("reloading"), ActiveState::kReloading);
  EXPECT_EQ(to_active_state("inactive"), ActiveState::kInactive);
  EXPECT_EQ(to_active_state("failed"), ActiveState::kFailed);
  EXPECT_EQ(to_active_state("activating"), ActiveState::kActivating);
  EXPECT_EQ(to_active_state("deactivating"), ActiveState::kDeactivating);
  EXPECT_EQ(to_active_state("maintenance"), ActiveState::kMaintenance);
  EXPECT_EQ(to_active_state("refreshing"), ActiveState::kUnknown);
}

}  // namespace
}  // namespace fireboss::sdbus
