-- Jobs that make runs, as a grid search does: they belong to a project, and their run_id is ''.
ALTER TABLE jobs ADD COLUMN project TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 4;
