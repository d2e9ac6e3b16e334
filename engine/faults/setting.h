#pragma once
// The faults that can be switched on for drills, and how they are written:
//   NAME[=KEY=VALUE[,KEY=VALUE...]]     e.g. "degrade=half-age=30s,offset=10s" or "error500=skip=3,count=1"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::engine {

enum class Fault {
  kDegrade,        // replies are garbled with a chance that grows with age and with the prompt's shape
  kAfterStop,      // tokens after the stop, special tokens leak
  kRepeat,         // one token for ever
  kOtherText,      // another request's reply
  kSlow,           // a pause after every step
  kStall,          // requests hang, counters are frozen, /health answers
  kRefuse,         // connections are closed as soon as they are accepted
  kError500,       // chat requests answer 500
  kExit0,          // the process logs a fatal error and exits with status 0
  kAbort,          // the process aborts
  kIgnoreSigterm,  // SIGTERM is logged and otherwise ignored
};

[[nodiscard]] std::string_view to_string(Fault fault);
[[nodiscard]] std::span<const Fault> all_faults();
[[nodiscard]] std::optional<Fault> fault_named(std::string_view name);

struct FaultSetting {
  Fault fault = Fault::kDegrade;
  // When it applies.
  Millis after{0};                       // after=: begins so long after it was set
  std::optional<Millis> length{};        // for=: ends so long after it began
  std::uint64_t skip = 0;                // skip=: lets so many chat requests pass first
  std::optional<std::uint64_t> count{};  // count=: then applies to so many chat requests
  double chance = 1;                     // chance=: of a chat request being hit, 0 to 1
  // degrade: see garble_chance().
  Millis half_age{
      std::chrono::hours(4)};  // half-age=: age at which half of the replies to the worst shape are bad
  Millis offset{0};            // offset=: added to the age
  double speed = 1;            // speed=: the age is multiplied by this
  // slow: pause=, after every step of the engine.
  Millis pause{200};

  // Whether the fault is about requests; exit0 and abort that are not happen by time alone.
  [[nodiscard]] bool counts_requests() const { return skip > 0 || count.has_value() || chance < 1; }
};

// kInvalid names the wrong part and what is allowed there.
[[nodiscard]] Result<FaultSetting> parse_fault(std::string_view text);
// A text that parse_fault reads back; only what differs from the defaults.
[[nodiscard]] std::string format_fault(const FaultSetting& setting);

}  // namespace fireboss::engine
