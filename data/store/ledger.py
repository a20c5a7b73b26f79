"""The annotations database of a workspace: SQLite, one connection per call, safe for many processes."""

import sqlite3
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeVar

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.read_costs import add_costs
from ragtriage.data.store.access import frozen_ledger, must_write, read_only
from ragtriage.data.store.stored_file import file_version
from ragtriage.data.store.workspace import Workspace, utc_now

T = TypeVar("T")
Verdict = Literal["pass", "fail"]
JOURNAL, JOURNAL_ON_NETWORK = "PRAGMA journal_mode = WAL", "PRAGMA journal_mode = DELETE"
BUSY_SECONDS = 15.0
UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)
NETWORK_FILE_SYSTEMS = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "fuse.sshfs",
    "9p",
    "afs",
    "glusterfs",
    "ceph",
}


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


class Ledger:
    """Access to the annotations database of a workspace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[Hashable, Any] = {}  # what was read of the files as they are now
        self._read_at: tuple[int, ...] = ()

    @property
    def on_network(self) -> bool:
        """True where the file is on a network file system, where WAL is not safe."""
        return _file_system(self.path.parent) in NETWORK_FILE_SYSTEMS

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection with the newest tables; every statement on it is its own transaction."""
        try:
            with closing(self._connect()) as connection:
                add_costs(queries=1)
                yield connection
                if connection.total_changes:
                    self._read = {}
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
                must_write(f"ledger {self.path}")
            raise WorkspaceError(
                f"ledger {self.path}: {error}; accepted: a writable file on a disk with free space"
            ) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite quotes what it cannot read
            raise self._damaged(str(error)) from error

    def _damaged(self, fault: str) -> WorkspaceError:
        return WorkspaceError(
            f"ledger {self.path}: {fault}; move it aside to start an empty one, it is not overwritten"
        )

    def check(self) -> None:
        """Check every page of the file, where there is one.

        Raises:
            WorkspaceError: it is damaged, or cannot be opened.
        """
        if not self.path.exists():
            return
        with self.open() as connection:
            (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise self._damaged(str(answer))

    def _connect(self) -> sqlite3.Connection:
        if read_only():
            return frozen_ledger(self.path, self._prepare, len(_migrations()))
        try:
            Workspace(self.path.parent).create_file(self.path)
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                self._prepare(connection)
            except (sqlite3.Error, WorkspaceError):
                connection.close()
                raise
            return connection
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in UNWRITABLE:
                raise
        return frozen_ledger(self.path, self._prepare, len(_migrations()))

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == len(_migrations()):
            return
        if version > len(_migrations()):
            raise WorkspaceError(
                f"ledger {self.path}: has version {version}, from a newer ragtriage; accepted: up to version "
                f"{len(_migrations())}, or an update of ragtriage"
            )
        connection.execute(JOURNAL_ON_NETWORK if self.on_network else JOURNAL)
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for script in _migrations()[version:]:  # each ends by setting its number as user_version
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute("COMMIT")

    @property
    def files(self) -> tuple[int, ...]:
        """The stamp that changes when the file of the database or its write-ahead log is written to."""
        return file_version(self.path)

    def remembered(self, what: Hashable, read: Callable[[], T]) -> T:
        """Return what was read before under a key; it is read where the files have changed since."""
        files = self.files
        if files != self._read_at:
            self._read, self._read_at = {}, files
        known = self._read
        if what not in known:
            known[what] = read()
        value: T = known[what]
        return value

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


def _migrations() -> list[str]:
    folder = files("ragtriage.data") / "sql"
    scripts = sorted(
        (item for item in folder.iterdir() if item.name.startswith("ledger_")), key=lambda item: item.name
    )
    return [script.read_text(encoding="utf-8") for script in scripts]


def _statements(script: str) -> list[str]:
    """Split a script at the ends of statements as SQLite sees them, since a comment may hold a semicolon."""
    statements, statement = [], ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            statements.append(statement)
            statement = ""
    return statements


def _file_system(folder: Path) -> str:
    """Return the type of the file system that holds a folder, or "" if the system does not tell."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    best, kind = "", ""
    for line in mounts.splitlines():
        _, point, name, *_ = line.split(" ")
        inside = folder == Path(point) or Path(point) in folder.parents
        if inside and len(point) >= len(best):
            best, kind = point, name
    return kind
