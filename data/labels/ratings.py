"""What people rate. A verdict on the whole case ("pass") is a label; everything else is a rating.

Both can carry the number of the random queue that drew the case: only these are a fair sample of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

from data.errors import DataError, WorkspaceError
from data.labels.rating_dimensions import PASS, RatingDimension, dimension_of
from data.store.ledger import Ledger
from data.store.workspace import utc_now

__all__ = ["Rating", "rate", "ratings_of", "undo", "unrated"]

NO_VALUE = -1.0  # in the table: looked at, and the quantity does not apply or cannot be said
_ROUNDING = 1e-9
Case = tuple[str, str, int]
_GIVEN = "SELECT question_id, repeat, annotator, {value}, queue_id FROM {table} WHERE {key} IN ("
_NEWEST = "SELECT max({key}) FROM {table} WHERE run_id = :run AND undone_at IS NULL"
_KEPT = " AND (NOT :drawn OR queue_id IS NOT NULL) GROUP BY question_id, repeat, annotator) ORDER BY {key}"
_RATINGS = (f"{_GIVEN}{_NEWEST} AND quantity = :quantity{_KEPT}").format(
    value="value", table="ratings", key="rating_id"
)
_LABELS = (f"{_GIVEN}{_NEWEST} AND verdict IS NOT NULL{_KEPT}").format(
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
    """What one person said of one case.

    Attributes:
        question_id: the question.
        repeat: which repeat of it.
        annotator: who.
        value: on the quantity's scale; None where the person found that it does not apply or cannot be said.
        queue_id: the queue that drew the case; None where it was found by browsing.
    """

    question_id: str
    repeat: int
    annotator: str
    value: float | None
    queue_id: int | None


def rate(
    ledger: Ledger,
    case: Case,
    annotator: str,
    quantity: str,
    value: float | None,
    queue_id: int | None = None,
) -> int:
    """Record a rating; it replaces the same person's earlier one of the case until undone.

    Args:
        ledger: of the workspace.
        case: (run_id, question_id, repeat).
        annotator: name of the person; must not be empty.
        quantity: what is rated; a verdict of "pass" is a label: see Ledger.add_label.
        value: one of its levels, for a share any from 0 to 1; None where it does not apply or cannot be said.
        queue_id: the queue that drew the case; None where it was found by browsing.

    Returns:
        The rating's number.

    Raises:
        DataError: the quantity or the value is not accepted.
    """
    if not annotator.strip():
        raise WorkspaceError("a rating needs the name of who gives it; accepted: any text")
    if value is not None:
        _check(dimension_of(quantity), value)
    with ledger.open() as connection:
        cursor = connection.execute(
            "INSERT INTO ratings (run_id, question_id, repeat, annotator, quantity, value, queue_id, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *case,
                annotator.strip(),
                dimension_of(quantity).key,
                NO_VALUE if value is None else value,
                queue_id,
                utc_now().isoformat(),
            ),
        )
        return int(cursor.lastrowid or 0)


def _check(quantity: RatingDimension, value: float) -> None:
    if quantity.key == PASS:
        raise DataError("a verdict on the whole case is a label, not a rating; accepted: no value")
    near = any(abs(value - level) <= _ROUNDING for _, level in quantity.levels)
    if not (near if quantity.levels else 0.0 <= value <= 1.0):
        accepted = ", ".join(f"{level:g} ({word})" for word, level in quantity.levels) or "0 to 1"
        raise DataError(f"{quantity.key}: {value!r}; accepted: {accepted}")


def undo(ledger: Ledger, run_id: str, annotator: str, quantity: str) -> Rating | None:
    """Take back the person's newest rating of a quantity in a run; None if there was nothing to take back."""
    with ledger.open() as connection:
        row = connection.execute(
            _UNDO, (utc_now().isoformat(), run_id, annotator.strip(), quantity)
        ).fetchone()
    return _rating(row) if row else None


def ratings_of(ledger: Ledger, run_id: str, quantity: str, drawn: bool = False) -> list[Rating]:
    """List what stands: the newest word of each person on each case.

    Args:
        ledger: of the workspace.
        run_id: the run.
        quantity: key of the quantity; "pass" reads the labels.
        drawn: only what was said in a random queue, each person's newest word there.
    """
    if not ledger.path.exists():
        return []
    chosen = {"run": run_id, "quantity": quantity, "drawn": drawn}
    with ledger.open() as connection:
        rows = connection.execute(_LABELS if quantity == PASS else _RATINGS, chosen).fetchall()
    return [_rating(row) for row in rows]


def unrated(ledger: Ledger, run_id: str, quantity: str) -> list[Rating]:
    """List where a person's newest word on a case, in a random queue, is that it cannot be rated."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        rows = connection.execute(_RATINGS, {"run": run_id, "quantity": quantity, "drawn": True}).fetchall()
    return [one for one in map(_rating, rows) if one.value is None]


def _rating(row: tuple[str, int, str, float, int | None]) -> Rating:
    question, repeat, annotator, value, queue_id = row
    return Rating(question, repeat, annotator, None if value == NO_VALUE else value, queue_id)
