#pragma once
// Asks one engine and grades what comes back: the canary client, the grader and the kernel's word on who
// answers, put together for one engine. Decides nothing.
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "base/time.h"
#include "canary/grade/grade.h"
#include "canary/run/client.h"
#include "supervisor/app/counter_edges.h"
#include "supervisor/config/config.h"
#include "supervisor/ports/clock.h"
#include "supervisor/ports/sockets.h"

namespace fireboss::app {

struct GradedCall {
  canary::Graded graded;
  std::string body;  // raw reply, bounded; "" for a pass
};
struct GradedRun {
  std::vector<GradedCall> calls;

  // As the policy takes them.
  [[nodiscard]] std::vector<std::string> results() const;
};

class CanarySession {
 public:
  CanarySession(const config::Engine& engine, std::uint64_t raw_reply_bytes, ports::Clock& clock,
                ports::Sockets& sockets);

  // The cgroup that the listener must belong to: the unit's, as systemd last reported it. Empty: none yet,
  // every listener is foreign.
  void set_control_group(std::string control_group) { control_group_ = std::move(control_group); }
  void set_models(std::vector<std::string> models) { models_ = std::move(models); }
  // Of the calls of one variant; canary::Deadlines{} until told.
  void set_deadlines(const std::string& variant, canary::Deadlines deadlines) {
    deadlines_[variant] = deadlines;
  }

  // `n` like calls of one variant. Never an error: what kept a call from being made is its (inconclusive)
  // outcome.
  boost::asio::awaitable<GradedRun> run(std::string variant, int n);

  // What the engine's counters owe to this object since the last forget_calls().
  [[nodiscard]] const OwnCalls& own_calls() const { return own_; }
  void forget_calls() { own_.completion_tokens = 0; }

  // The engine's model list, asked of a listener that is ours.
  boost::asio::awaitable<Result<std::vector<std::string>>> models();
  // Its metrics page, likewise.
  boost::asio::awaitable<Result<std::string>> metrics_page();

  // Whether the configured API key can be read; it does not come or go while firebossd runs.
  [[nodiscard]] Result<void> credential() const;
  // The configured key, should it stand in `text`, masked.
  [[nodiscard]] std::string without_key(std::string text) const;
  // Whether the listener on the engine's port is the engine's: kBusy names who it is, kUnavailable: nobody
  // listens, kInternal: it cannot be told.
  [[nodiscard]] Result<void> who_answers() const;

 private:
  canary::Get make_get() const;
  // "" where none is configured.
  Result<std::string> api_key() const;
  void forget_old_nonces();

  const config::Engine& engine_;
  std::uint64_t raw_reply_bytes_;
  ports::Clock& clock_;
  ports::Sockets& sockets_;
  std::string control_group_;
  std::vector<std::string> models_;
  std::map<std::string, canary::Deadlines> deadlines_;
  std::deque<std::pair<MonoTime, std::string>> issued_;  // oldest first, of the last foreign_nonce_window
  std::unordered_map<std::string, int> issued_count_;
  OwnCalls own_;
};

}  // namespace fireboss::app
