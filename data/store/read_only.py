"""Read-only mode: a process started in it must not change a workspace."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from ragtriage.data.errors import WorkspaceError

READ_ONLY = "RAGTRIAGE_READ_ONLY"  # set to 1 by `ragtriage serve --read-only`
BUSY_SECONDS = 15.0


def read_only() -> bool:
    """Return whether the environment sets this process to read-only mode."""
    return os.environ.get(READ_ONLY, "") not in ("", "0")


def must_write(what: str) -> None:
    """Raise in read-only mode.

    Args:
        what: the thing to be changed, as the message names it.

    Raises:
        WorkspaceError: this process is read-only.
    """
    if read_only():
        raise WorkspaceError(
            f"{what} cannot be changed: this process only reads ({READ_ONLY}); accepted: `ragtriage serve` "
            "without --read-only, for those who may change it"
        )


def frozen_ledger(
    path: Path, prepare: Callable[[sqlite3.Connection], None], newest: int
) -> sqlite3.Connection:
    """Open a ledger for reading alone, also where nothing can be written: on a full or read-only disk.

    One that is missing, empty or of an earlier version is opened as a copy in memory.

    Args:
        path: the ledger.
        prepare: migrates a connection to the newest tables.
        newest: version of those tables.
    """
    if path.exists():
        connection = _open_read_only(path)
        if connection.execute("PRAGMA user_version").fetchone()[0] == newest:
            return connection
        with closing(connection):
            return _in_memory(prepare, connection)
    return _in_memory(prepare)


def _open_read_only(path: Path) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    try:
        return _connect(f"{address}?mode=ro")
    except sqlite3.OperationalError as error:
        log = path.with_name(f"{path.name}-wal")
        if not log.exists() or not log.stat().st_size:
            return _connect(f"{address}?immutable=1")  # where the index of the log cannot be created
        try:
            return _copy_with_log(path, log)
        except OSError:
            raise error from None


def _copy_with_log(path: Path, log: Path) -> sqlite3.Connection:
    """Open a copy in memory, made where a database and its log can be read together."""
    in_memory = "/dev/shm"  # noqa: S108 -- as private as any temporary folder, and there when disks are full
    with TemporaryDirectory(dir=in_memory if os.access(in_memory, os.W_OK) else None) as folder:
        for file in (path, log):
            shutil.copy(file, folder)
        with closing(sqlite3.connect(Path(folder) / path.name)) as source:
            connection = sqlite3.connect(":memory:", isolation_level=None)
            source.backup(connection)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _in_memory(
    prepare: Callable[[sqlite3.Connection], None], source: sqlite3.Connection | None = None
) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    if source is not None:
        source.backup(copy)
    prepare(copy)
    copy.execute("PRAGMA query_only = ON")
    return copy
