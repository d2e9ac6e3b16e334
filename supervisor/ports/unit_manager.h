#pragma once
// What Fireboss asks of systemd: look at units, follow them, and three verbs. There is no stop.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::ports {

enum class ActiveState {
  kActive,
  kReloading,
  kInactive,
  kFailed,
  kActivating,
  kDeactivating,
  kMaintenance,
  kUnknown
};

struct UnitSnapshot {
  std::string unit;
  std::string load_state;  // "loaded", "not-found", "masked", ...
  ActiveState active = ActiveState::kUnknown;
  std::string sub_state;
  std::string invocation_id;  // hex; empty once inactive and collected, or never started
  std::string type;           // Service Type=
  std::string restart;        // Restart=
  std::string result;         // Result
  int exec_main_code = 0;     // CLD_*: 1 exited, 2 killed, 3 dumped
  int exec_main_status = 0;   // exit status or signal
  std::uint32_t main_pid = 0;
  std::uint32_t n_restarts = 0;
  MonoTime inactive_exit{};             // InactiveExitTimestampMonotonic: when this life began to start
  std::string control_group;            // "/system.slice/vllm.service"; "" while there is none
  std::uint32_t job_id = 0;             // queued or running job, 0: none
  std::vector<std::string> exec_start;  // argv of ExecStart
  std::vector<std::string> drop_ins;
  std::string fragment_path;
  // Units of other names that a restart job of this one would stop too (RequiredBy, BoundBy, ConsistsOf),
  // active ones.
  std::vector<std::string> dependents;
};

// JobRemoved's result. Any word that is not known is kUnknown, a failure, and kept raw.
enum class JobResult { kDone, kCanceled, kTimeout, kFailed, kDependency, kSkipped, kUnknown };
struct JobOutcome {
  JobResult result = JobResult::kUnknown;
  std::string raw;
};

// A job of a watched unit appeared (type "start", "stop", "restart", ...) or ended.
struct JobSeen {
  std::string unit;
  std::uint32_t id = 0;
  // "" when the job was gone before it could be asked. A restart of somebody else's becomes "start" once its
  // stopping half is over and may be seen only then; a stop is always "stop".
  std::string type;
  bool ended = false;
  std::string result;  // when ended
  bool ours = false;   // made by restart() or start() of this object
};
struct BusLost {
  std::string why;  // for people
};
struct BusBack {};  // subscribed again; a fresh snapshot of every watched unit follows
// The bus is there but the unit could not be looked at. Once an episode; tried again until a snapshot
// follows.
struct UnitUnread {
  std::string why;  // for people
};
using UnitNews = std::variant<UnitSnapshot, JobSeen, BusLost, BusBack, UnitUnread>;

class UnitManager {
 public:
  virtual ~UnitManager() = default;

  // `on_news` is called on the event loop for every change of the unit from now on, beginning with a
  // snapshot. It may not call back into this object synchronously. At most one watcher a unit.
  virtual void watch(const std::string& unit, std::function<void(const UnitNews&)> on_news) = 0;
  virtual void unwatch(const std::string& unit) = 0;

  // kNotFound: no such unit. kUnavailable: no bus. Deadline 10 s (kTimeout).
  virtual boost::asio::awaitable<Result<UnitSnapshot>> snapshot(std::string unit) = 0;

  // One job, mode "fail" (a queued contrary job refuses it: kBusy). The match for JobRemoved is there before
  // the call. Resolves when systemd removed the job or `deadline` passed (kTimeout: the job goes on, only our
  // waiting ended). kDenied names polkit. `on_sent` is called when the method call was written to the bus.
  virtual boost::asio::awaitable<Result<JobOutcome>> restart(std::string unit, Millis deadline,
                                                             std::function<void()> on_sent) = 0;
  virtual boost::asio::awaitable<Result<JobOutcome>> start(std::string unit, Millis deadline,
                                                           std::function<void()> on_sent) = 0;
  // Clears the start counter, also of an active unit.
  virtual boost::asio::awaitable<Result<void>> reset_failed(std::string unit) = 0;

  struct Process {
    std::string control_group;
    std::uint32_t pid = 0;
    std::string command;
  };
  virtual boost::asio::awaitable<Result<std::vector<Process>>> processes(std::string unit) = 0;
};

}  // namespace fireboss::ports
