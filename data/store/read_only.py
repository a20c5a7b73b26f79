"""Reading only: what a process that must not change a workspace asks before it writes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from data.errors import WorkspaceError

__all__ = ["READ_ONLY", "frozen_ledger", "must_write", "read_only"]

READ_ONLY = "RAGTRIAGE_READ_ONLY"  # set to 1 by `ragtriage serve --read-only`
BUSY_SECONDS = 15.0


def read_only() -> bool:
    """Whether this process only reads: its environment says so."""
    return os.environ.get(READ_ONLY, "") not in ("", "0")


def must_write(what: str) -> None:
    """Refuse to go on where this process only reads.

    Args:
        what: what was to be changed, as it stands in the message.

    Raises:
        WorkspaceError: it only reads.
    """
    if read_only():
        raise WorkspaceError(
            f"{what} cannot be changed: this process only reads ({READ_ONLY}); accepted: `ragtriage serve` "
            "without --read-only, for those who may change it"
        )


def frozen_ledger(
    path: Path, prepare: Callable[[sqlite3.Connection], None], newest: int
) -> sqlite3.Connection:
    """Open a ledger so that nothing can be written.

    One that is not there, or is of an earlier version, is made in memory.

    Args:
        path: of the ledger.
        prepare: gives a connection the newest tables.
        newest: version that they have.
    """
    if path.exists():
        connection = _opened(path)
        if connection.execute("PRAGMA user_version").fetchone()[0] >= newest:
            return connection
        with closing(connection):
            return _in_memory(prepare, connection)
    return _in_memory(prepare)


def _opened(path: Path) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    try:
        return _tried(f"{address}?mode=ro")
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _tried(f"{address}?immutable=1")  # a disk on which not even the log's index can be made


def _tried(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _in_memory(
    prepare: Callable[[sqlite3.Connection], None], given: sqlite3.Connection | None = None
) -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", isolation_level=None)
    if given is not None:
        given.backup(made)
    prepare(made)
    made.execute("PRAGMA query_only = ON")
    return made
