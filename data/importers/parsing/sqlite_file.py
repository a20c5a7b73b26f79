"""SQLite databases of other tools, read without ever writing to them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError
from ragtriage.data.importers.parsing.input_file import InputFile

MAGIC = b"SQLite format 3\x00"
LONGEST_VALUE = 64 << 20
READ_ACTIONS = {
    *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION),
    *(sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_PRAGMA),
}
LOGS = ("-wal", "-journal")
ACCEPTED = "a whole SQLite database"


def is_sqlite(source: InputFile) -> bool:
    """Return whether a file begins as an SQLite database."""
    return source.magic().startswith(MAGIC)


@contextmanager
def open_sqlite(source: InputFile) -> Iterator[sqlite3.Connection]:
    """Open a database for reading only; rows are `sqlite3.Row`.

    The file itself is opened immutable, so that nothing is written beside it. Where its tool is writing, or
    has not yet written its log back (a file `-wal` or `-journal` that is not empty), a copy of both is read:
    what was not committed is not in it.

    Raises:
        InputError: it is damaged, or a query on it fails.
    """
    with tempfile.TemporaryDirectory(prefix="ragtriage-") as folder:
        path, mode = _readable(source, Path(folder))
        try:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)
            try:
                connection.row_factory = sqlite3.Row
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
                _distrust_schema(connection)
                connection.execute("PRAGMA cell_size_check = ON")
                connection.set_authorizer(
                    lambda action, *_: sqlite3.SQLITE_OK if action in READ_ACTIONS else sqlite3.SQLITE_DENY
                )
                yield connection
            finally:
                connection.close()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            # what SQLite says; its words about a damaged schema may be no text
            reason = "its schema is damaged" if isinstance(error, UnicodeDecodeError) else str(error)
            raise source.error(f"is an SQLite database that cannot be read: {reason}", ACCEPTED) from error


def _readable(source: InputFile, folder: Path) -> tuple[Path, str]:
    """Return the path to open and how: the file itself, or a copy with the logs beside it."""
    copy = folder / "database.sqlite"
    if source.path is None:
        copy.write_bytes(source.stored_bytes())
        return copy, "mode=ro&immutable=1"
    paths = {ending: source.path.with_name(source.path.name + ending) for ending in ("", *LOGS)}
    files = {ending: path for ending, path in paths.items() if path.is_file() and path.stat().st_size}
    if files.keys().isdisjoint(LOGS):
        return source.path, "mode=ro&immutable=1"
    try:
        for ending, path in files.items():
            shutil.copyfile(path, copy.with_name(copy.name + ending))
    except OSError as error:  # its tool has just finished writing, or the disk is full
        what = f"is a database that is being written and could not be copied ({error.strerror})"
        accepted = "the same command again, or the database once its tool has stopped"
        raise source.error(what, accepted) from error
    return copy, "mode=rw"  # a private copy, in which SQLite rolls back what was not committed


def _distrust_schema(connection: sqlite3.Connection) -> None:
    """Let the schema call none but harmless functions, as far as a database can be read that way.

    SQLite counts json_extract, on which tools build indexes, among the others. Where it refuses a schema for
    that, all that is built into SQLite is allowed: nothing of ours is registered, and extensions are off.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.DatabaseError as error:
        if "unsafe use of" not in str(error):
            raise
        connection.execute("PRAGMA trusted_schema = ON")


def table_names(source: InputFile) -> frozenset[str]:
    """Return the names of the tables of a database; views are left out. Empty where it cannot be read."""
    try:
        with open_sqlite(source) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'table'"
            return frozenset(str(row["name"]) for row in connection.execute(query))
    except InputError:
        return frozenset()


def check_readable(source: InputFile) -> None:
    """Check that a database is whole.

    Raises:
        InputError: it is damaged or cut short; the message says what SQLite found.
    """
    with open_sqlite(source) as connection:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError("it is damaged or cut short")


def rows_of(connection: sqlite3.Connection, table: str, order: str = "rowid") -> Iterator[sqlite3.Row]:
    """Return the rows of a table in an order of its columns, read one by one; its name may be any text."""
    quoted = [name.replace('"', '""') for name in (table, order)]
    return connection.execute('SELECT * FROM "{}" ORDER BY "{}"'.format(*quoted))  # noqa: S608 -- names are quoted


class RowsByKey:
    """The rows of a table by a key, for keys that are asked for in ascending order; they are read once."""

    def __init__(self, connection: sqlite3.Connection, table: str, key: str) -> None:
        rows = (dict(row) for row in rows_of(connection, table, key))
        self._groups = groupby(rows, key=lambda row: str(row.get(key)))
        self._next = self._read()

    def _read(self) -> tuple[str, list[dict[str, Any]]] | None:
        return next(((key, list(rows)) for key, rows in self._groups), None)

    def of(self, key: str) -> list[dict[str, Any]]:
        """Return the rows of a key."""
        while self._next is not None and self._next[0] < key:
            self._next = self._read()
        return self._next[1] if self._next is not None and self._next[0] == key else []
