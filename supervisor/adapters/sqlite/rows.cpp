#include "supervisor/adapters/sqlite/rows.h"

namespace fireboss::sqlite {

ports::EventRow event_row(const Cursor& cursor) {
  ports::EventRow row;
  row.id = cursor.integer(0);
  row.engine = cursor.text(1);
  row.mono = MonoTime{Millis{cursor.integer(2)}};
  row.boot = cursor.text(3);
  row.wall = WallTime{Millis{cursor.integer(4)}};
  row.kind = cursor.text(5);
  row.version = static_cast<int>(cursor.integer(6));
  row.payload = cursor.text(7);
  return row;
}

ports::ActionRow action_row(const Cursor& cursor) {
  ports::ActionRow row;
  row.id = cursor.integer(0);
  row.engine = cursor.text(1);
  row.kind = cursor.text(2);
  row.life = cursor.text(3);
  row.decision = cursor.integer(4);
  row.step = cursor.text(5);
  row.state = cursor.text(6);
  row.begun = WallTime{Millis{cursor.integer(7)}};
  row.ended = WallTime{Millis{cursor.integer(8)}};
  row.steps = cursor.text(9);
  return row;
}

ports::DecisionRow decision_row(const Cursor& cursor) {
  ports::DecisionRow row;
  row.id = cursor.integer(0);
  row.engine = cursor.text(1);
  row.first_event = cursor.integer(2);
  row.last_event = cursor.integer(3);
  row.count = cursor.integer(4);
  row.first_mono = MonoTime{Millis{cursor.integer(5)}};
  row.last_mono = MonoTime{Millis{cursor.integer(6)}};
  row.first_wall = WallTime{Millis{cursor.integer(7)}};
  row.last_wall = WallTime{Millis{cursor.integer(8)}};
  row.kind = cursor.text(9);
  row.reason = cursor.text(10);
  row.payload = cursor.text(11);
  row.policy_hash = cursor.text(12);
  row.decider_version = cursor.text(13);
  row.grader_version = cursor.text(14);
  return row;
}

ports::AlertRow alert_row(const Cursor& cursor) {
  ports::AlertRow row;
  row.id = cursor.integer(0);
  row.engine = cursor.text(1);
  row.key = cursor.text(2);
  row.severity = cursor.text(3);
  row.text = cursor.text(4);
  row.raised = WallTime{Millis{cursor.integer(5)}};
  row.resolved = WallTime{Millis{cursor.integer(6)}};
  row.event = cursor.integer(7);
  return row;
}

}  // namespace fireboss::sqlite
