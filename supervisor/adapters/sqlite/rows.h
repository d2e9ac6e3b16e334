#pragma once
// The columns of each kind of row, in the order in which the functions read them, for writer and reader
// alike.
#include <string_view>

#include "supervisor/adapters/sqlite/database.h"
#include "supervisor/ports/store.h"

namespace fireboss::sqlite {

// Ends in FROM; a WHERE follows.
inline constexpr std::string_view kSelectEvent =
    "SELECT e.id, g.name, e.mono, b.boot, e.wall, e.kind, e.version, e.payload "
    "FROM event e JOIN engine g ON g.id = e.engine JOIN boot b ON b.id = e.boot ";
[[nodiscard]] ports::EventRow event_row(const Cursor& cursor);

inline constexpr std::string_view kSelectAction =
    "SELECT a.id, g.name, a.kind, a.life, a.decision, a.step, a.state, a.begun, a.ended, a.steps "
    "FROM action a JOIN engine g ON g.id = a.engine ";
[[nodiscard]] ports::ActionRow action_row(const Cursor& cursor);

// Without evidence.
inline constexpr std::string_view kSelectDecision =
    "SELECT d.id, g.name, d.first_event, d.last_event, d.count, d.first_mono, d.last_mono, d.first_wall, "
    "d.last_wall, d.kind, d.reason, d.payload, p.hash, d.decider_version, d.grader_version "
    "FROM decision d JOIN engine g ON g.id = d.engine LEFT JOIN policy p ON p.id = d.policy ";
[[nodiscard]] ports::DecisionRow decision_row(const Cursor& cursor);

inline constexpr std::string_view kSelectAlert =
    "SELECT t.id, g.name, t.key, t.severity, t.text, t.raised, t.resolved, t.event "
    "FROM alert t JOIN engine g ON g.id = t.engine ";
[[nodiscard]] ports::AlertRow alert_row(const Cursor& cursor);

}  // namespace fireboss::sqlite
