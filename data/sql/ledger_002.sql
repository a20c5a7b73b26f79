-- What judges say, the jobs that ask them, and what people say at random and in their own words.
CREATE TABLE calls (
    key TEXT PRIMARY KEY, -- of all that the answer depends on: content, prompt, schema, model, attempt
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    sdk TEXT NOT NULL,
    at TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    payload TEXT,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL,
    seconds REAL NOT NULL DEFAULT 0,
    asked INTEGER NOT NULL DEFAULT 1,
    batch TEXT NOT NULL DEFAULT ''
);
CREATE TABLE jobs (
    job_id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    run_id TEXT NOT NULL,
    spec TEXT NOT NULL,
    state TEXT NOT NULL,
    progress TEXT NOT NULL DEFAULT '{}',
    message TEXT NOT NULL DEFAULT '',
    host TEXT NOT NULL DEFAULT '',
    pid INTEGER NOT NULL DEFAULT 0,
    started_at TEXT NOT NULL,
    heartbeat REAL NOT NULL, -- seconds since 1970
    ended_at TEXT,
    stop_asked INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX jobs_by_run ON jobs (run_id);
CREATE TABLE batches (
    intent_id INTEGER PRIMARY KEY AUTOINCREMENT,
    batch_id TEXT,
    host TEXT NOT NULL, -- of the service it was sent to
    keys TEXT NOT NULL,
    at TEXT NOT NULL,
    collected_at TEXT
);
CREATE TABLE judgements (
    judgement_id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    judge TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    sdk TEXT NOT NULL,
    digest TEXT NOT NULL, -- names the file beside the run
    samples INTEGER NOT NULL,
    scored INTEGER NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX judgements_by_run ON judgements (run_id, kind);
ALTER TABLE labels ADD COLUMN queue_id INTEGER; -- the random queue that the case was drawn by; null: found by browsing
CREATE TABLE queues (
    queue_id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    quantity TEXT NOT NULL, -- what is labelled: "pass", a metric, or an evaluator
    seed INTEGER NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE ratings (
    rating_id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    question_id TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    annotator TEXT NOT NULL,
    quantity TEXT NOT NULL,
    value REAL NOT NULL, -- on the quantity's own scale
    queue_id INTEGER,
    at TEXT NOT NULL,
    undone_at TEXT
);
CREATE INDEX ratings_by_run ON ratings (run_id, quantity);
CREATE TABLE taxonomy (
    project TEXT NOT NULL,
    label TEXT NOT NULL,
    definition TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    removed_at TEXT
);
CREATE TABLE evaluators (
    evaluator_id INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    label TEXT NOT NULL, -- failure label that it looks for
    question TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    removed_at TEXT
);
CREATE TABLE reads (
    run_id TEXT NOT NULL,
    question_id TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (run_id, question_id, repeat, who)
);

PRAGMA user_version = 2;
