"""The calls of a project's live traffic, with their spans, feedback and windows, in one SQLite database."""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote

import numpy as np
import orjson

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.live.policy import Policy, Stratum
from ragtriage.data.store.access import must_write
from ragtriage.data.store.database import Database
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.live.sampling import keep
from ragtriage.metrics.schema.scores import FloatArray, IntArray

FILE, JOURNAL = "calls.sqlite", "journal"  # in the folder of a project
LONGEST_NAME = 200  # of a folder
LATE = "late spans"  # fact: how many came when their trace was given up
UNREADABLE = "unreadable traces"  # fact: how many have something that no sample may have
DAMAGED = "damaged bytes of the journal"  # fact: how many were skipped
FUTURE = "times in the future"  # fact: of how many calls the arrival stands for the time they say


def live_folder(workspace: Workspace, project: str) -> Path:
    """Return the folder of a project's live traffic.

    Raises:
        WorkspaceError: the name of the project is empty, or too long for a folder.
    """
    name = quote(project, safe=" ")
    if not project.strip() or len(name) > LONGEST_NAME:
        raise WorkspaceError(
            f"project {project[:60]!r}: is no name of a folder; accepted: 1 to 60 characters"
        )
    return workspace.root / "live" / name.replace(".", "%2E")


def live_projects(workspace: Workspace) -> list[str]:
    """Return the projects with live traffic, by name."""
    folders = {
        path.parent for name in (FILE, JOURNAL) for path in (workspace.root / "live").glob(f"*/{name}")
    }
    return sorted(unquote(folder.name) for folder in folders)


def listed(projects: Iterable[str], most: int = 12) -> str:
    """Return names of projects as an error may print them: what moves a cursor is written out."""
    names = [name[:60] if name.isprintable() else repr(name[:60]) for name in projects]
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


@dataclass(frozen=True)
class Call:
    """One trace that asked something: its facts, and its sample where the policy keeps it."""

    trace_id: str
    time: float  # its start, seconds since 1970
    release: str  # "" where it is not known
    user_id: str  # "" where it is not known
    question: str | None  # None where the policy keeps none
    stratum: Stratum
    rate: float  # share of its stratum that is kept
    kept: bool
    refused: bool | None  # None where there is no answer to tell by
    answerable: bool | None  # None where it is not known
    error: str | None  # None where it did not fail
    context_tokens: float | None
    output_tokens: float | None
    latency_ms: float | None
    topic: str | None = None
    sample: bytes | None = None  # packed; None where it is not kept
    came: float = 0.0  # when it was read, seconds since 1970


@dataclass(frozen=True)
class Feedback:
    """One thing that a user said of a call; one with a text has no value, and the reverse."""

    feedback_id: str
    trace_id: str  # "" where it names none
    user_id: str
    time: float  # seconds since 1970
    name: str  # satisfaction_score, task_completed, nps_score, response_time, thumb, stars, comment ...
    value: float | None
    text: str | None = None


@dataclass(frozen=True)
class Window:
    """A stretch of time, or a release, that was published as a run."""

    first: float  # seconds since 1970, included
    last: float  # excluded
    release: str  # "" of a window of time
    run_id: str
    stale: bool = False  # whether a call of it came or changed since
    published: float = 0.0  # when, seconds since 1970


@dataclass(frozen=True)
class CallFacts:
    """Facts of n calls in order of time; NaN where one is not known."""

    trace_id: list[str]
    time: FloatArray  # (n,) seconds since 1970
    release: list[str]
    user_id: list[str]
    question: list[str | None]
    topic: list[str | None]
    refused: FloatArray  # (n,) 0 or 1
    answerable: FloatArray  # (n,) 0 or 1
    failed: FloatArray  # (n,) 0 or 1
    context_tokens: FloatArray  # (n,)
    output_tokens: FloatArray  # (n,)
    latency_ms: FloatArray  # (n,)
    kept: FloatArray  # (n,) 0 or 1
    rate: FloatArray  # (n,)


@dataclass(frozen=True)
class TraceFacts:
    """What the spans of a trace say beside its sample."""

    time: float  # when it began, seconds since 1970
    user_id: str = ""
    release: str = ""


def user_codes(users: Sequence[str]) -> IntArray:
    """Return a code a user; calls of nobody known have one each."""
    names = [user or f"\0{at}" for at, user in enumerate(users)]
    return np.unique(names, return_inverse=True)[1].astype(np.int64) if names else np.zeros(0, np.int64)


def name_list(names: Iterable[str]) -> str:
    """Return names as a list that SQLite reads, by json_each."""
    return json.dumps(sorted(names))


def packed(sample: Mapping[str, Any]) -> bytes:
    """Return a sample as it is stored."""
    return zlib.compress(orjson.dumps(sample, default=str), 1)


def unpacked(content: bytes) -> dict[str, Any]:
    """Return a stored sample.

    Raises:
        WorkspaceError: it is damaged.
    """
    try:
        sample: dict[str, Any] = orjson.loads(zlib.decompress(content))
    except (zlib.error, ValueError) as error:
        raise WorkspaceError("a stored call is damaged; accepted: the database as it was written") from error
    return sample


def call_of(
    trace_id: str,
    sample: Mapping[str, Any],
    facts: TraceFacts,
    *,
    refused: bool,
    disliked: bool,
    policy: Policy,
) -> Call:
    """Return the call of a sample: its facts, its stratum, and whether it is kept.

    Args:
        trace_id: of its trace.
        sample: in the native form.
        facts: what else is known of it.
        refused: whether its answer is a refusal.
        disliked: whether its user said so.
        policy: says at which rate its stratum is kept.
    """
    tags = dict(sample.get("tags") or {})
    error, topic = tags.get("error"), tags.get("topic")
    answered = sample.get("answer") is not None
    stratum: Stratum = (
        "error" if error is not None else "thumbs_down" if disliked else "refusal" if refused else "rest"
    )
    rate = policy.keep.rate(stratum)
    kept = keep(trace_id, rate)
    answerable = {"yes": True, "no": False}.get(str(sample.get("answerable")))
    return Call(
        trace_id,
        facts.time,
        facts.release,
        facts.user_id,
        sample["question"] if policy.keep.questions or kept else None,
        stratum,
        rate,
        kept,
        refused if answered else None,
        answerable,
        None if error is None else str(error),
        sample.get("input_tokens"),
        sample.get("output_tokens"),
        sample.get("latency_ms"),
        topic=None if topic is None else str(topic),  # as the system itself says; else it is learned
        sample=packed(sample) if kept else None,
    )


_CALL = tuple(field.name for field in fields(Call))
_values_of = attrgetter(*_CALL)
_PUT_CALL = f"INSERT OR REPLACE INTO calls ({', '.join(_CALL)}) VALUES ({', '.join('?' * len(_CALL))})"  # noqa: S608
_FACTS = (
    "SELECT trace_id, time, release, user_id, question, topic, refused, answerable, error IS NOT NULL,"
    " context_tokens, output_tokens, latency_ms, kept, rate FROM calls WHERE time >= ? AND time < ?"
    " ORDER BY time, trace_id"
)
_TEXTS = 6  # leading columns of _FACTS that are kept as they are, but for the time


class Calls(Database):
    """Access to the live traffic of one project."""

    NAME = "live"

    @classmethod
    def of(cls, workspace: Workspace, project: str, *, create: bool = False) -> Self:
        """Open the live traffic of a project.

        Raises:
            WorkspaceError: it has none and none is to be created, or this process only reads.
        """
        path = live_folder(workspace, project) / FILE
        if create:
            must_write(f"workspace {workspace.root}")
            path.parent.mkdir(workspace.mode(), parents=True, exist_ok=True)
        elif not path.exists():
            raise WorkspaceError(
                f"project {project[:60]!r}: has no live traffic; accepted: one that `ragtriage collect` fills"
            )
        elif path.stat().st_size == 0:
            raise WorkspaceError(
                f"{path}: is empty, so what it held is lost; accepted: `ragtriage collect`, which fills it"
                " from what the journal still has"
            )
        return cls(path)

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection whose statements are one transaction; what is deleted is overwritten."""
        with self.open() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def facts(self, first: float, last: float) -> CallFacts:
        """Return the facts of the calls of a time, `last` excluded."""
        with self.open() as connection:
            rows = connection.execute(_FACTS, (first, last)).fetchall()
        columns = list(zip(*rows, strict=True)) if rows else [()] * 14
        times, texts, numbers = columns[1], [columns[0], *columns[2:_TEXTS]], columns[_TEXTS:]
        arrays = [np.array(column, dtype=np.float64) for column in numbers]
        trace_id, release, user_id, question, topic = (list(column) for column in texts)
        return CallFacts(
            trace_id, np.array(times, dtype=np.float64), release, user_id, question, topic, *arrays
        )

    def span_of_time(self) -> tuple[float, float] | None:
        """Return the times of the first and the last call; None without calls."""
        with self.open() as connection:
            first, last = connection.execute("SELECT min(time), max(time) FROM calls").fetchone()
        return None if first is None else (first, last)

    def time_at_share(self, share: float) -> float:
        """Return the time before which a share of the calls lies, the oldest first."""
        with self.open() as connection:
            (total,) = connection.execute("SELECT count(*) FROM calls").fetchone()
            query = "SELECT time FROM calls ORDER BY time LIMIT 1 OFFSET ?"
            row = connection.execute(query, (int(total * share),)).fetchone()
        return float("inf") if row is None else float(row[0])

    def samples(self, first: float, last: float, release: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the kept samples of a time, `last` excluded, of one release or all, in order of time."""
        query = (
            "SELECT trace_id, sample, rate, user_id, topic FROM calls WHERE kept AND sample IS NOT NULL"
            " AND time >= ? AND time < ? AND (? IS NULL OR release = ?) ORDER BY time, trace_id"
        )
        with self.open() as connection:
            for trace_id, content, rate, user, topic in connection.execute(
                query, (first, last, release, release)
            ):
                sample = unpacked(content)
                tags = {**(sample.get("tags") or {}), **({"topic": topic} if topic else {})}
                facts = {"trace_id": trace_id, "sampling_rate": rate, "tags": tags}
                yield {**sample, **facts, **({"user_id": user} if user else {})}

    def feedback(self, first: float, last: float) -> list[Feedback]:
        """Return the feedback that was given in a time, `last` excluded, in order of time."""
        return self._rows(
            Feedback, "feedback WHERE time >= ? AND time < ? ORDER BY time, feedback_id", first, last
        )

    def feedback_on(self, first: float, last: float) -> list[Feedback]:
        """Return the feedback on calls of a time, and that which names no call, in order of time."""
        return self._rows(
            Feedback,
            "feedback WHERE trace_id = ''"
            " OR trace_id IN (SELECT trace_id FROM calls WHERE time >= ? AND time < ?)"
            " ORDER BY time, feedback_id",
            first,
            last,
        )

    def windows(self) -> list[Window]:
        """Return the published windows and releases in order of time."""
        return self._rows(Window, "windows ORDER BY first, last, release")

    def fact(self, name: str, otherwise: str = "") -> str:
        """Return a fact that a process noted."""
        with self.open() as connection:
            row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return otherwise if row is None else str(row[0])

    def losses(self) -> dict[str, int]:
        """Return how many spans, traces and bytes of the traffic could not be used; {} for none."""
        counts = {name: int(self.fact(name, "0")) for name in (LATE, UNREADABLE, DAMAGED, FUTURE)}
        return {name: n for name, n in counts.items() if n}

    def _rows(self, kind: Any, source: str, *values: object) -> list[Any]:
        names = ", ".join(field.name for field in fields(kind))
        with self.open() as connection:
            rows = connection.execute(f"SELECT {names} FROM {source}", values)  # noqa: S608 -- constant text
            return [kind(*row) for row in rows]


_STALE = "UPDATE windows SET stale = 1 WHERE first <= ?1 AND last > ?1 AND release IN ('', ?2) AND NOT stale"
_PLACE = "SELECT time, release FROM calls WHERE trace_id = ?"


def put_calls(connection: sqlite3.Connection, calls: Iterable[Call]) -> None:
    """Store calls; one that is there is replaced. Windows that hold one, or did, are stale."""
    for call in calls:
        earlier = connection.execute(_PLACE, (call.trace_id,)).fetchone()
        connection.execute(_PUT_CALL, _values_of(call))
        for place in {(call.time, call.release), *([earlier] if earlier else ())}:
            connection.execute(_STALE, place)


def put_feedback(connection: sqlite3.Connection, given: Iterable[Feedback]) -> set[str]:
    """Store feedback and return the ids of what is new; what is there already changes nothing.

    A call that was disliked is read again, since its stratum may be kept at another rate, and its window is
    stale.
    """
    names = ", ".join(field.name for field in fields(Feedback))
    query = f"INSERT OR IGNORE INTO feedback ({names}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 -- constant text
    new: set[str] = set()
    for each in given:
        if connection.execute(query, astuple(each)).rowcount:
            connection.execute("UPDATE traces SET is_read = 0 WHERE trace_id = ?", (each.trace_id,))
            for place in connection.execute(_PLACE, (each.trace_id,)).fetchall():
                connection.execute(_STALE, place)
            new.add(each.feedback_id)
    return new


def put_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Note a fact."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def add_to_count(connection: sqlite3.Connection, name: str, more: int) -> None:
    """Add to a fact that is a count."""
    connection.execute(
        "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        (name, more),
    )
