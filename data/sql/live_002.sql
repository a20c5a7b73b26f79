-- when each alert rule began to fire or to hold; what it does now is its last row
CREATE TABLE alerts (
    rule TEXT NOT NULL,  -- its settings as JSON
    state TEXT NOT NULL,  -- firing or ok
    since REAL NOT NULL,  -- begin of the first window that brought it
    noted REAL NOT NULL,  -- when it was noted
    facts TEXT NOT NULL,  -- what is said of it, as JSON
    PRIMARY KEY (rule, since, state)
) WITHOUT ROWID;

-- who was told of which change
CREATE TABLE tellings (
    rule TEXT NOT NULL,
    state TEXT NOT NULL,
    since REAL NOT NULL,
    channel TEXT NOT NULL,  -- command or webhook
    told REAL NOT NULL,
    PRIMARY KEY (rule, since, state, channel)
) WITHOUT ROWID;
CREATE INDEX calls_without_topic ON calls (time) WHERE topic IS NULL AND question IS NOT NULL;
PRAGMA user_version = 2;
