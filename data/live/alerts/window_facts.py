"""What rules of alerts watch, read of the calls of a time: facts, means of windows, calls by topic."""

from __future__ import annotations

import numpy as np

from ragtriage.data.live.alerts.rules import MEANS, WatchedFact
from ragtriage.data.live.calls import Calls, user_codes
from ragtriage.data.live.policy import Alert
from ragtriage.data.live.production.buckets import SHARES
from ragtriage.metrics.schema.scores import FloatArray, IntArray

ALL_TIME = 2**40  # seconds of one window that holds all
_VALUES = {
    "refused": "refused",
    "wrongly_refused": "CASE WHEN answerable = 1 THEN refused END",
    "errors": "error IS NOT NULL",
    "": "1",  # of every call
}
_COUNTED = {
    (metric, user): (
        f"SELECT CAST(time / ?1 AS INTEGER) * ?1 AS start, {user} AS user, {value} AS value, count(*)"  # noqa: S608
        " FROM calls WHERE time >= ?2 AND time < ?3 AND value IS NOT NULL"
        " GROUP BY start, user, value ORDER BY start"
    )
    for metric, value in _VALUES.items()
    for user in ("user_id", "''")
}
_USERS = "SELECT EXISTS (SELECT 1 FROM calls WHERE user_id != '')"
_EACH = {
    column: (
        f"SELECT time, user_id, {column} FROM calls"  # noqa: S608
        f" WHERE time >= ? AND time < ? AND {column} IS NOT NULL ORDER BY time"
    )
    for column in MEANS
}


def watched_fact(calls: Calls, rule: Alert, first: float, last: float) -> WatchedFact:
    """Return what a rule watches of the calls of a time; what is 0 or 1 is counted by the database."""
    column = "latency_ms" if rule.metric.startswith("latency") else rule.metric
    with calls.open() as connection:
        if column in _EACH:
            rows = [(*row, 1) for row in connection.execute(_EACH[column], (first, last))]
        else:
            metric = column if column in SHARES else ""
            (known_users,) = connection.execute(_USERS).fetchone()
            query = _COUNTED[metric, "user_id" if metric and known_users else "''"]
            rows = connection.execute(query, (rule.window, first, last)).fetchall()
    counts = np.array([row[3] for row in rows], dtype=np.int64)
    known = np.array([bool(row[1]) for row in rows], dtype=np.bool_)
    users = np.repeat(user_codes([row[1] for row in rows]), counts)
    alone = ~np.repeat(known, counts)
    users[alone] = -1 - np.arange(int(alone.sum()))  # each its own
    times, values = (np.array([row[at] for row in rows], dtype=np.float64) for at in (0, 2))
    return WatchedFact(np.repeat(times, counts), np.repeat(values, counts), users)


_MEANS = {
    column: (
        f"SELECT CAST(time / ?1 AS INTEGER) AS part, count({column}), avg({column}) FROM calls"  # noqa: S608
        " WHERE time >= ?2 AND time < ?3 GROUP BY part ORDER BY part"
    )
    for column in MEANS
}


def window_means(
    calls: Calls, column: str, first: float, last: float, seconds: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the means of a fact in each window that has calls: windows since 1970, counts, means."""
    with calls.open() as connection:
        rows = connection.execute(_MEANS[column], (seconds, first, last)).fetchall()
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2]


def topic_counts(
    calls: Calls, first: float, last: float, seconds: int
) -> dict[float, dict[tuple[str, str], int]]:
    """Return the calls of each window of a time by topic and user; "" where a user is not known."""
    query = (
        "SELECT CAST(time / ?1 AS INTEGER) * ?1 AS start, topic, user_id, count(*) FROM calls"
        " WHERE topic IS NOT NULL AND time >= ?2 AND time < ?3 GROUP BY start, topic, user_id"
    )
    counted: dict[float, dict[tuple[str, str], int]] = {}
    with calls.open() as connection:
        for start, topic, user, n in connection.execute(query, (seconds, first, last)):
            counted.setdefault(float(start), {})[topic, user] = n
    return counted
