-- Live traffic of one project. Times are seconds since 1970.

-- spans as they came, until their trace is read and no later one is expected
CREATE TABLE spans (
    trace_id TEXT NOT NULL,
    span_id TEXT NOT NULL,
    service TEXT NOT NULL,
    release TEXT NOT NULL,
    content BLOB NOT NULL,  -- a protobuf message
    PRIMARY KEY (trace_id, span_id)
) WITHOUT ROWID;

-- traces with spans that were not read yet, and those that still wait for late ones
CREATE TABLE traces (
    trace_id TEXT PRIMARY KEY,
    last_came REAL NOT NULL,  -- when its last span came
    is_read INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX traces_waiting ON traces (is_read, last_came);

-- one row a trace that asked something, kept or not
CREATE TABLE calls (
    trace_id TEXT PRIMARY KEY,
    time REAL NOT NULL,  -- start
    release TEXT NOT NULL,  -- "" where it is not known
    user_id TEXT NOT NULL,  -- "" where it is not known
    question TEXT,  -- NULL where the policy keeps none
    stratum TEXT NOT NULL,
    rate REAL NOT NULL,  -- share of its stratum that is kept
    kept INTEGER NOT NULL,
    refused INTEGER,  -- NULL where there is no answer to tell by
    answerable INTEGER,  -- NULL where it is not known
    error TEXT,  -- NULL where it did not fail
    context_tokens REAL,
    output_tokens REAL,
    latency_ms REAL,
    topic TEXT,  -- NULL where none is assigned yet
    came REAL NOT NULL,  -- when it was read: what is kept for so many days is kept from then on
    published INTEGER NOT NULL DEFAULT 0,  -- whether the run of its window holds it
    sample BLOB  -- its sample as compressed JSON; NULL where it is not kept
) WITHOUT ROWID;
CREATE INDEX calls_by_time ON calls (time);
CREATE INDEX calls_by_arrival ON calls (came);
CREATE INDEX calls_unpublished ON calls (time) WHERE kept AND NOT published;
CREATE INDEX calls_by_user ON calls (user_id) WHERE user_id != '';

CREATE TABLE feedback (
    feedback_id TEXT PRIMARY KEY,
    trace_id TEXT NOT NULL,  -- "" where it names none
    user_id TEXT NOT NULL,
    time REAL NOT NULL,
    name TEXT NOT NULL,  -- satisfaction_score, task_completed, nps_score, thumb, stars, comment ...
    value REAL,
    text TEXT,
    came REAL NOT NULL DEFAULT (strftime('%s', 'now'))
) WITHOUT ROWID;
CREATE INDEX feedback_by_trace ON feedback (trace_id);
CREATE INDEX feedback_by_user ON feedback (user_id);

-- windows that were published as runs
CREATE TABLE windows (
    first REAL NOT NULL,  -- begin, included
    last REAL NOT NULL,  -- end, excluded
    release TEXT NOT NULL,  -- "" of a window, else of the release that it is
    run_id TEXT NOT NULL,
    stale INTEGER NOT NULL DEFAULT 0,  -- whether a call of it came or changed since
    published REAL NOT NULL DEFAULT 0,  -- when
    PRIMARY KEY (first, last, release)
) WITHOUT ROWID;

-- what a process must find again: where it read the journal to, counts of what was taken out or came late
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
