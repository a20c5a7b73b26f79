"""Random queues: which case a person labels next, so that labels are a fair sample of the run.

A label or rating given in a queue carries its number. What was found by browsing carries none.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from data.errors import WorkspaceError
from data.labels.rating_dimensions import dimension_of
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Ledger
from data.store.workspace import utc_now
from metrics.schema.scores import IntArray

__all__ = ["Queue", "QueueState", "queue_of", "queue_state", "rows_of", "start_queue"]

_SEEDS = 2**31
_IN_QUEUE = """
    SELECT question_id, repeat FROM ratings
    WHERE queue_id = :queue AND annotator = :who AND undone_at IS NULL
    UNION
    SELECT question_id, repeat FROM labels
    WHERE queue_id = :queue AND annotator = :who AND undone_at IS NULL AND verdict IS NOT NULL
"""


@dataclass(frozen=True)
class Queue:
    """A random order of the samples of a run, for one person and one quantity.

    Attributes:
        queue_id: its number.
        run_id: the run.
        quantity: key of what is rated.
        seed: of the order.
        who: the person.
    """

    queue_id: int
    run_id: str
    quantity: str
    seed: int
    who: str

    def order(self, n: int) -> IntArray:
        """(n,) rows of the run in the order in which they are drawn."""
        return np.asarray(np.random.default_rng(self.seed).permutation(n), dtype=np.int64)


@dataclass(frozen=True)
class QueueState:
    """How far a queue has come.

    Attributes:
        queue: the queue.
        rated: rows that its person has rated in it.
        coming: rows that are still to come, the next one first.
    """

    queue: Queue
    rated: frozenset[int]
    coming: tuple[int, ...]

    @property
    def total(self) -> int:
        """Samples of the run."""
        return len(self.rated) + len(self.coming)

    def drawn(self, row: int) -> bool:
        """Whether the queue has come to a row: it was rated in it, or is the next."""
        return row in self.rated or row in self.coming[:1]

    def after(self, row: int) -> int | None:
        """Give the row that comes next once this one is rated; None at the end."""
        return next((one for one in self.coming[:2] if one != row), None)


def start_queue(ledger: Ledger, run_id: str, quantity: str, who: str) -> Queue:
    """Start a random queue, or give the one that the person has already.

    The order is the same for everybody who rates a quantity of a run: so the first cases are rated by several
    people, and how far these agree can be told.
    """
    dimension_of(quantity)
    name = who.strip()
    if not name:
        raise WorkspaceError("a queue needs the name of who rates; accepted: any text")
    with ledger.open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        there = _queues(connection, run_id, quantity)
        mine = next((one for one in there if one.who == name), None)
        if mine is None:
            seed = there[0].seed if there else secrets.randbelow(_SEEDS)
            cursor = connection.execute(
                "INSERT INTO queues (run_id, quantity, seed, who, at) VALUES (?, ?, ?, ?, ?)",
                (run_id, quantity, seed, name, utc_now().isoformat()),
            )
            mine = Queue(int(cursor.lastrowid or 0), run_id, quantity, seed, name)
        connection.execute("COMMIT")
    return mine


def _queues(connection: sqlite3.Connection, run_id: str, quantity: str) -> list[Queue]:
    rows = connection.execute(
        "SELECT queue_id, run_id, quantity, seed, who FROM queues"
        " WHERE run_id = ? AND quantity = ? ORDER BY queue_id",
        (run_id, quantity),
    )
    return [Queue(*row) for row in rows]


def queue_of(ledger: Ledger, queue_id: int) -> Queue | None:
    """Find a queue by its number."""
    if queue_id < 1 or not ledger.path.exists():
        return None
    with ledger.open() as connection:
        row = connection.execute(
            "SELECT queue_id, run_id, quantity, seed, who FROM queues WHERE queue_id = ?", (queue_id,)
        ).fetchone()
    return Queue(*row) if row else None


def queue_state(ledger: Ledger, scored: ScoredRun, queue: Queue) -> QueueState:
    """Say which samples of a run a queue has behind it, and which come."""
    with ledger.open() as connection:
        cases = connection.execute(_IN_QUEUE, {"queue": queue.queue_id, "who": queue.who}).fetchall()
    rated = frozenset(rows_of(scored, cases).values())
    coming = tuple(row for row in queue.order(scored.n).tolist() if row not in rated)
    return QueueState(queue, rated, coming)


def rows_of(scored: ScoredRun, cases: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Find the row of each (question_id, repeat) that a run has."""
    wanted = set(cases)
    ids = np.array(sorted({name for name, _ in wanted}), dtype=object)
    codes = np.searchsorted(scored.question_ids, ids) if len(ids) else np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(np.isin(scored.question, codes))
    found = {
        (str(scored.question_ids[scored.question[row]]), int(scored.repeats[row])): int(row) for row in rows
    }
    return {case: row for case, row in found.items() if case in wanted}
