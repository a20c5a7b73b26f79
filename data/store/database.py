"""A SQLite database of a workspace: one connection per call, safe for many processes, newest tables."""

import sqlite3
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.read_costs import add_costs
from ragtriage.data.store.access import frozen_ledger, must_write, read_only
from ragtriage.data.store.stored_file import file_version
from ragtriage.data.store.workspace import Workspace

T = TypeVar("T")
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


class Database:
    """Access to a database whose tables are made by the scripts `data/sql/NAME_NNN.sql`."""

    NAME: ClassVar[str]  # of its scripts, and in errors

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
                must_write(f"{self.NAME} {self.path}")
            raise WorkspaceError(
                f"{self.NAME} {self.path}: {error}; accepted: a writable file on a disk with free space"
            ) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite quotes what it cannot read
            raise self._damaged(str(error)) from error

    def _damaged(self, fault: str) -> WorkspaceError:
        return WorkspaceError(
            f"{self.NAME} {self.path}: {fault}; move it aside to start an empty one, it is not overwritten"
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
            return frozen_ledger(self.path, self._prepare, len(_migrations(self.NAME)))
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
        return frozen_ledger(self.path, self._prepare, len(_migrations(self.NAME)))

    def _prepare(self, connection: sqlite3.Connection) -> None:
        newest = len(_migrations(self.NAME))
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == newest:
            return
        if version > newest:
            raise WorkspaceError(
                f"{self.NAME} {self.path}: has version {version}, from a newer ragtriage; accepted: up to "
                f"version {newest}, or an update of ragtriage"
            )
        connection.execute(JOURNAL_ON_NETWORK if self.on_network else JOURNAL)
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for script in _migrations(self.NAME)[version:]:  # each ends by setting its number as user_version
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


@cache
def _migrations(name: str) -> tuple[str, ...]:
    folder = files("ragtriage.data") / "sql"
    scripts = sorted(
        (item for item in folder.iterdir() if item.name.startswith(f"{name}_")), key=lambda item: item.name
    )
    return tuple(script.read_text(encoding="utf-8") for script in scripts)


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
