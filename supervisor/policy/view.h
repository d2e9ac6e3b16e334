#pragma once
// Questions about a state that the rules, the shell and the screens all ask.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

// A variant that fails more often than this share of its calls while healthy cannot tell a degraded engine
// from itself.
constexpr std::int64_t kMaxCalibratedPpm = 100'000;
[[nodiscard]] bool few_enough_failures(std::int64_t failures, std::int64_t calls);
// Of fewer calls a calibration says nothing: even without a failure the rate may be above one half.
constexpr std::int64_t kLeastCalibrationCalls = 4;
[[nodiscard]] bool enough_calls(std::int64_t calls);
// Enforce counts only once every variant is calibrated with enough calls and few enough failures.
[[nodiscard]] bool calibrated(const Policy& policy, const State& state);
[[nodiscard]] Mode effective_mode(const Policy& policy, const State& state);

[[nodiscard]] bool alive(const State& state);  // a current life that has not ended
[[nodiscard]] bool ready(const State& state);  // ... and answers
[[nodiscard]] bool down_on_purpose(const State& state);
[[nodiscard]] bool known_past_life(const State& state, std::string_view life);

// Suite hash and fingerprint of the current life. A life that came without a fingerprint has that of the one
// before: nothing said that it changed.
[[nodiscard]] std::string baseline_key(const State& state);
[[nodiscard]] const Baseline* find_baseline(const State& state, std::string_view key);
[[nodiscard]] bool has_passed(const State& state, std::string_view variant);

// Since when every variant has been answered right in each of its runs. nullopt: some variant has not, or has
// not been asked in this life.
[[nodiscard]] std::optional<MonoTime> answering_since(const Policy& policy, const State& state);

enum class Traffic { kUnknown, kBusy, kQuiet };  // unknown counts as traffic
[[nodiscard]] Traffic traffic(const Policy& policy, const State& state, MonoTime now);
// Busy only for tokens already produced: when the window over them ends.
[[nodiscard]] std::optional<MonoTime> quiet_at(const Policy& policy, const State& state, MonoTime now);
// For people: "3 running, 1 waiting", "no information".
[[nodiscard]] std::string traffic_text(const Policy& policy, const State& state, MonoTime now);

// Since when no progress is proven: work present and every counter frozen, or two runs timed out and no byte
// sent. nullopt: not proven. `due`: when the proof will be long enough (R5).
struct Standstill {
  MonoTime since{}, due{};
  std::string what;
};
[[nodiscard]] std::optional<Standstill> standstill(const Policy& policy, const State& state);

[[nodiscard]] std::int64_t charges_in_window(const Policy& policy, const std::vector<Charge>& charges,
                                             MonoTime now);
// When the budget allows the next restart: now or earlier if it does already.
[[nodiscard]] MonoTime budget_free_at(const Policy& policy, const std::vector<Charge>& charges, MonoTime now);

// Whoever holds a GPU now, "" if nobody does; several are joined by ", ".
[[nodiscard]] std::string lease_holder(const State& state);
// Since when systemd's own start of the dead unit has been awaited with nothing to keep it waiting. nullopt:
// it is not awaited.
[[nodiscard]] std::optional<MonoTime> start_awaited_since(const State& state);
// When a dead unit that systemd does not start is started: dead_grace after its death, or after our last try.
[[nodiscard]] MonoTime start_due_at(const Policy& policy, const State& state);
// The last operation came to nothing before its job, at no charge: until when the next one waits, so that it
// is not tried again and again.
[[nodiscard]] std::optional<MonoTime> pause_until(const State& state);
// A canary that a lease has kept waiting for that long is alerted: inconclusive_alert_after, or as long as
// inconclusive_alert_runs of them take where that is shorter.
[[nodiscard]] Millis blocked_alert_after(const Policy& policy);
// Without any run for that long the canary is silent: one run is asked every canary_every, whatever became of
// the last; a whole round of the variants and two more may be missed.
[[nodiscard]] Millis silent_after(const Policy& policy);
// Without a conclusive run for that long nothing is known of the answers, although somebody asks. Not before
// the inconclusive alert, which says more.
[[nodiscard]] Millis unmeasured_after(const Policy& policy);
// A fault of our own that keeps everything from beginning.
[[nodiscard]] std::optional<OwnFaultKind> blocking_fault(const State& state);

// Middle one of the ages (the lower one of two).
[[nodiscard]] std::optional<Millis> median(std::vector<Millis> ages);

}  // namespace fireboss::policy
