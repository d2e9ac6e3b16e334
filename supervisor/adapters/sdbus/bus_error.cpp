#include "supervisor/adapters/sdbus/bus_error.h"

#include <array>
#include <cstring>
#include <string>

namespace fireboss::sdbus {
namespace {

struct Known {
  std::string_view name;
  ErrorCode code;
  std::string_view advice;
};

constexpr std::string_view kPolkit =
    "polkit does not allow it: the rule in /etc/polkit-1/rules.d must name this unit and verb for our user "
    "(see `fireboss polkit-rule`)";
constexpr std::string_view kQueued = "another job is queued for it and wins over ours";
constexpr std::string_view kNoBus = "the bus or systemd went away before it answered";

// InteractiveAuthorizationRequired is what polkit says when no rule speaks, AccessDenied when one says no: to
// us both mean that the rule is missing. NoReply is made by the bus when systemd disconnects in mid-call
// (daemon-reexec); our own deadlines never produce it.
constexpr std::array kKnown{
    Known{"org.freedesktop.systemd1.NoSuchUnit", ErrorCode::kNotFound,
          "no such unit: check the name in the configuration"},
    Known{"org.freedesktop.DBus.Error.UnknownObject", ErrorCode::kNotFound,
          "systemd knows no such unit or job"},
    Known{"org.freedesktop.systemd1.NoSuchJob", ErrorCode::kNotFound, "no such job"},
    Known{"org.freedesktop.systemd1.UnitMasked", ErrorCode::kInvalid,
          "the unit is masked: `systemctl unmask` it"},
    Known{"org.freedesktop.systemd1.LoadFailed", ErrorCode::kInvalid,
          "the unit file cannot be loaded: see `systemctl status`"},
    Known{"org.freedesktop.systemd1.BadUnitSetting", ErrorCode::kInvalid,
          "the unit file is wrong: see `systemctl status`"},
    Known{"org.freedesktop.systemd1.OnlyByDependency", ErrorCode::kInvalid,
          "the unit refuses manual starts (RefuseManualStart=/RefuseManualStop=)"},
    Known{"org.freedesktop.systemd1.JobTypeNotApplicable", ErrorCode::kInvalid,
          "this kind of unit has no such job"},
    Known{"org.freedesktop.DBus.Error.InvalidArgs", ErrorCode::kInvalid, "systemd refuses the arguments"},
    Known{"org.freedesktop.DBus.Error.AccessDenied", ErrorCode::kDenied, kPolkit},
    Known{"org.freedesktop.DBus.Error.AuthFailed", ErrorCode::kDenied, kPolkit},
    Known{"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", ErrorCode::kDenied, kPolkit},
    Known{"org.freedesktop.PolicyKit1.Error.Failed", ErrorCode::kDenied, kPolkit},
    Known{"org.freedesktop.PolicyKit1.Error.NotAuthorized", ErrorCode::kDenied, kPolkit},
    Known{"org.freedesktop.systemd1.TransactionIsDestructive", ErrorCode::kBusy, kQueued},
    Known{"org.freedesktop.systemd1.TransactionJobsConflicting", ErrorCode::kBusy, kQueued},
    Known{"org.freedesktop.systemd1.TransactionOrderIsCyclic", ErrorCode::kInvalid,
          "its dependencies go round in a circle"},
    Known{"org.freedesktop.systemd1.ShuttingDown", ErrorCode::kBusy, "the machine is shutting down"},
    Known{"org.freedesktop.DBus.Error.ServiceUnknown", ErrorCode::kUnavailable, kNoBus},
    Known{"org.freedesktop.DBus.Error.NameHasNoOwner", ErrorCode::kUnavailable, kNoBus},
    Known{"org.freedesktop.DBus.Error.Disconnected", ErrorCode::kUnavailable, kNoBus},
    Known{"org.freedesktop.DBus.Error.NoReply", ErrorCode::kUnavailable, kNoBus},
    Known{"org.freedesktop.DBus.Error.NoServer", ErrorCode::kUnavailable, kNoBus},
    Known{"org.freedesktop.DBus.Error.LimitsExceeded", ErrorCode::kUnavailable,
          "a limit of the bus is reached"},
    Known{"org.freedesktop.DBus.Error.Timeout", ErrorCode::kTimeout, "no answer in time"},
    Known{"org.freedesktop.DBus.Error.TimedOut", ErrorCode::kTimeout, "no answer in time"},
};

}  // namespace

Error to_error(std::string_view name, std::string_view message, const Asked& asked) {
  std::string text(asked.method);
  if (!asked.unit.empty())
    text.append(" ").append(asked.unit);
  text += ": ";
  for (const auto& known : kKnown) {
    if (known.name == name) {
      text.append(known.advice).append(" (").append(message).append(")");
      return {known.code, std::move(text)};
    }
  }
  text.append(message).append(" (").append(name).append(")");
  return {ErrorCode::kInternal, std::move(text)};
}

Error errno_error(int negative_errno, std::string_view what) {
  const int number = negative_errno < 0 ? -negative_errno : negative_errno;
  auto code = ErrorCode::kInternal;
  if (number == EACCES || number == EPERM)
    code = ErrorCode::kDenied;
  else if (number == ENOTCONN || number == ECONNRESET || number == ENOENT || number == ECONNREFUSED ||
           number == EPIPE || number == ESHUTDOWN || number == EAGAIN)
    code = ErrorCode::kUnavailable;
  else if (number == ETIMEDOUT)
    code = ErrorCode::kTimeout;
  else if (number == EINVAL)
    code = ErrorCode::kInvalid;
  // strerror's buffer is shared between threads; strerrordesc_np's is constant
  const char* words = strerrordesc_np(number);
  return {code, std::string(what) + ": " + (words == nullptr ? "errno " + std::to_string(number) : words)};
}

ports::JobOutcome to_outcome(std::string_view job_result) {
  using ports::JobResult;
  constexpr std::array<std::pair<std::string_view, JobResult>, 6> kWords{
      {{"done", JobResult::kDone},
       {"canceled", JobResult::kCanceled},
       {"timeout", JobResult::kTimeout},
       {"failed", JobResult::kFailed},
       {"dependency", JobResult::kDependency},
       {"skipped", JobResult::kSkipped}}};
  for (const auto& [word, result] : kWords)
    if (word == job_result)
      return {result, std::string(job_result)};
  // systemd has more words (invalid, assert, unsupported, collected, once): each is a failure of the job
  return {JobResult::kUnknown, std::string(job_result)};
}

ports::ActiveState to_active_state(std::string_view word) {
  using ports::ActiveState;
  constexpr std::array<std::pair<std::string_view, ActiveState>, 7> kWords{
      {{"active", ActiveState::kActive},
       {"reloading", ActiveState::kReloading},
       {"inactive", ActiveState::kInactive},
       {"failed", ActiveState::kFailed},
       {"activating", ActiveState::kActivating},
       {"deactivating", ActiveState::kDeactivating},
       {"maintenance", ActiveState::kMaintenance}}};
  for (const auto& [known, state] : kWords)
    if (known == word)
      return state;
  return ActiveState::kUnknown;
}

}  // namespace fireboss::sdbus
