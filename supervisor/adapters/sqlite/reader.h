#pragma once
// The record as the operator's commands read it: a read-only connection without a lock, beside a running
// firebossd or after its death. No call leaves a read transaction open, so that none keeps the log from being
// folded back.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "supervisor/adapters/sqlite/database.h"
#include "supervisor/adapters/sqlite/schema.h"
#include "supervisor/ports/store.h"

namespace fireboss::sqlite {

struct EngineView {
  std::string name;
  std::string state;             // canonical JSON, "" if none was ever written
  std::int64_t state_event = 0;  // the event after which it was so
  WallTime state_wall{};
};
struct RawReplyRow {
  std::int64_t id = 0, event = 0;
  ports::RawReply reply;
  WallTime wall{};
};
// Counts of one UTC day.
struct DayRow {
  std::int64_t day = 0;  // days since 1970-01-01
  std::string what;
  std::int64_t count = 0;
};
// What status shows, of one moment.
struct Overview {
  std::vector<EngineView> engines;           // by name
  std::vector<ports::ActionRow> operations;  // open ones
  std::vector<ports::AlertRow> alerts;       // open ones, oldest first
};

// Functions that take an engine's name return rows of all engines for "". An engine that is not in the record
// has no rows.
class Reader {
 public:
  // kNotFound: no such file. kDenied: not readable for this user. Errors of an older, newer or altered schema
  // as in SqliteStore::open.
  [[nodiscard]] static Result<std::unique_ptr<Reader>> open(const std::string& path,
                                                            std::span<const Migration> known = migrations());
  ~Reader();

  [[nodiscard]] Result<Overview> overview();
  [[nodiscard]] Result<std::vector<EngineView>> engines();

  // The newest `limit` with an id below `before` (0: from the newest), newest first. Lists of decisions come
  // without their evidence.
  [[nodiscard]] Result<std::vector<ports::DecisionRow>> decisions(const std::string& engine, int limit,
                                                                  std::int64_t before = 0);
  [[nodiscard]] Result<std::optional<ports::DecisionRow>> decision(std::int64_t id);
  // The events that the decision names as its evidence, and the one at which it fell; ascending.
  [[nodiscard]] Result<std::vector<ports::EventRow>> evidence(std::int64_t decision);
  // The actions that the decision led to.
  [[nodiscard]] Result<std::vector<ports::ActionRow>> actions_of(std::int64_t decision);
  [[nodiscard]] Result<std::vector<ports::ActionRow>> actions(const std::string& engine, int limit,
                                                              std::int64_t before = 0);
  // Alerts, newest first, resolved ones too.
  [[nodiscard]] Result<std::vector<ports::AlertRow>> alerts(const std::string& engine, int limit);

  [[nodiscard]] Result<std::optional<ports::EventRow>> event(std::int64_t id);
  // Of one engine, id > after, ascending, at most `limit`. "" reads those of all engines in their one order.
  [[nodiscard]] Result<std::vector<ports::EventRow>> events(const std::string& engine, std::int64_t after,
                                                            int limit);
  // Of one engine, id > after, ascending, at most `limit`: what replay compares with.
  [[nodiscard]] Result<std::vector<ports::DecisionRow>> decisions_after(const std::string& engine,
                                                                        std::int64_t after, int limit);
  [[nodiscard]] Result<std::vector<RawReplyRow>> raw_replies(std::int64_t event);
  [[nodiscard]] Result<std::optional<std::string>> policy(const std::string& hash);
  // Hash and text of every policy that anything was ever decided under.
  [[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> policies();
  // From first to last day, both included, by day and name.
  [[nodiscard]] Result<std::vector<DayRow>> days(const std::string& engine, std::int64_t first,
                                                 std::int64_t last);

  // Every statement that the functions above run, for the test of their query plans.
  [[nodiscard]] static std::vector<std::string> statements();

 private:
  struct Statements;
  Reader(std::unique_ptr<Database> database, std::unique_ptr<Statements> statements);
  std::unique_ptr<Database> database_;
  std::unique_ptr<Statements> statements_;
};

}  // namespace fireboss::sqlite
