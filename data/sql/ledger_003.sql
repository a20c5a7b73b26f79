-- What is told to others: stories, and which runs were released.
CREATE TABLE stories (
    story_id INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL, -- JSON of dashboard.story.Story
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    removed_at TEXT
);
CREATE INDEX stories_by_project ON stories (project);
CREATE TABLE releases (
    project TEXT NOT NULL,
    run_id TEXT NOT NULL,
    name TEXT NOT NULL, -- "" takes the mark away
    who TEXT NOT NULL,
    at TEXT NOT NULL
);

PRAGMA user_version = 3;
