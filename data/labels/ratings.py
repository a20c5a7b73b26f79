"""Human ratings of a case. Pass or fail is a label; a value of any other dimension is a rating.

Both can carry the number of the random queue that drew the case: only these are a random sample of the run.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.prompts.prompt import label_wording
from ragtriage.data.scoring.label_correction import rows_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import ADDRESSES, AGREES, COMPLETE
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now
from ragtriage.data.suites.safety import ATTACK
from ragtriage.metrics.schema.scores import IntArray

PASS, EVALUATOR = "pass", "evaluator:"
COMPLETENESS = (  # no judge is asked for it
    "How much of what the question and the documents call for does the answer say? "
    '"complete", "mostly", "partly", or "no".'
)


@dataclass(frozen=True)
class RatingDimension:
    """Something about a case that annotators can rate."""

    key: str  # "pass", the key of a judged metric, or "evaluator:NAME"
    title: str  # name on screen
    # word and value of each answer, best first; empty for a share of two whole numbers
    levels: tuple[tuple[str, float], ...]
    # what annotators are asked; where a judge labels it too, in the words of the judge's prompt
    question: str = ""

    @property
    def metric(self) -> str:
        """The judged metric of the same dimension; pass or fail has none."""
        return self.key.replace(EVALUATOR, "evaluator_", 1)

    @property
    def binary(self) -> bool:
        """True where there are only two answers."""
        return len(self.levels) == 2


RATING_DIMENSIONS: Mapping[str, RatingDimension] = {
    dimension.key: dimension
    for dimension in (
        RatingDimension(
            PASS, "Pass or fail", (("pass", 1.0), ("fail", 0.0)), "Would you accept this answer?"
        ),
        RatingDimension("correctness", "Correctness", tuple(AGREES.items()), label_wording("agrees")),
        RatingDimension(
            "answer_relevancy", "Answer relevancy", tuple(ADDRESSES.items()), label_wording("addresses")
        ),
        RatingDimension(
            "fluency",
            "Fluency",
            (("fluent", 1.0), ("not fluent", 0.0)),
            "Does it read as a fluent writer of its language would put it, whether it is right or not?",
        ),
        RatingDimension("completeness", "Completeness", tuple(COMPLETE.items()), COMPLETENESS),
        RatingDimension(
            "context_relevance",
            "Context relevance",
            (("relevant", 1.0), ("irrelevant", 0.0)),
            "Does what was retrieved help to answer the question?",
        ),
        RatingDimension(
            "faithfulness",
            "Faithfulness",
            (),
            "How many claims does the answer make, and how many of them does a document support? "
            f"Claims: {label_wording('claims')} Support: {label_wording('support')} "
            "An answer without claims cannot be rated.",
        ),
        RatingDimension(ATTACK, "Attack success", (("yes", 1.0), ("no", 0.0)), "Did the attack succeed?"),
    )
}


def dimension_of(key: str) -> RatingDimension:
    """Find a rating dimension.

    Raises:
        DataError: there is none with this key; the message lists those there are.
    """
    name = key.removeprefix(EVALUATOR)
    if key.startswith(EVALUATOR) and name.strip():
        return RatingDimension(key, name, (("yes", 1.0), ("no", 0.0)))
    if key not in RATING_DIMENSIONS:
        accepted = f"{', '.join(RATING_DIMENSIONS)}, {EVALUATOR}NAME"
        raise DataError(f"rating dimension {key[:60]!r}; accepted: {accepted}")
    return RATING_DIMENSIONS[key]


def offered_dimensions(ledger: Ledger, project: str) -> list[RatingDimension]:
    """List what can be rated in a project: the fixed dimensions, and one for each of its evaluators."""
    if not ledger.path.exists():
        return [*RATING_DIMENSIONS.values()]
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT name, question FROM evaluators WHERE project = ? AND removed_at IS NULL"
            " ORDER BY evaluator_id",
            (project,),
        ).fetchall()
    evaluators = [replace(dimension_of(f"{EVALUATOR}{name}"), question=question) for name, question in rows]
    return [*RATING_DIMENSIONS.values(), *evaluators]


def share_of(supported: int, claims: int) -> float:
    """Return the share of supported claims, the value of a faithfulness rating.

    Raises:
        DataError: there is no claim, or more are supported than there are.
    """
    if claims < 1 or not 0 <= supported <= claims:
        raise DataError(
            f"{supported} supported of {claims} claims; accepted: 1 claim or more, supported 0 to all of them"
        )
    return supported / claims


NO_VALUE = -1.0  # in the table: the annotator found that the dimension does not apply or cannot be rated
_ROUNDING = 1e-9
Case = tuple[str, str, int]
_SELECT = "SELECT question_id, repeat, annotator, {value}, queue_id FROM {table} WHERE {key} IN ("
_NEWEST = "SELECT max({key}) FROM {table} WHERE run_id = :run AND undone_at IS NULL"
_KEPT = " AND (NOT :drawn OR queue_id IS NOT NULL) GROUP BY question_id, repeat, annotator) ORDER BY {key}"
_RATINGS = (f"{_SELECT}{_NEWEST} AND quantity = :quantity{_KEPT}").format(
    value="value", table="ratings", key="rating_id"
)
_LABELS = (f"{_SELECT}{_NEWEST} AND verdict IS NOT NULL{_KEPT}").format(
    value="CASE verdict WHEN 'pass' THEN 1.0 ELSE 0.0 END", table="labels", key="label_id"
)
_UNDO = """
    UPDATE ratings SET undone_at = ? WHERE rating_id = (
        SELECT max(rating_id) FROM ratings
        WHERE run_id = ? AND annotator = ? AND quantity = ? AND undone_at IS NULL)
    RETURNING question_id, repeat, annotator, value, queue_id
"""


@dataclass(frozen=True)
class Rating:
    """One annotator's rating of one case."""

    question_id: str
    repeat: int
    annotator: str  # who rated
    value: float | None  # on the dimension's scale; None where it does not apply or cannot be rated
    queue_id: int | None  # the queue that drew the case; None for one found by browsing


def rate(
    ledger: Ledger,
    case: Case,
    annotator: str,
    dimension: str,
    value: float | None,
    queue_id: int | None = None,
) -> int:
    """Record a rating; until undone it replaces the annotator's earlier one of the case.

    The value is one of the dimension's levels, or a share from 0 to 1; None where it does not apply or cannot
    be rated. Pass or fail is a label, see Ledger.add_label.

    Returns:
        The rating's number.

    Raises:
        DataError: the dimension or the value is not accepted.
    """
    if not annotator.strip():
        raise WorkspaceError("a rating needs the name of its annotator; accepted: any text")
    if value is not None:
        _check(dimension_of(dimension), value)
    with ledger.open() as connection:
        cursor = connection.execute(
            "INSERT INTO ratings (run_id, question_id, repeat, annotator, quantity, value, queue_id, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *case,
                annotator.strip(),
                dimension_of(dimension).key,
                NO_VALUE if value is None else value,
                queue_id,
                utc_now().isoformat(),
            ),
        )
        return int(cursor.lastrowid or 0)


def _check(dimension: RatingDimension, value: float) -> None:
    if dimension.key == PASS:
        raise DataError("a verdict on the whole case is a label, not a rating; accepted: no value")
    near = any(abs(value - level) <= _ROUNDING for _, level in dimension.levels)
    if not (near if dimension.levels else 0.0 <= value <= 1.0):
        accepted = ", ".join(f"{level:g} ({word})" for word, level in dimension.levels) or "0 to 1"
        raise DataError(f"{dimension.key}: {value!r}; accepted: {accepted}")


def undo(ledger: Ledger, run_id: str, annotator: str, dimension: str) -> Rating | None:
    """Undo the annotator's newest rating of a dimension in a run and return it; None if there is none."""
    with ledger.open() as connection:
        row = connection.execute(
            _UNDO, (utc_now().isoformat(), run_id, annotator.strip(), dimension)
        ).fetchone()
    return _rating(row) if row else None


def ratings_of(ledger: Ledger, run_id: str, dimension: str, drawn: bool = False) -> list[Rating]:
    """List the newest rating of each case by each annotator.

    "pass" reads the labels. With `drawn` only ratings in a random queue count, the newest there.
    """
    if not ledger.path.exists():
        return []
    chosen = {"run": run_id, "quantity": dimension, "drawn": drawn}
    with ledger.open() as connection:
        rows = connection.execute(_LABELS if dimension == PASS else _RATINGS, chosen).fetchall()
    return [_rating(row) for row in rows]


def unrated(ledger: Ledger, run_id: str, dimension: str) -> list[Rating]:
    """List the cases of a random queue that an annotator found impossible to rate."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        rows = connection.execute(_RATINGS, {"run": run_id, "quantity": dimension, "drawn": True}).fetchall()
    return [rating for rating in map(_rating, rows) if rating.value is None]


def _rating(row: tuple[str, int, str, float, int | None]) -> Rating:
    question, repeat, annotator, value, queue_id = row
    return Rating(question, repeat, annotator, None if value == NO_VALUE else value, queue_id)


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
        """Return whether the queue has reached a row: it was rated, or is the next."""
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
