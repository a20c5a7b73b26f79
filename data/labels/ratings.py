"""Human ratings of a case. Pass or fail is a label; a value of any other dimension is a rating.

Both can carry the number of the random queue that drew the case: only these are a random sample of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.labels.rating_dimensions import PASS, RatingDimension, dimension_of
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now

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

    Args:
        ledger: of the workspace.
        case: (run_id, question_id, repeat).
        annotator: name; must not be empty.
        dimension: key of what is rated; pass or fail is a label, see Ledger.add_label.
        value: one of its levels, or a share from 0 to 1; None where it does not apply or cannot be rated.
        queue_id: the queue that drew the case; None for one found by browsing.

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

    Args:
        ledger: of the workspace.
        run_id: the run.
        dimension: its key; "pass" reads the labels.
        drawn: only ratings in a random queue, the newest there.
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
