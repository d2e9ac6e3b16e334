-- The record: what came in, what was decided, what was done.
-- Times: *_mono are CLOCK_MONOTONIC milliseconds of a boot, *_wall are Unix milliseconds, for people.

CREATE TABLE engine (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (name <> '')
) STRICT;

-- Monotonic times of different boots cannot be compared.
CREATE TABLE boot (
  id INTEGER PRIMARY KEY,
  boot TEXT NOT NULL UNIQUE
) STRICT;

-- The text of a policy is kept once, however many decisions rest on it.
CREATE TABLE policy (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE CHECK (hash <> ''),
  text TEXT NOT NULL
) STRICT;

-- The id is the order of everything.
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  engine INTEGER NOT NULL REFERENCES engine (id),
  boot INTEGER NOT NULL REFERENCES boot (id),
  mono INTEGER NOT NULL,
  wall INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind <> ''),
  version INTEGER NOT NULL,
  payload TEXT NOT NULL
) STRICT;
CREATE INDEX event_by_engine ON event (engine, id);

-- Consecutive identical decisions of an engine are one row.
CREATE TABLE decision (
  id INTEGER PRIMARY KEY,
  engine INTEGER NOT NULL REFERENCES engine (id),
  first_event INTEGER NOT NULL REFERENCES event (id),
  last_event INTEGER NOT NULL REFERENCES event (id),
  count INTEGER NOT NULL DEFAULT 1,
  first_mono INTEGER NOT NULL,
  last_mono INTEGER NOT NULL,
  first_wall INTEGER NOT NULL,
  last_wall INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind <> ''),
  reason TEXT NOT NULL,
  payload TEXT NOT NULL,
  policy INTEGER REFERENCES policy (id),
  decider_version TEXT NOT NULL,
  grader_version TEXT NOT NULL
) STRICT;
CREATE INDEX decision_by_engine ON decision (engine, id);
CREATE INDEX decision_by_first_event ON decision (first_event);
CREATE INDEX decision_by_last_event ON decision (last_event);

CREATE TABLE evidence (
  decision INTEGER NOT NULL REFERENCES decision (id) ON DELETE CASCADE,
  event INTEGER NOT NULL REFERENCES event (id),
  PRIMARY KEY (decision, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_by_event ON evidence (event);

CREATE TABLE action (
  id INTEGER PRIMARY KEY,
  engine INTEGER NOT NULL REFERENCES engine (id),
  kind TEXT NOT NULL CHECK (kind IN ('restart', 'recycle', 'start')),
  life TEXT NOT NULL,
  decision INTEGER REFERENCES decision (id),
  step TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'clean', 'not_helped', 'failed', 'abandoned')),
  begun INTEGER NOT NULL,
  ended INTEGER,
  steps TEXT NOT NULL
) STRICT;
CREATE INDEX action_by_engine ON action (engine, id);
CREATE INDEX action_by_decision ON action (decision);
-- One operation per engine at a time.
CREATE UNIQUE INDEX action_open ON action (engine) WHERE state = 'open';

CREATE TABLE alert (
  id INTEGER PRIMARY KEY,
  engine INTEGER NOT NULL REFERENCES engine (id),
  key TEXT NOT NULL CHECK (key <> ''),
  severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  text TEXT NOT NULL,
  raised INTEGER NOT NULL,
  resolved INTEGER,
  event INTEGER NOT NULL REFERENCES event (id),
  resolved_event INTEGER REFERENCES event (id)
) STRICT;
CREATE INDEX alert_by_engine ON alert (engine, id);
CREATE INDEX alert_by_event ON alert (event);
CREATE INDEX alert_by_resolved_event ON alert (resolved_event);
-- One open alert of a kind: one episode.
CREATE UNIQUE INDEX alert_open ON alert (engine, key) WHERE resolved IS NULL;

-- Replies of failed calls, bounded per engine by the writer. They need not be UTF-8.
CREATE TABLE raw_reply (
  id INTEGER PRIMARY KEY,
  engine INTEGER NOT NULL REFERENCES engine (id),
  event INTEGER NOT NULL REFERENCES event (id),
  call INTEGER NOT NULL,
  variant TEXT NOT NULL,
  verdict TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX raw_reply_by_engine ON raw_reply (engine, id);
CREATE INDEX raw_reply_by_event ON raw_reply (event);

-- The policy's state after the newest event: a view that could be folded again from the events.
CREATE TABLE state (
  engine INTEGER PRIMARY KEY REFERENCES engine (id),
  event INTEGER NOT NULL REFERENCES event (id),
  json TEXT NOT NULL
) STRICT;
CREATE INDEX state_by_event ON state (event);

-- Counts of a UTC day (days since 1970), so that a year's history is read from 365 rows.
CREATE TABLE day_count (
  engine INTEGER NOT NULL REFERENCES engine (id),
  day INTEGER NOT NULL,
  what TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (engine, day, what)
) STRICT, WITHOUT ROWID;
