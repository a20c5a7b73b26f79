"""Which cases people have read: labelled, noted, or gone past under their name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from data.errors import WorkspaceError
from data.store.ledger import Ledger
from data.store.workspace import utc_now

__all__ = ["STANDING", "ReviewedCases", "mark_reviewed", "named", "reviewed_cases"]

# the newest label of each person for each case of the runs :runs, a JSON list, as the table `given`
STANDING = """
    WITH standing AS (
        SELECT max(label_id) AS label_id FROM labels
        WHERE undone_at IS NULL AND run_id IN (SELECT value FROM json_each(:runs))
        GROUP BY run_id, question_id, repeat, annotator),
    given AS (SELECT labels.* FROM labels JOIN standing USING (label_id))
"""
_SEEN = f"""
    {STANDING}, seen AS (
        SELECT run_id, question_id, repeat, annotator AS who FROM given
        UNION SELECT run_id, question_id, repeat, who FROM reads
        WHERE run_id IN (SELECT value FROM json_each(:runs)))
    SELECT '', count(*) FROM (SELECT DISTINCT run_id, question_id, repeat FROM seen)
    UNION ALL SELECT who, count(*) FROM seen GROUP BY who
"""  # noqa: S608 -- constants


@dataclass(frozen=True)
class ReviewedCases:
    """Cases that people read: labelled, noted, or marked as read.

    Attributes:
        cases: different cases that at least one person read.
        by: person -> cases, who read most first.
    """

    cases: int
    by: Mapping[str, int]


def mark_reviewed(ledger: Ledger, case: tuple[str, str, int], who: str) -> None:
    """Write down that a person read a case; a second time changes nothing.

    Args:
        ledger: of the workspace.
        case: (run_id, question_id, repeat).
        who: the person.

    Raises:
        WorkspaceError: nobody's name.
    """
    row = (*case, named(who), utc_now().isoformat())
    with ledger.open() as connection:
        connection.execute("INSERT OR IGNORE INTO reads VALUES (?, ?, ?, ?, ?)", row)


def reviewed_cases(ledger: Ledger, runs: Sequence[str]) -> ReviewedCases:
    """Count the cases of some runs that people labelled, noted or marked as read, and by whom."""
    if not ledger.path.exists():
        return ReviewedCases(0, {})
    with ledger.open() as connection:
        (_, cases), *people = connection.execute(_SEEN, {"runs": json.dumps(list(runs))}).fetchall()
    return ReviewedCases(cases, dict(sorted(people, key=lambda entry: (-entry[1], entry[0]))))


def named(who: str) -> str:
    """Give a person's name without space around it.

    Raises:
        WorkspaceError: there is none.
    """
    if not who.strip():
        raise WorkspaceError("error analysis needs the name of who does it; accepted: any text")
    return who.strip()
