#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/ports/store.h"

namespace fireboss::testing {

// Keeps what it is given, and refuses it while `trouble` is set. Refuses what the database would: an update
// of no open action, a second open one.
class FakeStore final : public ports::Store {
 public:
  Result<ports::Recorded> record(const ports::Record& record) override {
    if (trouble)
      return fail(*trouble);
    if (const auto& update = record.update_action) {
      if (!open || (update->id != 0 && update->id != open->id))
        return fail(ErrorCode::kInternal, "no open action " + std::to_string(update->id) + " to update");
      if (record.open_action && update->state == "open")
        return fail(ErrorCode::kInternal, "a second open action");
    } else if (record.open_action && open) {
      return fail(ErrorCode::kInternal, "a second open action");
    }
    records.push_back(record);
    ports::Recorded recorded;
    recorded.event = static_cast<std::int64_t>(records.size());
    if (record.update_action) {
      const auto id = open->id;
      open = record.update_action;
      open->id = id;
      if (open->state != "open") {
        closed.push_back(*open);
        open.reset();
      }
    }
    if (record.open_action) {
      open = record.open_action;
      open->id = ++last_action;
      recorded.action = open->id;
    }
    if (!record.state.empty())
      last_state = record.state;
    return recorded;
  }
  Result<void> put_policy(const std::string&, const std::string&) override { return {}; }
  Result<std::optional<ports::ActionRow>> open_action(const std::string&) override { return open; }
  Result<std::optional<std::string>> state(const std::string&) override { return last_state; }
  Result<std::vector<ports::EventRow>> events(const std::string&, std::int64_t, int) override {
    std::vector<ports::EventRow> rows;
    for (const auto& record : records)
      rows.push_back(record.event);
    return rows;
  }

  std::optional<Error> trouble;
  std::vector<ports::Record> records;
  std::optional<ports::ActionRow> open;
  std::vector<ports::ActionRow> closed;
  std::optional<std::string> last_state;
  std::int64_t last_action = 0;
};

}  // namespace fireboss::testing
