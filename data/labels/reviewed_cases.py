"""Which cases annotators have reviewed: labelled, noted, or marked as read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now

# the newest label of each annotator for each case of the runs :runs, a JSON list, as the table `given`
CURRENT_LABELS = """
    WITH standing AS (
        SELECT max(label_id) AS label_id FROM labels
        WHERE undone_at IS NULL AND run_id IN (SELECT value FROM json_each(:runs))
        GROUP BY run_id, question_id, repeat, annotator),
    given AS (SELECT labels.* FROM labels JOIN standing USING (label_id))
"""
_REVIEWED = f"""
    {CURRENT_LABELS}, seen AS (
        SELECT run_id, question_id, repeat, annotator AS who FROM given
        UNION SELECT run_id, question_id, repeat, who FROM reads
        WHERE run_id IN (SELECT value FROM json_each(:runs)))
    SELECT '', count(*) FROM (SELECT DISTINCT run_id, question_id, repeat FROM seen)
    UNION ALL SELECT who, count(*) FROM seen GROUP BY who
"""  # noqa: S608 -- constants


@dataclass(frozen=True)
class ReviewedCases:
    """Cases that annotators labelled, noted, or marked as read."""

    cases: int  # different cases that at least one annotator reviewed
    by_annotator: Mapping[str, int]  # annotator -> cases, the most first


def mark_reviewed(ledger: Ledger, case: tuple[str, str, int], who: str) -> None:
    """Record that an annotator read a case; a second time changes nothing.

    Args:
        ledger: of the workspace.
        case: (run_id, question_id, repeat).
        who: the annotator.

    Raises:
        WorkspaceError: the name is empty.
    """
    row = (*case, annotator_name(who), utc_now().isoformat())
    with ledger.open() as connection:
        connection.execute("INSERT OR IGNORE INTO reads VALUES (?, ?, ?, ?, ?)", row)


def reviewed_cases(ledger: Ledger, runs: Sequence[str]) -> ReviewedCases:
    """Count the reviewed cases of some runs, in all and by annotator."""
    if not ledger.path.exists():
        return ReviewedCases(0, {})
    with ledger.open() as connection:
        (_, cases), *counts = connection.execute(_REVIEWED, {"runs": json.dumps(list(runs))}).fetchall()
    return ReviewedCases(cases, dict(sorted(counts, key=lambda entry: (-entry[1], entry[0]))))


def annotator_name(who: str) -> str:
    """Return a name without the space around it.

    Raises:
        WorkspaceError: it is empty.
    """
    if not who.strip():
        raise WorkspaceError("error analysis needs the name of the annotator; accepted: any text")
    return who.strip()
