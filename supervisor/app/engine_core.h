#pragma once
// One engine's record-keeping heart: every input becomes an event, the policy says what follows, and both are
// in the store before anybody acts on them. Knows no network and no bus; the shell around it carries out what
// operation() and canary() ask for and feeds back what came of it.
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "supervisor/app/engine_tally.h"
#include "supervisor/config/config.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/ports/clock.h"
#include "supervisor/ports/store.h"

namespace fireboss::app {

class EngineCore {
 public:
  // `on_decision` is told of every decision once it is recorded, or queued while the store is in trouble.
  EngineCore(const config::Engine& engine, ports::Clock& clock, ports::Store& store,
             std::function<void(const policy::Decision&)> on_decision);

  // Takes up the state where the last firebossd left it, and the action that was open then.
  Result<void> restore();
  // The action that the predecessor left open, as the policy wants to know it.
  [[nodiscard]] std::optional<policy::PendingAction> pending() const;

  // What happened, now. Timers that are due come first.
  void feed(const policy::EventBody& body, std::vector<ports::RawReply> raw_replies = {},
            std::vector<ports::DayCount> counts = {});
  void run_due_timers();
  [[nodiscard]] std::optional<MonoTime> next_timer() const;

  // While the store refuses records they wait here in order; nothing new begins. Writes a bounded number of
  // them. True: some were written, and more may wait: recording() tells. False: the store still refuses.
  bool retry_records();
  [[nodiscard]] bool recording() const { return waiting_.empty(); }
  [[nodiscard]] const std::string& store_trouble() const { return store_trouble_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] const EngineTally& tally() const { return tally_; }

  [[nodiscard]] const policy::State& state() const { return state_; }
  [[nodiscard]] std::optional<policy::StepDue> operation() const;
  [[nodiscard]] std::optional<policy::CanaryDue> canary() const;

 private:
  void step(MonoTime at, const policy::EventBody& body, std::vector<ports::RawReply> raw_replies,
            std::vector<ports::DayCount> counts);
  ports::Record make_record(const policy::State& before, const policy::Event& event,
                            const policy::Stepped& stepped);
  void take(const policy::Event& event, const policy::Stepped& stepped);
  void put_aside(ports::Record record);

  const config::Engine& engine_;
  ports::Clock& clock_;
  ports::Store& store_;
  std::function<void(const policy::Decision&)> on_decision_;
  policy::State state_;
  EngineTally tally_;
  std::optional<ports::ActionRow> action_;  // the open one, as last recorded or queued
  std::deque<ports::Record> waiting_;
  std::string store_trouble_;
  policy::OwnFaultKind fault_ = policy::OwnFaultKind::kDatabaseLocked;
};

}  // namespace fireboss::app
