#pragma once
// The words for the policy's enums, as they stand in histories, records and on screen.
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/policy/decision.h"
#include "supervisor/policy/event.h"
#include "supervisor/policy/state.h"

namespace fireboss::policy {

[[nodiscard]] std::string_view to_string(LifeCause value);     // unknown firebossd systemd operator boot
[[nodiscard]] std::string_view to_string(Purpose value);       // scheduled confirm verify
[[nodiscard]] std::string_view to_string(ActionKind value);    // restart recycle start
[[nodiscard]] std::string_view to_string(Step value);          // evidence lease pre_stop drain job ...
[[nodiscard]] std::string_view to_string(StepResult value);    // done failed timeout canceled
[[nodiscard]] std::string_view to_string(Mode value);          // observe enforce
[[nodiscard]] std::string_view to_string(OwnFaultKind value);  // database_locked disk_full bus_lost ...
[[nodiscard]] std::string_view to_string(LifeEnd value);       // alive death on_purpose ours replaced
[[nodiscard]] std::string_view to_string(OperationEnd value);  // clean not_helped failed abandoned
[[nodiscard]] std::string_view to_string(Severity value);      // info warning critical

// The value of a word, nullopt if there is none: from_word<Mode>("observe").
template <typename Enum>
[[nodiscard]] std::optional<Enum> from_word(std::string_view word);

// Every word of the enum, "observe, enforce": for messages that say what is allowed.
template <typename Enum>
[[nodiscard]] std::string words_of();

}  // namespace fireboss::policy
