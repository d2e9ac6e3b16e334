#pragma once
// What `fireboss status` says of one engine, worked out from its recorded state. Pure.
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/time.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"
#include "supervisor/ports/store.h"

namespace fireboss::ctl {

enum class Health { kOk, kWarning, kCritical, kUnknown };

struct VariantStatus {
  std::string name;
  std::string last;           // "4 of 4 right", "3 of 4 wrong (leak)", "not measured (busy)", "never asked"
  std::optional<Millis> ago;  // since that run ended
  bool wrong = false, measured = false;
};

struct EngineStatus {
  std::string name, unit;
  Health health = Health::kUnknown;
  std::string answers;        // "answering correctly", "ANSWERING WRONGLY", "down on purpose for 3m"...
  std::string mode;           // "observe", "enforce", "enforce, held for another 2h: WHY"
  std::optional<Millis> age;  // of the life
  std::optional<Millis> answering_for;  // every run of every variant was right for so long
  std::string life, cause;
  std::vector<VariantStatus> variants;
  std::string next;                    // "canary chat-stream in 12m", "restart under way for 5s, step drain"
  std::vector<std::string> held_back;  // what is due and by what it is held back
  std::vector<std::string> to_do;      // what the operator must do, most urgent first
  std::vector<ports::AlertRow> alerts;
  std::int64_t restarts_in_window = 0;
};

struct Moment {
  MonoTime mono{};
  std::string boot;     // of this machine, now
  bool watched = true;  // firebossd answers: what is recorded goes on
};

// What the configuration on disk comes to, to be compared with what firebossd has loaded.
struct OnDisk {
  std::string policy_hash, suite_hash;
};

// `state` empty: nothing was ever recorded. A state of another boot is not believed: unknown, with the
// reason.
[[nodiscard]] EngineStatus engine_status(const std::string& name, const std::string& unit,
                                         const policy::Policy& policy, const OnDisk& on_disk,
                                         const std::optional<policy::State>& state,
                                         std::vector<ports::AlertRow> alerts, const Moment& now);

[[nodiscard]] std::string to_text(const EngineStatus& status);
[[nodiscard]] boost::json::object to_json(const EngineStatus& status);
[[nodiscard]] std::string_view to_string(Health health);

}  // namespace fireboss::ctl
