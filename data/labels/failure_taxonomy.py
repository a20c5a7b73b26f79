"""A project's failure taxonomy: its failure labels, made from notes, defined, counted, renamed, merged.

Rows are added and never changed in meaning: a newer definition replaces an older one, and a case whose label
is gathered, renamed or merged gets a new label by the same annotator with the same verdict and note, so that
undoing it restores the earlier one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.store.ledger import Label, Ledger
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
"""  # noqa: S608 -- constant text


@dataclass(frozen=True)
class ReviewedCases:
    """Cases that annotators labelled, noted, or marked as read."""

    cases: int  # different cases that at least one annotator reviewed
    by_annotator: Mapping[str, int]  # annotator -> cases, the most first


def mark_reviewed(ledger: Ledger, case: tuple[str, str, int], who: str) -> None:
    """Record that an annotator read a case; a second time changes nothing.

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


LONGEST_LABEL = 120


@dataclass(frozen=True)
class LabelCount:
    """A failure label of a project, and how many cases have it."""

    label: str
    definition: str  # what it means; "" where there is none
    who: str  # author of the definition; "" for a label that is in use but not in the taxonomy
    at: str  # when, ISO time in UTC; "" likewise
    # run id -> cases that at least one annotator gave the label, for runs with any
    by_run: Mapping[str, int] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        """Cases over all runs."""
        return sum(self.by_run.values())

    @property
    def defined(self) -> bool:
        """True for a label in the taxonomy."""
        return bool(self.who)


_COUNTS = f"""
    {CURRENT_LABELS} SELECT failure, run_id, count(*) FROM (
        SELECT DISTINCT failure, run_id, question_id, repeat FROM given WHERE failure <> '')
    GROUP BY failure, run_id
"""  # noqa: S608 -- constant text
_NOTES = f"""
    {CURRENT_LABELS}
    SELECT label_id, run_id, question_id, repeat, annotator, verdict, failure, note, at, queue_id
    FROM given WHERE failure = '' AND trim(note) <> '' ORDER BY label_id DESC
"""  # noqa: S608 -- constant text
_COPY = f"""
    INSERT INTO labels (run_id, question_id, repeat, annotator, verdict, failure, note, at, queue_id)
    {CURRENT_LABELS} SELECT run_id, question_id, repeat, annotator, verdict, :failure, note, :at, queue_id
    FROM given
"""  # noqa: S608 -- constant text
_GATHER = (
    _COPY  # noqa: S608 -- constant text
    + " WHERE failure = '' AND trim(note) <> '' AND label_id IN (SELECT value FROM json_each(:labels))"
)
_RELABEL = _COPY + " WHERE failure = :old"
_TAXONOMY = """
    SELECT label, definition, who, at FROM taxonomy
    WHERE project = ? AND removed_at IS NULL ORDER BY rowid
"""


def define_label(ledger: Ledger, project: str, label: str, definition: str, who: str) -> None:
    """Add a failure label to a project's taxonomy, or change its definition.

    Raises:
        WorkspaceError: the label is empty or too long, or the name is empty.
    """
    label, who = _label(label), annotator_name(who)
    with _writing(ledger) as connection:
        _define(connection, project, label, definition.strip(), who)


def remove_label(ledger: Ledger, project: str, label: str) -> None:
    """Remove a label from the taxonomy; cases keep it, and it is listed while any does."""
    with _writing(ledger) as connection:
        _retire(connection, project, label)


def rename_label(ledger: Ledger, project: str, runs: Sequence[str], old: str, new: str, who: str) -> int:
    """Rename a label in the taxonomy, on the cases of the project and in its evaluators.

    Returns:
        How many human labels were changed.

    Raises:
        WorkspaceError: the new name is taken (see `merge_labels`), empty or too long, or `who` is empty.
    """
    new, who = _label(new), annotator_name(who)
    if any(count.label == new for count in label_counts(ledger, project, runs)):
        raise WorkspaceError(f"failure label {new!r} exists already; accepted: another name, or a merge")
    return _replace(ledger, project, runs, (old, new), who)


def merge_labels(ledger: Ledger, project: str, runs: Sequence[str], old: str, into: str, who: str) -> int:
    """Merge a label into another, which keeps its definition and takes over the cases and evaluators.

    Returns:
        How many human labels were changed.

    Raises:
        WorkspaceError: both are the same, or `who` is empty.
    """
    into, who = _label(into), annotator_name(who)
    if old == into:
        raise WorkspaceError(f"failure label {old!r} cannot be merged into itself; accepted: another label")
    return _replace(ledger, project, runs, (old, into), who)


def gather(ledger: Ledger, project: str, labels: Sequence[Label], failure: str, who: str) -> int:
    """Add a failure label to notes, in the name of the annotator who wrote each.

    The verdict stays: a note without one does not become a fail. A note that was changed, undone or labelled
    in the meantime is left alone. The label joins the taxonomy of the project, if it is not in there.

    Returns:
        How many notes got it.

    Raises:
        WorkspaceError: the label is empty or too long, or the name is empty.
    """
    failure, who = _label(failure), annotator_name(who)
    parameters = {
        "runs": json.dumps(sorted({label.run_id for label in labels})),
        "labels": json.dumps([label.label_id for label in labels]),
        "failure": failure,
        "at": utc_now().isoformat(),
    }
    with _writing(ledger) as connection:
        gathered = connection.execute(_GATHER, parameters).rowcount
        if gathered and failure not in _defined(connection, project):
            _define(connection, project, failure, "", who)
    return int(gathered)


def label_counts(ledger: Ledger, project: str, runs: Sequence[str]) -> list[LabelCount]:
    """List the labels in a project's taxonomy and the others in use, the most frequent first."""
    if not ledger.path.exists():
        return []
    by_label: dict[str, dict[str, int]] = {}
    with ledger.open() as connection:
        defined = _defined(connection, project)
        for label, run_id, cases in connection.execute(_COUNTS, {"runs": json.dumps(list(runs))}):
            by_label.setdefault(label, {})[run_id] = cases
    counts = [
        LabelCount(label, *defined.get(label, ("", "", "")), by_label.get(label, {}))
        for label in {**defined, **by_label}
    ]
    return sorted(counts, key=lambda count: (-count.cases, count.label))


def offered_labels(ledger: Ledger, project: str) -> list[str]:
    """List the labels to choose from: the project's taxonomy first, then others in use."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        defined = sorted(_defined(connection, project))
    return list(dict.fromkeys([*defined, *ledger.failure_labels()]))


def open_notes(ledger: Ledger, runs: Sequence[str]) -> list[Label]:
    """List the notes without a failure label, newest first."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return [Label(*row) for row in connection.execute(_NOTES, {"runs": json.dumps(list(runs))})]


@contextmanager
def _writing(ledger: Ledger) -> Iterator[sqlite3.Connection]:
    """Open a connection for one transaction: all of it is written, or nothing."""
    with ledger.open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection  # an error closes the connection, which rolls back
        connection.execute("COMMIT")


def _replace(ledger: Ledger, project: str, runs: Sequence[str], names: tuple[str, str], who: str) -> int:
    old, new = names
    parameters = {"runs": json.dumps(list(runs)), "old": old, "failure": new, "at": utc_now().isoformat()}
    with _writing(ledger) as connection:
        defined = _defined(connection, project)
        if new not in defined:
            _define(connection, project, new, defined.get(old, ("",))[0], who)
        _retire(connection, project, old)
        _point_evaluators(connection, project, names, who)
        return int(connection.execute(_RELABEL, parameters).rowcount)


def _point_evaluators(connection: sqlite3.Connection, project: str, names: tuple[str, str], who: str) -> None:
    now = utc_now().isoformat()
    connection.execute(
        "INSERT INTO evaluators (project, name, label, question, who, at)"
        " SELECT project, name, ?, question, ?, ? FROM evaluators"
        " WHERE project = ? AND label = ? AND removed_at IS NULL",
        (names[1], who, now, project, names[0]),
    )
    connection.execute(
        "UPDATE evaluators SET removed_at = ? WHERE project = ? AND label = ? AND removed_at IS NULL",
        (now, project, names[0]),
    )


def _defined(connection: sqlite3.Connection, project: str) -> dict[str, tuple[str, str, str]]:
    """Return definition, author and time of each label in the taxonomy."""
    return {label: (text, who, at) for label, text, who, at in connection.execute(_TAXONOMY, (project,))}


def _define(connection: sqlite3.Connection, project: str, label: str, definition: str, who: str) -> None:
    if _defined(connection, project).get(label, (None,))[0] == definition:
        return
    _retire(connection, project, label)
    connection.execute(
        "INSERT INTO taxonomy (project, label, definition, who, at) VALUES (?, ?, ?, ?, ?)",
        (project, label, definition, who, utc_now().isoformat()),
    )


def _retire(connection: sqlite3.Connection, project: str, label: str) -> None:
    connection.execute(
        "UPDATE taxonomy SET removed_at = ? WHERE project = ? AND label = ? AND removed_at IS NULL",
        (utc_now().isoformat(), project, label),
    )


def _label(text: str) -> str:
    if not text.strip() or len(text.strip()) > LONGEST_LABEL:
        raise WorkspaceError(
            f"failure label {text.strip()[:40]!r}; accepted: a text of at most {LONGEST_LABEL} characters"
        )
    return text.strip()
