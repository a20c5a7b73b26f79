"""Facts of all calls of a time, summed in SQL by piece of time, user and topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.live.calls import Calls, live_folder
from ragtriage.data.live.topics import OTHER, Topics
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval, interval

MOST_QUESTIONS = 5_000  # distinct ones that are put into topics here, where no topic is stored
ANSWERED = "refused IS NOT NULL"
_SUMS = (  # of a group of calls, in the order of the fields of Sums
    "count(*)",
    f"sum({ANSWERED})",
    "coalesce(sum(refused), 0)",
    f"coalesce(sum({ANSWERED} AND answerable = 1), 0)",
    "coalesce(sum(refused = 1 AND answerable = 1), 0)",
    "sum(error IS NOT NULL)",
    "count(context_tokens)",
    "coalesce(sum(context_tokens), 0)",
    "sum(kept)",
)
_BY_TIME = (
    "SELECT CAST((time - ?) / ? AS INTEGER) AS piece, time >= ? AS later, user_id, topic,"  # noqa: S608
    f" {', '.join(_SUMS)} FROM calls WHERE time >= ? AND time < ?"
    " GROUP BY piece, later, user_id, topic ORDER BY piece, later, user_id"
)
_BY_QUESTION = (
    f"SELECT time >= ? AS later, question, count(*) AS n, {', '.join(_SUMS[1:])} FROM calls"  # noqa: S608
    " WHERE time >= ? AND time < ? AND question IS NOT NULL GROUP BY later, question"
    " ORDER BY n DESC LIMIT ?"
)
_RELEASES = (
    "SELECT release, min(time), count(*) FROM calls WHERE time >= ? AND time < ? GROUP BY release"
    " ORDER BY min(time)"
)
_STRATA = (
    "SELECT stratum, rate, count(*), sum(kept) FROM calls WHERE time >= ? AND time < ?"
    " GROUP BY stratum, rate ORDER BY rate DESC, stratum"
)
_LATENCY = (  # in whole milliseconds, so that a million calls are few rows
    "SELECT CAST(latency_ms + 0.5 AS INTEGER) AS ms, count(*) FROM calls"
    " WHERE time >= ? AND time < ? AND latency_ms IS NOT NULL GROUP BY ms"
)
_TIMED_USERS = (
    "SELECT count(DISTINCT nullif(user_id, '')), coalesce(sum(user_id = ''), 0) FROM calls"
    " WHERE time >= ? AND time < ? AND latency_ms IS NOT NULL"
)
WIDE = 0.3  # share of the whole time from which on reading all calls in their order is faster than by time


@dataclass(frozen=True)
class Sums:
    """Calls summed by group, each (m,)."""

    calls: IntArray
    answered: IntArray  # with an answer, by which a refusal is told
    refused: IntArray
    answerable: IntArray  # of those answered, the ones whose question has an answer
    wrongly: IntArray  # of these, the refused
    errors: IntArray
    counted: IntArray  # whose tokens of context are known
    tokens: FloatArray
    kept: IntArray

    def part(self, rows: BoolArray) -> Sums:
        """Return some of the groups."""
        return Sums(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> Sums:
        """Return the sums of rows in the order of the fields."""
        table = np.array(rows, dtype=np.float64).reshape(-1, len(_SUMS))
        n = table.astype(np.int64)
        return cls(n[:, 0], n[:, 1], n[:, 2], n[:, 3], n[:, 4], n[:, 5], n[:, 6], table[:, 7], n[:, 8])


@dataclass(frozen=True)
class Buckets:
    """All calls of a time, by piece of it, by whether they are of its later part, by user and topic."""

    piece: IntArray  # (m,) from 0
    later: BoolArray  # (m,)
    user_id: tuple[str, ...]  # (m,) "" where it is not known
    topic: tuple[str | None, ...]  # (m,)
    sums: Sums

    def share(self, name: str, rows: BoolArray) -> Interval:
        """Return a share of the calls of some groups, with its 95 % interval by user."""
        part, (hits, of) = self.sums.part(rows), SHARES[name]
        users = [self.user_id[at] for at in np.flatnonzero(rows)]
        return share_interval(getattr(part, hits), getattr(part, of), users)


SHARES = {  # name -> the sums that it is the ratio of
    "refused": ("refused", "answered"),
    "wrongly_refused": ("wrongly", "answerable"),
    "errors": ("errors", "calls"),
}


@dataclass(frozen=True)
class Release:
    """A release in a time."""

    name: str
    first: float  # its first call in that time
    calls: int


@dataclass(frozen=True)
class Stratum:
    """The calls of a stratum that are kept at one rate."""

    name: str
    rate: float
    calls: int
    kept: int


def share_interval(hits: IntArray, of: IntArray, users: Sequence[str]) -> Interval:
    """Return a share of calls that are counted by group, with its 95 % interval by user.

    Args:
        hits: (m,) calls of each group that count.
        of: (m,) calls of each group.
        users: (m,) "" where a group's calls are of nobody known: each of them stands by itself.
    """
    names = np.array(users, dtype=object)
    codes = np.unique(names.astype(str), return_inverse=True)[1] if len(names) else np.zeros(0, np.int64)
    total = int(of.sum())
    clusters = np.repeat(codes, of).astype(np.int64)
    alone = np.repeat(names == "", of)
    clusters[alone] = len(codes) + np.arange(int(alone.sum()))
    pairs = np.column_stack([hits, of - hits]).ravel()
    values = np.repeat(np.tile([1.0, 0.0], len(hits)), pairs)
    return interval(values, clusters, total, binary=True)


def buckets_of(calls: Calls, first: float, last: float, seconds: float, later: float) -> Buckets:
    """Return the calls of a time in pieces of so many seconds, split where its later part begins."""
    with calls.open() as connection:
        rows = connection.execute(
            over(calls, _BY_TIME, first, last), (first, seconds, later, first, last)
        ).fetchall()
    return Buckets(
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.bool_),
        tuple(row[2] for row in rows),
        tuple(row[3] for row in rows),
        Sums.of([row[4:] for row in rows]),
    )


def topics_of_questions(
    workspace: Workspace, project: str, calls: Calls, times: tuple[float, float, float]
) -> Buckets:
    """Return the calls of a time by topic where none is stored with them: by the words of their questions.

    Topics are those that were learned before, else those of the questions of the earlier part. At most 5,000
    questions are read, those asked most.

    Args:
        workspace: of the project.
        project: its name.
        calls: its live traffic.
        times: begin, begin of the later part, end.
    """
    first, later, last = times
    with calls.open() as connection:
        rows = connection.execute(
            over(calls, _BY_QUESTION, first, last), (later, first, last, MOST_QUESTIONS)
        ).fetchall()
    topics = Topics.load(live_folder(workspace, project))
    if topics is None:
        known = [row for row in rows if not row[0]] or rows
        topics = Topics.learned(row[1] for row in known for _ in range(min(row[2], 20)))
    assigned = {question: topics.topic_of(question) for question in {row[1] for row in rows}}
    names = tuple(assigned[row[1]] for row in rows)
    if set(names) <= {OTHER}:
        rows, names = [], ()
    return Buckets(
        np.zeros(len(rows), dtype=np.int64),
        np.array([row[0] for row in rows], dtype=np.bool_),
        ("",) * len(rows),
        names,
        Sums.of([row[2:] for row in rows]),
    )


def releases_in(calls: Calls, first: float, last: float) -> list[Release]:
    """Return the releases with calls in a time, by their first call in it."""
    with calls.open() as connection:
        return [
            Release(*row) for row in connection.execute(over(calls, _RELEASES, first, last), (first, last))
        ]


def strata_in(calls: Calls, first: float, last: float) -> list[Stratum]:
    """Return how many calls of each stratum there are in a time and how many of them are kept."""
    with calls.open() as connection:
        return [Stratum(*row) for row in connection.execute(over(calls, _STRATA, first, last), (first, last))]


def latencies_in(calls: Calls, first: float, last: float) -> tuple[FloatArray, int]:
    """Return how long calls of a time took in milliseconds, and how many users or lone calls those are."""
    with calls.open() as connection:
        rows = connection.execute(over(calls, _LATENCY, first, last), (first, last)).fetchall()
        users = connection.execute(over(calls, _TIMED_USERS, first, last), (first, last)).fetchone()
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return np.repeat(table[:, 0], table[:, 1]).astype(np.float64), sum(users)


def over(calls: Calls, query: str, first: float, last: float) -> str:
    """Return a query over a time so that it reads all calls in their order, where most are of that time."""
    known = calls.remembered("span of time", calls.span_of_time)
    if known is None or min(last, known[1]) - max(first, known[0]) < WIDE * (known[1] - known[0]):
        return query
    return query.replace(" time >= ? AND time < ?", " +time >= ? AND +time < ?")  # no index on +time
