"""What this process may change and read: read-only mode, and the paths that may be typed on pages.

Whoever reaches the dashboard can type a path. On this machine alone that is its user; where others reach it,
they may name files below the folders that `ragtriage serve --files` lists, and no others.
"""

import getpass
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from ragtriage.data.errors import DataError, WorkspaceError

READ_ONLY = "RAGTRIAGE_READ_ONLY"  # set to 1 by `ragtriage serve --read-only`
BUSY_SECONDS = 15.0
ALLOWED_PATHS = "RAGTRIAGE_ALLOWED_PATHS"  # set by `ragtriage serve`: folders, as PATH has them; unset: any


def read_only() -> bool:
    """Return whether the environment sets this process to read-only mode."""
    return os.environ.get(READ_ONLY, "") not in ("", "0")


def must_write(what: str) -> None:
    """Raise in read-only mode.

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


def allowed_folders() -> tuple[Path, ...] | None:
    """Return the folders below which pages may read, none perhaps; None where they may read anywhere."""
    listed = os.environ.get(ALLOWED_PATHS)
    if listed is None:
        return None
    return tuple(Path(folder) for folder in listed.split(os.pathsep) if folder)


def limit_paths(folders: Sequence[Path]) -> None:
    """Let the pages of this process read below some folders alone."""
    os.environ[ALLOWED_PATHS] = os.pathsep.join(str(folder.resolve()) for folder in folders)


def allowed_path(text: str) -> Path:
    """Return the path that was typed on a page, with its links followed.

    Raises:
        DataError: it is not below one of the folders; whether there is such a file is not said.
    """
    folders = allowed_folders()
    try:
        path = Path(text.strip()).expanduser()
        if folders is None:
            return path
        resolved = path.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, a ring of links, an unknown home folder
        raise DataError(f"{text!r} is not a path; accepted: that of a file or folder") from error
    if any(resolved.is_relative_to(folder) for folder in folders):
        return resolved
    accepted = ", ".join(f"a file in {folder}" for folder in folders) or "uploaded files"
    raise DataError(f"{text.strip()}: others reach this dashboard, so it is not read; accepted: {accepted}")


def user_name(who: str | None) -> str:
    """Return the name to record with a change: the given one, else the login name, else ""."""
    if who is not None:
        return " ".join(who.split())
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
