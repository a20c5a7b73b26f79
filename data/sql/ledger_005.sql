-- What a team expects a measure to bring: an assumption, held against the next run of the project.
CREATE TABLE expected_gains (
    gain_id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL, -- the run that it was entered on
    part TEXT NOT NULL, -- key of a part of the F1 tree
    gain REAL NOT NULL, -- in F1
    measure TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    undone_at TEXT
);
CREATE INDEX expected_gains_by_run ON expected_gains (run_id);

PRAGMA user_version = 5;
