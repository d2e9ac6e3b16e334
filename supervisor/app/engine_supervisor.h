#pragma once
// Everything that is done for one engine: follows its unit and its journal, asks the canary's questions when
// they are due, carries out the steps of an operation, and feeds back what came of each. What is to be done
// is the policy's word alone.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "base/time.h"
#include "supervisor/app/canary_session.h"
#include "supervisor/app/counter_edges.h"
#include "supervisor/app/engine_core.h"
#include "supervisor/app/journal_watch.h"
#include "supervisor/app/life_tracker.h"
#include "supervisor/app/metrics_page.h"
#include "supervisor/app/port_silence.h"
#include "supervisor/app/role_census.h"
#include "supervisor/config/config.h"
#include "supervisor/ports/clock.h"
#include "supervisor/ports/journal.h"
#include "supervisor/ports/sockets.h"
#include "supervisor/ports/store.h"
#include "supervisor/ports/unit_manager.h"

namespace fireboss::app {

struct Ports {
  ports::Clock& clock;
  ports::Store& store;
  ports::UnitManager& units;
  ports::Journal& journal;
  ports::Sockets& sockets;
};

class EngineSupervisor : public std::enable_shared_from_this<EngineSupervisor> {
 public:
  // `signatures` outlives it.
  EngineSupervisor(boost::asio::any_io_executor executor, const config::Engine& engine,
                   std::uint64_t raw_reply_bytes, const probes::SignatureSet& signatures, Ports ports);

  // Reads the record back; an error means that this engine cannot be supervised. `foreign` as in Supervisor.
  Result<void> restore(bool foreign);
  // Begins to follow the unit. Everything later happens on the loop.
  void start();
  void stop();

  // The loop has turned for this engine within its bounds: what the watchdog is fed by.
  [[nodiscard]] MonoTime last_progress() const { return last_progress_; }
  [[nodiscard]] const std::string& name() const { return engine_.name; }
  // Why nothing is being recorded; "" while all is.
  [[nodiscard]] const std::string& store_trouble() const { return core_.store_trouble(); }
  // For the metrics page; valid until the loop turns.
  [[nodiscard]] EngineFacts facts() const;
  // That this firebossd began is in the record.
  [[nodiscard]] bool begun() const { return started_ && core_.recording(); }

  // The operator's verbs.
  boost::asio::awaitable<Result<boost::json::value>> run_canary(
      std::string variant, std::function<void(std::string_view)> progress);
  boost::asio::awaitable<Result<boost::json::value>> calibrate(
      std::vector<std::pair<std::string, int>> calls, std::function<void(std::string_view)> progress);
  Result<boost::json::value> set_mode(policy::Mode mode);
  // Follows the restart to its end.
  boost::asio::awaitable<Result<boost::json::value>> restart(std::string why,
                                                             std::function<void(std::string_view)> progress);

 private:
  using Clock = std::chrono::steady_clock;

  boost::asio::awaitable<void> main_loop();
  boost::asio::awaitable<void> poll_counters();
  // While the port's silence is watched.
  boost::asio::awaitable<void> look_at_port();
  boost::asio::awaitable<void> take_census();
  boost::asio::awaitable<void> await_answer(std::string life);
  boost::asio::awaitable<void> take_ready(policy::Ready ready);
  boost::asio::awaitable<void> do_canary(policy::CanaryDue due);
  struct Asked {
    GradedRun run;
    std::vector<policy::Decision> decisions;  // on its result
  };
  boost::asio::awaitable<Asked> ask_and_record(std::string variant, int n, std::string life,
                                               std::optional<policy::Purpose> purpose);
  boost::asio::awaitable<void> do_step(policy::StepDue due);
  struct StepDone {
    policy::ActionOutcome outcome;
    std::vector<ports::RawReply> evidence;
  };
  boost::asio::awaitable<StepDone> carry_out(policy::StepDue due);
  boost::asio::awaitable<std::vector<ports::RawReply>> gather_evidence(policy::StepDue due);
  boost::asio::awaitable<policy::ActionOutcome> drain(policy::StepDue due);
  boost::asio::awaitable<policy::ActionOutcome> follow_job(policy::StepDue due);
  boost::asio::awaitable<policy::ActionOutcome> send_job(policy::StepDue due);

  boost::asio::awaitable<Result<boost::json::value>> calibrate_variants(
      std::vector<std::pair<std::string, int>> calls, std::function<void(std::string_view)> progress);
  // Each variant's as its calibration measured it, in the record of whatever firebossd.
  void take_deadlines();
  // Whether an operator's run or calibration may begin now.
  Result<void> may_ask() const;

  void on_news(const ports::UnitNews& news);
  void take_snapshot(const ports::UnitSnapshot& snapshot);
  void take_events(std::vector<policy::EventBody> events);
  void feed(const policy::EventBody& body, std::vector<ports::RawReply> raw = {},
            std::vector<ports::DayCount> counts = {});
  void hear_of_the_past();
  void follow_journal();
  void on_line(const ports::JournalLine& line);
  // The processes that systemd counts to the unit: whose an Xid is. Their command lines; nullopt: not told.
  boost::asio::awaitable<std::optional<std::vector<std::string>>> ask_processes();
  boost::asio::awaitable<void> settle_lines();
  [[nodiscard]] bool census_counts(const std::string& life) const;
  // By a job, ours or another's, that takes the current life down.
  [[nodiscard]] bool being_stopped() const;
  void notice_suspend();
  void watch_silence();
  [[nodiscard]] std::optional<std::uint64_t> bytes_sent() const;
  void wake();  // the main loop turns at once, also if it is turning now
  // Starts what the state asks for and is not under way; wakes the main loop for the next timer.
  void pump();
  void tell(const policy::Decision& decision);
  // Those after the first `mark` ones, as far as they are kept.
  [[nodiscard]] std::vector<policy::Decision> decided_since(std::uint64_t mark) const;
  void spawn(boost::asio::awaitable<void> work);

  boost::asio::any_io_executor executor_;
  const config::Engine& engine_;
  Ports ports_;
  EngineCore core_;
  CanarySession session_;
  LifeTracker tracker_;
  CounterEdges edges_;
  JournalWatch watch_;
  RoleCensus census_;
  PortSilence silence_;

  boost::asio::steady_timer wake_;
  boost::asio::steady_timer changed_;  // cancelled by every event: what waits for one waits on it
  MonoTime last_progress_{};
  std::optional<ports::UnitSnapshot> snapshot_;
  WallTime journal_since_{};    // from where on the journal is followed
  std::string answering_life_;  // await_answer() is under way for it
  bool foreign_record_ = false;
  bool started_ = false, stopping_ = false, woken_ = false;
  bool canary_running_ = false, step_running_ = false, calibrating_ = false;
  bool followed_job_ = false;  // sent by an earlier firebossd, and still running when this one looked
  bool settling_lines_ = false, looking_at_port_ = false;
  bool counters_told_ = true;  // the metrics page, when it last came, was one that tells counters
  std::optional<Millis> suspended_so_far_;
  std::deque<policy::Decision> decisions_;  // the newest, for the answers of verbs; bounded
  std::uint64_t decided_ = 0;               // how many there were in all
  Millis record_backoff_{0};
  MonoTime record_retry_{};
};

}  // namespace fireboss::app
