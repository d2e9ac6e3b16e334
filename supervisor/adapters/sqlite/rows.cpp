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

}  // namespace fireboss::sqlite
