"""Random queues: the order in which an annotator labels cases, so that the labels are a random sample.

A label or rating from a queue carries its number; one of a case found by browsing carries none.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.labels.rating_dimensions import dimension_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now
from ragtriage.metrics.schema.scores import IntArray

_SEEDS = 2**31
_QUEUES = (
    "SELECT queue_id, run_id, quantity, seed, who FROM queues"
    " WHERE run_id = ? AND quantity = ? ORDER BY queue_id"
)
_IN_QUEUE = """
    SELECT question_id, repeat FROM ratings
    WHERE queue_id = :queue AND annotator = :who AND undone_at IS NULL
    UNION
    SELECT question_id, repeat FROM labels
    WHERE queue_id = :queue AND annotator = :who AND undone_at IS NULL AND verdict IS NOT NULL
"""


@dataclass(frozen=True)
class Queue:
    """A random order of the samples of a run, for one annotator and one rating dimension."""

    queue_id: int
    run_id: str
    dimension: str  # key of the rating dimension
    seed: int  # of the order
    who: str  # the annotator

    def order(self, n: int) -> IntArray:
        """(n,) rows of the run in the order in which they are drawn."""
        return np.asarray(np.random.default_rng(self.seed).permutation(n), dtype=np.int64)


@dataclass(frozen=True)
class QueueState:
    """The progress of a queue."""

    queue: Queue
    rated: frozenset[int]  # rows that its annotator has rated in it
    remaining: tuple[int, ...]  # rows that are not rated yet, the next one first

    @property
    def total(self) -> int:
        """Samples of the run."""
        return len(self.rated) + len(self.remaining)

    def drawn(self, row: int) -> bool:
        """Whether the queue has reached a row: it was rated, or is the next."""
        return row in self.rated or row in self.remaining[:1]

    def after(self, row: int) -> int | None:
        """Return the row that is next once this one is rated; None at the end."""
        return next((other for other in self.remaining[:2] if other != row), None)


def start_queue(ledger: Ledger, run_id: str, dimension: str, who: str) -> Queue:
    """Start a random queue, or return the one that the annotator has already.

    The order is the same for everybody who rates a dimension of a run, so that several annotators rate the
    first cases and their agreement can be measured.
    """
    dimension_of(dimension)
    name = who.strip()
    if not name:
        raise WorkspaceError("a queue needs the name of the annotator; accepted: any text")
    with ledger.open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        queues = [Queue(*row) for row in connection.execute(_QUEUES, (run_id, dimension))]
        own = next((queue for queue in queues if queue.who == name), None)
        if own is None:
            seed = queues[0].seed if queues else secrets.randbelow(_SEEDS)
            cursor = connection.execute(
                "INSERT INTO queues (run_id, quantity, seed, who, at) VALUES (?, ?, ?, ?, ?)",
                (run_id, dimension, seed, name, utc_now().isoformat()),
            )
            own = Queue(int(cursor.lastrowid or 0), run_id, dimension, seed, name)
        connection.execute("COMMIT")
    return own


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
    """Return which samples of a run are rated in a queue, and which remain."""
    with ledger.open() as connection:
        cases = connection.execute(_IN_QUEUE, {"queue": queue.queue_id, "who": queue.who}).fetchall()
    rated = frozenset(rows_of(scored, cases).values())
    remaining = tuple(row for row in queue.order(scored.n).tolist() if row not in rated)
    return QueueState(queue, rated, remaining)


def rows_of(scored: ScoredRun, cases: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Find the row of each (question_id, repeat) that a run has."""
    wanted = set(cases)
    ids = np.array(sorted({name for name, _ in wanted}), dtype=object)
    codes = np.searchsorted(scored.question_ids, ids) if len(ids) else np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(np.isin(scored.question, codes))
    by_case = {
        (str(scored.question_ids[scored.question[row]]), int(scored.repeats[row])): int(row) for row in rows
    }
    return {case: row for case, row in by_case.items() if case in wanted}
