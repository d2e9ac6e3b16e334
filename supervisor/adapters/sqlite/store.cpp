#include "supervisor/adapters/sqlite/store.h"

#include <algorithm>
#include <array>

#include "supervisor/adapters/sqlite/rows.h"

namespace fireboss::sqlite {
namespace {

// The day of a wall time, counted from 1970, also before it.
std::int64_t day_of(WallTime time) {
  return std::chrono::floor<std::chrono::days>(time.time_since_epoch()).count();
}

std::int64_t ms(MonoTime time) {
  return time.time_since_epoch().count();
}
std::int64_t ms(WallTime time) {
  return time.time_since_epoch().count();
}
std::optional<std::int64_t> ms_or_null(WallTime time) {
  return time == WallTime{} ? std::nullopt : std::optional{ms(time)};
}

// An integer column of the one row that `cursor` may have.
Result<std::optional<std::int64_t>> one_integer(Cursor cursor) {
  auto row = cursor.next();
  if (!row)
    return fail(std::move(row.error()));
  if (!*row)
    return std::nullopt;
  return cursor.integer(0);
}

Result<void> configure(Database& database) {
  auto mode = database.text("PRAGMA journal_mode = WAL");
  if (!mode)
    return fail(std::move(mode.error()));
  if (mode->value_or("") != "wal")
    return fail(ErrorCode::kUnsupported, "database " + database.path() + ": its file system cannot hold a " +
                                             "write-ahead log (is it a network share?); use a local disk");
  database.keep_wal();
  // A log that grew while a reader was in the way is cut back to the size it has between two checkpoints.
  return database.execute("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 4194304");
}

}  // namespace

struct SqliteStore::Statements {
  Statement find_engine, add_engine, find_boot, add_boot, find_policy, add_policy;
  Statement add_event, newest_decision, add_decision, fold_decision, add_evidence;
  Statement add_action, update_action, open_action;
  Statement raise, resolve, add_raw_reply, prune_raw_replies, put_state, count;
  Statement state, events;

  static Result<std::unique_ptr<Statements>> prepare(Database& database);
};

Result<std::unique_ptr<SqliteStore::Statements>> SqliteStore::Statements::prepare(Database& database) {
  auto out = std::make_unique<Statements>();
  struct Line {
    Statement* statement;
    std::string sql;
  };
  auto& s = *out;
  const std::array lines{
      Line{&s.find_engine, "SELECT id FROM engine WHERE name = ?"},
      Line{&s.add_engine, "INSERT INTO engine (name) VALUES (?)"},
      Line{&s.find_boot, "SELECT id FROM boot WHERE boot = ?"},
      Line{&s.add_boot, "INSERT INTO boot (boot) VALUES (?)"},
      Line{&s.find_policy, "SELECT id FROM policy WHERE hash = ?"},
      Line{&s.add_policy, "INSERT INTO policy (hash, text) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING"},
      Line{&s.add_event,
           "INSERT INTO event (engine, boot, mono, wall, kind, version, payload) VALUES (?, ?, ?, ?, ?, ?, "
           "?)"},
      Line{&s.newest_decision,
           "SELECT id, policy, payload, decider_version, grader_version FROM decision WHERE engine = ? "
           "ORDER BY id DESC LIMIT 1"},
      Line{&s.add_decision,
           "INSERT INTO decision (engine, first_event, last_event, first_mono, last_mono, first_wall, "
           "last_wall, kind, reason, payload, policy, decider_version, grader_version) "
           "VALUES (?1, ?2, ?2, ?3, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
      Line{&s.fold_decision,
           "UPDATE decision SET last_event = ?2, last_mono = ?3, last_wall = ?4, count = count + 1 "
           "WHERE id = ?1"},
      Line{&s.add_evidence, "INSERT INTO evidence (decision, event) VALUES (?, ?) ON CONFLICT DO NOTHING"},
      Line{&s.add_action,
           "INSERT INTO action (engine, kind, life, decision, step, state, begun, ended, steps) "
           "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      Line{&s.update_action,
           "UPDATE action SET step = ?3, state = ?4, ended = ?5, steps = ?6 WHERE engine = ?2 AND "
           "id = iif(?1 <> 0, ?1, (SELECT id FROM action WHERE engine = ?2 AND state = 'open'))"},
      Line{&s.open_action,
           std::string(kSelectAction) +
               "WHERE a.engine = (SELECT id FROM engine WHERE name = ?) AND a.state = 'open'"},
      Line{&s.raise,
           "INSERT INTO alert (engine, key, severity, text, raised, event) VALUES (?, ?, ?, ?, ?, ?) "
           "ON CONFLICT DO NOTHING"},
      Line{&s.resolve,
           "UPDATE alert SET resolved = ?3, resolved_event = ?4 WHERE engine = ?1 AND key = ?2 AND "
           "resolved IS NULL"},
      Line{&s.add_raw_reply,
           "INSERT INTO raw_reply (engine, event, call, variant, verdict, body) VALUES (?, ?, ?, ?, ?, ?)"},
      Line{&s.prune_raw_replies,
           "DELETE FROM raw_reply WHERE engine = ?1 AND id < (SELECT min(id) FROM (SELECT id, "
           "row_number() OVER (ORDER BY id DESC) AS n, sum(length(body)) OVER (ORDER BY id DESC) AS bytes "
           "FROM raw_reply WHERE engine = ?1) WHERE n <= ?2 AND (bytes <= ?3 OR n = 1))"},
      Line{&s.put_state,
           "INSERT INTO state (engine, event, json) VALUES (?1, ?2, ?3) ON CONFLICT (engine) DO UPDATE SET "
           "event = ?2, json = ?3"},
      Line{&s.count,
           "INSERT INTO day_count (engine, day, what, count) VALUES (?1, ?2, ?3, ?4) "
           "ON CONFLICT (engine, day, what) DO UPDATE SET count = count + ?4"},
      Line{&s.state, "SELECT json FROM state WHERE engine = (SELECT id FROM engine WHERE name = ?)"},
      Line{&s.events, std::string(kSelectEvent) +
                          "WHERE e.engine = (SELECT id FROM engine WHERE name = ?) AND e.id > ? "
                          "ORDER BY e.id LIMIT ?"},
  };
  for (const auto& line : lines) {
    auto statement = database.prepare(line.sql);
    if (!statement)
      return fail(statement.error().in(line.sql));
    *line.statement = std::move(*statement);
  }
  return out;
}

// The rows of one record, inside a transaction that somebody else commits.
class SqliteStore::Writer {
 public:
  Writer(Database& database, Statements& statements, const ports::Record& record)
      : database_(database), s_(statements), record_(record) {}

  Result<ports::Recorded> write() {
    if (auto done = write_event(); !done)
      return fail(std::move(done.error()));
    for (const auto& decision : record_.decisions)
      if (auto done = write_decision(decision); !done)
        return fail(done.error().in("decision '" + decision.reason + "'"));
    if (auto done = write_actions(); !done)
      return fail(std::move(done.error()));
    if (auto done = write_alerts(); !done)
      return fail(std::move(done.error()));
    if (auto done = write_raw_replies(); !done)
      return fail(std::move(done.error()));
    for (const auto& count : record_.counts)
      if (auto done = add_count(count.what, count.add); !done)
        return fail(std::move(done.error()));
    if (!record_.state.empty())
      if (auto done = s_.put_state.run(engine_, recorded_.event, record_.state); !done)
        return fail(std::move(done.error()));
    return recorded_;
  }

 private:
  // The id of a name that is kept once; added when it is new.
  Result<std::int64_t> intern(Statement& find, Statement& add, const std::string& name) {
    auto found = one_integer(find.query(name));
    if (!found)
      return fail(std::move(found.error()));
    if (*found)
      return **found;
    if (auto done = add.run(name); !done)
      return fail(std::move(done.error()));
    return database_.last_insert_id();
  }

  Result<void> add_count(const std::string& what, std::int64_t add) {
    return s_.count.run(engine_, day_of(record_.event.wall), what, add);
  }

  Result<void> write_event() {
    const auto& event = record_.event;
    if (event.engine.empty() || event.kind.empty())
      return fail(ErrorCode::kInternal, "an event to record has no engine or no kind");
    auto engine = intern(s_.find_engine, s_.add_engine, event.engine);
    if (!engine)
      return fail(std::move(engine.error()));
    auto boot = intern(s_.find_boot, s_.add_boot, event.boot);
    if (!boot)
      return fail(std::move(boot.error()));
    engine_ = *engine;
    if (auto done = s_.add_event.run(engine_, *boot, ms(event.mono), ms(event.wall), event.kind,
                                     event.version, event.payload);
        !done)
      return done;
    recorded_.event = database_.last_insert_id();
    return {};
  }

  Result<void> write_decision(const ports::DecisionRow& decision) {
    std::optional<std::int64_t> policy;
    if (!decision.policy_hash.empty()) {
      auto found = one_integer(s_.find_policy.query(decision.policy_hash));
      if (!found)
        return fail(std::move(found.error()));
      if (!*found)
        return fail(ErrorCode::kInternal,
                    "its policy " + decision.policy_hash + " has not been put into the record");
      policy = *found;
    }
    if (auto done = add_count("decision." + decision.kind, 1); !done)
      return done;
    auto folded = fold(decision, policy);
    if (!folded || *folded)
      return folded.map([](bool) {});
    if (auto done = s_.add_decision.run(
            engine_, recorded_.event, ms(record_.event.mono), ms(record_.event.wall), decision.kind,
            decision.reason, decision.payload, policy, decision.decider_version, decision.grader_version);
        !done)
      return done;
    note_decision(decision, database_.last_insert_id());
    for (const auto event : decision.evidence)
      if (auto done = s_.add_evidence.run(newest_decision_, event == 0 ? recorded_.event : event); !done)
        return done;
    return {};
  }

  // The engine's newest decision happens again if it is the same in every respect that is stored.
  Result<bool> fold(const ports::DecisionRow& decision, std::optional<std::int64_t> policy) {
    std::int64_t id = 0;
    {
      auto cursor = s_.newest_decision.query(engine_);
      auto row = cursor.next();
      if (!row || !*row)
        return row;
      const auto newest_policy = cursor.is_null(1) ? std::nullopt : std::optional{cursor.integer(1)};
      if (newest_policy != policy || cursor.text(2) != decision.payload ||
          cursor.text(3) != decision.decider_version || cursor.text(4) != decision.grader_version)
        return false;
      id = cursor.integer(0);
    }
    note_decision(decision, id);
    return s_.fold_decision.run(id, recorded_.event, ms(record_.event.mono), ms(record_.event.wall)).map([] {
      return true;
    });
  }

  void note_decision(const ports::DecisionRow& decision, std::int64_t id) {
    newest_decision_ = id;
    if (decision.kind == "restart" || decision.kind == "recycle")
      acting_decision_ = id;
  }

  Result<void> write_actions() {
    if (record_.update_action) {  // first: one is closed before the next is opened
      const auto& action = *record_.update_action;
      if (auto done = s_.update_action.run(action.id, engine_, action.step, action.state,
                                           ms_or_null(action.ended), action.steps);
          !done)
        return done;
      if (database_.changes() != 1)
        return fail(ErrorCode::kInternal, "engine " + record_.event.engine + " has no action " +
                                              std::to_string(action.id) + " to update");
    }
    if (record_.open_action) {
      const auto& action = *record_.open_action;
      const auto decision = action.decision != 0 ? std::optional{action.decision}
                            : acting_decision_   ? acting_decision_
                                                 : newest_decision_;
      if (auto done = s_.add_action.run(engine_, action.kind, action.life, decision, action.step,
                                        action.state.empty() ? std::string("open") : action.state,
                                        ms(action.begun == WallTime{} ? record_.event.wall : action.begun),
                                        ms_or_null(action.ended), action.steps);
          !done)
        return done;
      recorded_.action = database_.last_insert_id();
    }
    return {};
  }

  Result<void> write_alerts() {
    const auto wall = ms(record_.event.wall);
    for (const auto& key : record_.resolve)
      if (auto done = s_.resolve.run(engine_, key, wall, recorded_.event); !done)
        return done;
    for (const auto& alert : record_.raise) {
      if (auto done = s_.raise.run(engine_, alert.key, alert.severity, alert.text,
                                   alert.raised == WallTime{} ? wall : ms(alert.raised), recorded_.event);
          !done)
        return done.map_error([&](const Error& error) { return error.in("alert '" + alert.key + "'"); });
      if (database_.changes() == 1)
        if (auto done = add_count("alert." + alert.severity, 1); !done)
          return done;
    }
    return {};
  }

  Result<void> write_raw_replies() {
    if (record_.raw_replies.empty())
      return {};
    for (const auto& reply : record_.raw_replies)
      if (auto done = s_.add_raw_reply.run(engine_, recorded_.event, reply.call, reply.variant, reply.verdict,
                                           Blob{reply.body});
          !done)
        return done;
    return s_.prune_raw_replies.run(engine_, kRawReplies, kRawReplyBytes);
  }

  Database& database_;
  Statements& s_;
  const ports::Record& record_;
  ports::Recorded recorded_;
  std::int64_t engine_ = 0;
  std::optional<std::int64_t> newest_decision_, acting_decision_;
};

SqliteStore::SqliteStore(std::unique_ptr<Database> database, std::unique_ptr<Statements> statements)
    : database_(std::move(database)), statements_(std::move(statements)) {}
SqliteStore::~SqliteStore() {
  statements_.reset();  // before their connection
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path, OpenMode mode,
                                                       std::span<const Migration> known) {
  auto database = Database::open(path, mode == OpenMode::kCreate ? Access::kCreate : Access::kReadWrite);
  if (!database)
    return fail(std::move(database.error()));
  auto version = schema_version(**database, known);
  if (!version)
    return fail(std::move(version.error()));
  // Before the log is set up: an older, newer or foreign database stays as it is.
  if (*version != 0 || mode == OpenMode::kExisting)
    if (auto current = require_current(**database, known); !current)
      return fail(std::move(current.error()));
  if (auto done = configure(**database); !done)
    return fail(std::move(done.error()));
  if (*version == 0)
    if (auto done = apply_migrations(**database, known, nullptr); !done)
      return fail(std::move(done.error()));
  auto statements = Statements::prepare(**database);
  if (!statements)
    return fail(std::move(statements.error()));
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(*database), std::move(*statements)));
}

Result<ports::Recorded> SqliteStore::record(const ports::Record& record) {
  auto transaction = Transaction::begin(*database_);
  if (!transaction)
    return fail(std::move(transaction.error()));
  auto recorded = Writer(*database_, *statements_, record).write();
  if (!recorded)
    return recorded;
  if (auto done = transaction->commit(); !done)
    return fail(std::move(done.error()));
  if (on_recorded_)
    on_recorded_(recorded->event);
  return recorded;
}

Result<void> SqliteStore::put_policy(const std::string& hash, const std::string& text) {
  return statements_->add_policy.run(hash, text);
}

Result<std::optional<ports::ActionRow>> SqliteStore::open_action(const std::string& engine) {
  return first(statements_->open_action.query(engine), action_row);
}

Result<std::optional<std::string>> SqliteStore::state(const std::string& engine) {
  return first(statements_->state.query(engine), [](const Cursor& cursor) { return cursor.text(0); });
}

Result<std::vector<ports::EventRow>> SqliteStore::events(const std::string& engine, std::int64_t after,
                                                         int limit) {
  return collect(statements_->events.query(engine, after, std::max(limit, 0)), event_row);
}

}  // namespace fireboss::sqlite
