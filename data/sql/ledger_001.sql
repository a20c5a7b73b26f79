-- What people add to a workspace. Rows are added, never changed in meaning: an undo is a time, not a deletion.
CREATE TABLE display_names (
    run_id TEXT NOT NULL,
    name TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE run_tags (
    run_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (run_id, tag)
);
CREATE TABLE baselines (
    project TEXT NOT NULL,
    run_id TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE labels (
    label_id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    question_id TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    annotator TEXT NOT NULL,
    verdict TEXT CHECK (verdict IN ('pass', 'fail')),
    failure TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL,
    undone_at TEXT
);
CREATE INDEX labels_by_case ON labels (run_id, question_id, repeat);

PRAGMA user_version = 1;
