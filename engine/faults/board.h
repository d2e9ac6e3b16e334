#pragma once
// The faults that are on in this process. Thread-safe. All is off, and cannot be switched on, unless the
// engine was started with faults enabled.
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/faults/decision.h"
#include "engine/faults/setting.h"

namespace fireboss::engine {

// What the faults do to one chat request.
struct RequestFaults {
  Spoil spoil = Spoil::kNone;
  std::optional<GarblePlan> plan{};
  std::optional<Fault> end_process{};  // kExit0 or kAbort
};

class FaultBoard {
 public:
  // `age` is the time since the process started.
  FaultBoard(std::uint64_t seed, std::function<Millis()> age) : seed_(seed), age_(std::move(age)) {}

  // Replaces an earlier setting of the same fault.
  void set(const FaultSetting& setting);
  void clear(Fault fault);
  void clear_all();
  // As format_fault() writes them, with whether each applies now.
  [[nodiscard]] std::vector<std::pair<std::string, bool>> list() const;

  // Called once for every chat request, in the order of arrival.
  [[nodiscard]] RequestFaults on_request(const PromptShape& shape, const Tokenizer& tokenizer);
  // A finished reply: what kOtherText gives to others.
  void remember_reply(const std::string& text);

  [[nodiscard]] bool applies(Fault fault) const;
  [[nodiscard]] Millis pause() const;  // of kSlow; 0 when it is off
  // kExit0 or kAbort when it is due by time.
  [[nodiscard]] std::optional<Fault> due_end() const;

 private:
  struct Active {
    FaultSetting setting;
    Millis since;            // age at which it was set
    std::uint64_t seen = 0;  // chat requests since it began
  };

  [[nodiscard]] static bool in_time(const Active& active, Millis now);
  [[nodiscard]] static bool in_count(const Active& active, std::uint64_t number);
  [[nodiscard]] bool hits(Active& active, std::uint64_t number, Millis now) const;

  const std::uint64_t seed_;
  const std::function<Millis()> age_;
  mutable std::mutex mutex_;
  std::map<Fault, Active> active_;
  std::uint64_t requests_ = 0;
  std::string last_reply_{};
};

}  // namespace fireboss::engine
