-- What people decided about the items of a dataset, in order; nothing is changed but `undone_at`.
CREATE TABLE dataset_events (
    event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    dataset_id TEXT NOT NULL,
    question_id TEXT NOT NULL,
    who TEXT NOT NULL, -- the reader; the command for what a command did
    action TEXT NOT NULL, -- accept, reject, edit, gold, move
    reason TEXT NOT NULL, -- of a rejection; '' otherwise
    item TEXT NOT NULL, -- the item after an edit, a gold or a move, as JSON; '' otherwise
    content_hash TEXT NOT NULL, -- of the item that was decided on, after the change
    at TEXT NOT NULL,
    undone_at TEXT
);
CREATE INDEX dataset_events_by_dataset ON dataset_events (dataset_id);

-- Versions of datasets: each is a question set, which never changes.
CREATE TABLE dataset_versions (
    dataset_id TEXT NOT NULL,
    version INTEGER NOT NULL, -- from 1
    set_id TEXT NOT NULL,
    corpus_version TEXT NOT NULL,
    n_read INTEGER NOT NULL, -- items that people had read
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (dataset_id, version)
);

-- The corpus that the draft of a dataset points into: the newest row.
CREATE TABLE dataset_corpora (
    dataset_id TEXT NOT NULL,
    corpus_version TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL
);

PRAGMA user_version = 6;
