#include "supervisor/adapters/sqlite/reader.h"

#include <algorithm>
#include <array>
#include <limits>

#include "supervisor/adapters/sqlite/rows.h"

namespace fireboss::sqlite {
namespace {

constexpr std::int64_t kMaxId = std::numeric_limits<std::int64_t>::max();

// Ids below `before`, or all.
std::int64_t upper(std::int64_t before) {
  return before == 0 ? kMaxId : before;
}

EngineView engine_view(const Cursor& cursor) {
  return {cursor.text(0), cursor.text(1), cursor.integer(2), WallTime{Millis{cursor.integer(3)}}};
}

RawReplyRow raw_reply_row(const Cursor& cursor) {
  RawReplyRow row;
  row.id = cursor.integer(0);
  row.event = cursor.integer(1);
  row.reply.engine = cursor.text(2);
  row.reply.call = static_cast<int>(cursor.integer(3));
  row.reply.variant = cursor.text(4);
  row.reply.verdict = cursor.text(5);
  row.reply.body = cursor.text(6);
  row.wall = WallTime{Millis{cursor.integer(7)}};
  return row;
}

// Ends by itself whatever happens in between; a read transaction gives all its statements one moment.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& database) : database_(database) {}
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ~ReadTransaction() {
    if (database_.in_transaction())
      (void)database_.execute("COMMIT");
  }
  Result<void> begin() { return database_.execute("BEGIN"); }

 private:
  Database& database_;
};

constexpr std::string_view kOfEngine = " = (SELECT id FROM engine WHERE name = ?) ";

enum Query {
  kEngines,
  kOpenActions,
  kOpenAlerts,
  kDecisions,
  kDecisionsOfEngine,
  kDecision,
  kDecisionsAfter,
  kEvidenceIds,
  kEvidence,
  kActionsOfDecision,
  kActions,
  kActionsOfEngine,
  kAlerts,
  kAlertsOfEngine,
  kEvent,
  kEvents,
  kEventsOfEngine,
  kRawReplies,
  kPolicy,
  kPolicies,
  kDays,
  kDaysOfEngine,
  kQueries,
};

std::string with(std::string_view select, std::string_view rest) {
  return std::string(select) + std::string(rest);
}
// `alias`.engine is the engine of a name.
std::string of_engine(std::string_view select, std::string_view alias, std::string_view rest) {
  return std::string(select) + "WHERE " + std::string(alias) + ".engine" + std::string(kOfEngine) +
         std::string(rest);
}

std::string sql_of(Query query) {
  switch (query) {  // no default: a new query must be written here
    case kEngines:
      return "SELECT g.name, s.json, s.event, e.wall FROM engine g LEFT JOIN state s ON s.engine = g.id "
             "LEFT JOIN event e ON e.id = s.event ORDER BY g.name";
    case kOpenActions:
      return with(kSelectAction, "WHERE a.state = 'open' ORDER BY a.engine");
    case kOpenAlerts:
      return with(kSelectAlert, "WHERE t.resolved IS NULL ORDER BY t.raised, t.id");
    case kDecisions:
      return with(kSelectDecision, "WHERE d.id < ? ORDER BY d.id DESC LIMIT ?");
    case kDecisionsOfEngine:
      return of_engine(kSelectDecision, "d", "AND d.id < ? ORDER BY d.id DESC LIMIT ?");
    case kDecision:
      return with(kSelectDecision, "WHERE d.id = ?");
    case kDecisionsAfter:
      return of_engine(kSelectDecision, "d", "AND d.id > ? ORDER BY d.id LIMIT ?");
    case kEvidenceIds:
      return "SELECT event FROM evidence WHERE decision = ? ORDER BY event";
    case kEvidence:
      return with(
          kSelectEvent,
          "WHERE e.id IN (SELECT event FROM evidence WHERE decision = ?1 UNION ALL SELECT first_event FROM "
          "decision WHERE id = ?1) ORDER BY e.id");
    case kActionsOfDecision:
      return with(kSelectAction, "WHERE a.decision = ? ORDER BY a.id");
    case kActions:
      return with(kSelectAction, "WHERE a.id < ? ORDER BY a.id DESC LIMIT ?");
    case kActionsOfEngine:
      return of_engine(kSelectAction, "a", "AND a.id < ? ORDER BY a.id DESC LIMIT ?");
    case kAlerts:
      return with(kSelectAlert, "WHERE t.id < ? ORDER BY t.id DESC LIMIT ?");
    case kAlertsOfEngine:
      return of_engine(kSelectAlert, "t", "AND t.id < ? ORDER BY t.id DESC LIMIT ?");
    case kEvent:
      return with(kSelectEvent, "WHERE e.id = ?");
    case kEvents:
      return with(kSelectEvent, "WHERE e.id > ? ORDER BY e.id LIMIT ?");
    case kEventsOfEngine:
      return of_engine(kSelectEvent, "e", "AND e.id > ? ORDER BY e.id LIMIT ?");
    case kRawReplies:
      return "SELECT r.id, r.event, g.name, r.call, r.variant, r.verdict, r.body, e.wall FROM raw_reply r "
             "JOIN engine g ON g.id = r.engine JOIN event e ON e.id = r.event WHERE r.event = ? ORDER BY "
             "r.id";
    case kPolicy:
      return "SELECT text FROM policy WHERE hash = ?";
    case kPolicies:
      return "SELECT hash, text FROM policy ORDER BY hash";
    case kDays:
      return "SELECT c.day, c.what, sum(c.count) FROM engine g CROSS JOIN day_count c ON c.engine = g.id "
             "WHERE c.day BETWEEN ? AND ? GROUP BY c.day, c.what ORDER BY c.day, c.what";
    case kDaysOfEngine:
      return "SELECT c.day, c.what, c.count FROM day_count c WHERE c.engine" + std::string(kOfEngine) +
             "AND c.day BETWEEN ? AND ? ORDER BY c.day, c.what";
    case kQueries:
      break;
  }
  return "";
}

}  // namespace

struct Reader::Statements {
  std::array<Statement, kQueries> all;
  Statement& operator[](Query query) { return all[query]; }
};

std::vector<std::string> Reader::statements() {
  std::vector<std::string> out;
  out.reserve(kQueries);
  for (int query = 0; query < kQueries; ++query)
    out.push_back(sql_of(static_cast<Query>(query)));
  return out;
}

Reader::Reader(std::unique_ptr<Database> database, std::unique_ptr<Statements> statements)
    : database_(std::move(database)), statements_(std::move(statements)) {}
Reader::~Reader() {
  statements_.reset();  // before their connection
}

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path, std::span<const Migration> known) {
  auto database = Database::open(path, Access::kReadOnly);
  if (!database)
    return fail(std::move(database.error()));
  if (auto current = require_current(**database, known); !current)
    return fail(std::move(current.error()));
  auto statements = std::make_unique<Statements>();
  for (int query = 0; query < kQueries; ++query) {
    const auto sql = sql_of(static_cast<Query>(query));
    auto statement = (*database)->prepare(sql);
    if (!statement)
      return fail(statement.error().in(sql));
    statements->all[static_cast<std::size_t>(query)] = std::move(*statement);
  }
  return std::unique_ptr<Reader>(new Reader(std::move(*database), std::move(statements)));
}

Result<Overview> Reader::overview() {
  ReadTransaction transaction(*database_);
  if (auto begun = transaction.begin(); !begun)
    return fail(std::move(begun.error()));
  Overview out;
  auto views = engines();
  if (!views)
    return fail(std::move(views.error()));
  auto operations = collect((*statements_)[kOpenActions].query(), action_row);
  if (!operations)
    return fail(std::move(operations.error()));
  auto open_alerts = collect((*statements_)[kOpenAlerts].query(), alert_row);
  if (!open_alerts)
    return fail(std::move(open_alerts.error()));
  return Overview{std::move(*views), std::move(*operations), std::move(*open_alerts)};
}

Result<std::vector<EngineView>> Reader::engines() {
  return collect((*statements_)[kEngines].query(), engine_view);
}

Result<std::vector<ports::DecisionRow>> Reader::decisions(const std::string& engine, int limit,
                                                          std::int64_t before) {
  auto rows =
      engine.empty()
          ? collect((*statements_)[kDecisions].query(upper(before), std::max(limit, 0)), decision_row)
          : collect((*statements_)[kDecisionsOfEngine].query(engine, upper(before), std::max(limit, 0)),
                    decision_row);
  return rows;
}

Result<std::optional<ports::DecisionRow>> Reader::decision(std::int64_t id) {
  auto row = first((*statements_)[kDecision].query(id), decision_row);
  if (!row || !*row)
    return row;
  auto ids = collect((*statements_)[kEvidenceIds].query(id), [](const Cursor& c) { return c.integer(0); });
  if (!ids)
    return fail(std::move(ids.error()));
  (*row)->evidence = std::move(*ids);
  return row;
}

Result<std::vector<ports::EventRow>> Reader::evidence(std::int64_t decision) {
  return collect((*statements_)[kEvidence].query(decision), event_row);
}

Result<std::vector<ports::ActionRow>> Reader::actions_of(std::int64_t decision) {
  return collect((*statements_)[kActionsOfDecision].query(decision), action_row);
}

Result<std::vector<ports::ActionRow>> Reader::actions(const std::string& engine, int limit,
                                                      std::int64_t before) {
  if (engine.empty())
    return collect((*statements_)[kActions].query(upper(before), std::max(limit, 0)), action_row);
  return collect((*statements_)[kActionsOfEngine].query(engine, upper(before), std::max(limit, 0)),
                 action_row);
}

Result<std::vector<ports::AlertRow>> Reader::alerts(const std::string& engine, int limit) {
  if (engine.empty())
    return collect((*statements_)[kAlerts].query(kMaxId, std::max(limit, 0)), alert_row);
  return collect((*statements_)[kAlertsOfEngine].query(engine, kMaxId, std::max(limit, 0)), alert_row);
}

Result<std::optional<ports::EventRow>> Reader::event(std::int64_t id) {
  return first((*statements_)[kEvent].query(id), event_row);
}

Result<std::vector<ports::EventRow>> Reader::events(const std::string& engine, std::int64_t after,
                                                    int limit) {
  if (engine.empty())
    return collect((*statements_)[kEvents].query(after, std::max(limit, 0)), event_row);
  return collect((*statements_)[kEventsOfEngine].query(engine, after, std::max(limit, 0)), event_row);
}

Result<std::vector<ports::DecisionRow>> Reader::decisions_after(const std::string& engine, std::int64_t after,
                                                                int limit) {
  return collect((*statements_)[kDecisionsAfter].query(engine, after, std::max(limit, 0)), decision_row);
}

Result<std::vector<RawReplyRow>> Reader::raw_replies(std::int64_t event) {
  return collect((*statements_)[kRawReplies].query(event), raw_reply_row);
}

Result<std::optional<std::string>> Reader::policy(const std::string& hash) {
  return first((*statements_)[kPolicy].query(hash), [](const Cursor& c) { return c.text(0); });
}

Result<std::vector<std::pair<std::string, std::string>>> Reader::policies() {
  return collect((*statements_)[kPolicies].query(),
                 [](const Cursor& c) { return std::pair(c.text(0), c.text(1)); });
}

Result<std::vector<DayRow>> Reader::days(const std::string& engine, std::int64_t first_day,
                                         std::int64_t last_day) {
  const auto read = [](const Cursor& c) { return DayRow{c.integer(0), c.text(1), c.integer(2)}; };
  if (engine.empty())
    return collect((*statements_)[kDays].query(first_day, last_day), read);
  return collect((*statements_)[kDaysOfEngine].query(engine, first_day, last_day), read);
}

}  // namespace fireboss::sqlite
