"""The annotations database of a workspace: SQLite, one connection per call, safe for many processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.store.database import Database
from ragtriage.data.store.workspace import utc_now

Verdict = Literal["pass", "fail"]


@dataclass(frozen=True)
class Label:
    """An annotator's label of a sample."""

    label_id: int  # number of the entry
    run_id: str
    question_id: str
    repeat: int  # which repeat of it
    annotator: str
    verdict: Verdict | None  # "pass", "fail", or None for a note only
    failure: str  # failure label, or ""
    note: str
    at: str  # time of the label, ISO in UTC
    queue_id: int | None = None  # random sample that it was drawn for; None for a case found by browsing


_CURRENT = """
    SELECT label_id, run_id, question_id, repeat, annotator, verdict, failure, note, at, queue_id
    FROM labels AS given
    WHERE run_id = ? AND undone_at IS NULL AND label_id = (
        SELECT max(label_id) FROM labels AS later
        WHERE later.run_id = given.run_id AND later.question_id = given.question_id
          AND later.repeat = given.repeat AND later.annotator = given.annotator AND later.undone_at IS NULL)
    ORDER BY label_id
"""
_UNDO = """
    UPDATE labels SET undone_at = ? WHERE label_id = (
        SELECT max(label_id) FROM labels WHERE run_id = ? AND annotator = ? AND undone_at IS NULL)
    RETURNING label_id, run_id, question_id, repeat, annotator, verdict, failure, note, at, queue_id
"""


class Ledger(Database):
    """Access to the annotations database of a workspace."""

    NAME = "ledger"

    def version(self) -> tuple[int, int]:
        """Return a cache key that changes whenever the database changes."""
        if not self.path.exists():
            return (0, 0)
        return self.remembered("version", self._version)

    def _version(self) -> tuple[int, int]:
        with self.open() as connection:
            (labels,) = connection.execute(
                "SELECT coalesce(max(label_id), 0) + count(undone_at) * 1000000007 FROM labels"
            ).fetchone()
            (others,) = connection.execute(
                "SELECT (SELECT count(*) FROM display_names) + (SELECT count(*) FROM baselines) * 100003"
                " + (SELECT count(*) FROM judgements) * 1000003"
            ).fetchone()
            (ratings,) = connection.execute(
                "SELECT coalesce(max(rating_id), 0) + count(undone_at) * 1000003 FROM ratings"
            ).fetchone()
        return (labels, others + ratings * 10**12)

    def add_label(
        self,
        case: tuple[str, str, int],  # (run_id, question_id, repeat)
        annotator: str,
        verdict: Verdict | None,  # "pass", "fail", or None for a note only
        failure: str = "",
        note: str = "",
        queue_id: int | None = None,  # random sample that it was drawn for; None for a case found by browsing
    ) -> int:
        """Add a label; it replaces the same annotator's earlier one of the case until it is undone.

        Returns:
            The label's number.
        """
        if not annotator.strip():
            raise WorkspaceError("a label needs the name of its annotator; accepted: any text")
        with self.open() as connection:
            cursor = connection.execute(
                "INSERT INTO labels (run_id, question_id, repeat, annotator, verdict, failure, note, at,"
                " queue_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*case, annotator.strip(), verdict, failure.strip(), note, utc_now().isoformat(), queue_id),
            )
            return int(cursor.lastrowid or 0)

    def undo_label(self, run_id: str, annotator: str) -> Label | None:
        """Undo the annotator's newest label in a run; return it, or None if there is none."""
        with self.open() as connection:
            row = connection.execute(_UNDO, (utc_now().isoformat(), run_id, annotator.strip())).fetchone()
        return Label(*row) if row else None

    def labels(self, run_id: str) -> list[Label]:
        """List the current labels of a run: the newest of each annotator for each case."""
        if not self.path.exists():
            return []
        if run_id not in self.remembered("labelled runs", self._labelled_runs):
            return []
        return list(self.remembered(f"labels {run_id}", lambda: self._labels(run_id)))

    def _labelled_runs(self) -> frozenset[str]:
        with self.open() as connection:
            return frozenset(row[0] for row in connection.execute("SELECT DISTINCT run_id FROM labels"))

    def _labels(self, run_id: str) -> tuple[Label, ...]:
        with self.open() as connection:
            return tuple(Label(*row) for row in connection.execute(_CURRENT, (run_id,)))

    def failure_labels(self) -> list[str]:
        """List the failure labels in use, most used first."""
        if not self.path.exists():
            return []
        with self.open() as connection:
            rows = connection.execute(
                "SELECT failure FROM labels WHERE failure <> '' AND undone_at IS NULL"
                " GROUP BY failure ORDER BY count(*) DESC, failure LIMIT 50"
            ).fetchall()
        return [row[0] for row in rows]

    def rename(self, run_id: str, name: str, who: str) -> None:
        """Change the display name of a run; the imported name stays in run.json."""
        if not name.strip():
            raise WorkspaceError("a run's name must not be empty; accepted: any text")
        self._insert("INSERT INTO display_names VALUES (?, ?, ?, ?)", run_id, name.strip(), who)

    def display_names(self) -> dict[str, str]:
        """Return the newest display name of each renamed run."""
        return dict(self._newest("SELECT run_id, name FROM display_names ORDER BY rowid"))

    def set_baseline(self, project: str, run_id: str, who: str) -> None:
        """Make a run the project's baseline; "" clears it."""
        self._insert("INSERT INTO baselines VALUES (?, ?, ?, ?)", project, run_id, who)

    def baselines(self) -> dict[str, str]:
        """Return the current baseline of each project that has one."""
        newest = dict(self._newest("SELECT project, run_id FROM baselines ORDER BY rowid"))
        return {project: run_id for project, run_id in newest.items() if run_id}

    def tag(self, run_id: str, tag: str, who: str) -> None:
        """Add a tag to a run, unless it has it."""
        if tag.strip():
            self._insert("INSERT OR IGNORE INTO run_tags VALUES (?, ?, ?, ?)", run_id, tag.strip(), who)

    def untag(self, run_id: str, tag: str) -> None:
        """Remove a tag from a run."""
        with self.open() as connection:
            connection.execute("DELETE FROM run_tags WHERE run_id = ? AND tag = ?", (run_id, tag))

    def tags(self) -> dict[str, list[str]]:
        """Return the tags of every tagged run."""
        tags: dict[str, list[str]] = {}
        for run_id, tag in self._newest("SELECT run_id, tag FROM run_tags ORDER BY rowid"):
            tags.setdefault(run_id, []).append(tag)
        return tags

    def _insert(self, statement: str, first: str, second: str, who: str) -> None:
        with self.open() as connection:
            connection.execute(statement, (first, second, who, utc_now().isoformat()))

    def _newest(self, query: str) -> Sequence[tuple[str, str]]:
        if not self.path.exists():
            return []
        return self.remembered(query, lambda: self._pairs(query))

    def _pairs(self, query: str) -> tuple[tuple[str, str], ...]:
        with self.open() as connection:
            return tuple((row[0], row[1]) for row in connection.execute(query))
