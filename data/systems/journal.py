"""The journal of an experiment: every reply on a line of its own, on the disk before the next is asked.

A kill loses nothing that was answered, and nothing that was answered is asked again. The first line says
which system it is of. One process at a time writes to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import orjson

from ragtriage.data.errors import DataError
from ragtriage.data.jobs import lock_file
from ragtriage.data.store.workspace import OWNER_ONLY, writing
from ragtriage.data.systems.system import System, SystemReply

VERSION = 1


class Journal:
    """The replies so far, by the key of their request."""

    def __init__(self, file: IO[bytes], replies: dict[str, SystemReply]) -> None:
        self._file, self.replies = file, replies

    def keep(self, key: str, reply: SystemReply) -> None:
        """Write a reply and wait until it is on the disk."""
        entry = {"key": key, **asdict(reply), "sample": dict(reply.sample)}
        with writing(self._file.name):
            self._file.write(_line(entry))
            self._file.flush()
            os.fsync(self._file.fileno())
        self.replies[key] = reply


@contextmanager
def open_journal(path: Path, system: System) -> Iterator[Journal]:
    """Open a journal, alone; a half-written last line, which a kill leaves, is dropped.

    Args:
        path: of the file; it is created with its folders, for its owner alone.
        system: that is asked.

    Raises:
        DataError: another process writes to it, it is of another system, or it cannot be written.
    """
    try:
        path.parent.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); accepted: a writable workspace"
        ) from error
    with os.fdopen(handle, "r+b") as file:
        _lock(file, path)
        replies = _read(file, path, system)
        yield Journal(file, replies)


def _read(file: IO[bytes], path: Path, system: System) -> dict[str, SystemReply]:
    """Read the replies, cut off what is half written at the end, and leave the file there.

    A line that is damaged elsewhere is passed over: its question is asked again, the others are not.
    """
    begun, replies, end = False, {}, 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        entry = _entry(line)
        if not begun:
            _check_header(entry or {}, path, system)
            begun = True
        elif entry is not None and (reply := _reply(entry)) is not None:
            replies[str(entry["key"])] = reply
        end += len(line)
    with writing(str(path)):
        file.seek(end)
        file.truncate()
        if not begun:
            file.write(_line({"version": VERSION, "system": system.identity, "name": system.name}))
            file.flush()
    return replies


def _check_header(header: Mapping[str, Any], path: Path, system: System) -> None:
    if "system" not in header:
        raise DataError(
            f"{path}: its first line is damaged; accepted: that line repaired, or the file deleted"
        )
    if header.get("version") != VERSION or header.get("system") != system.identity:
        raise DataError(
            f"{path}: holds answers of another system ({str(header.get('name'))[:80]}); accepted: the system "
            "that it was begun with, or the file deleted"
        )


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return a line as an object; None where it is damaged."""
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return entry if isinstance(entry, dict) else None


def _reply(entry: Mapping[str, Any]) -> SystemReply | None:
    """Return the reply of an entry; None where it is damaged."""
    status, sample, seconds = entry.get("status"), entry.get("sample"), entry.get("seconds", 0.0)
    if status not in ("answered", "failed") or not isinstance(sample, dict) or "key" not in entry:
        return None
    if (status == "answered" and sample.get("answer") is None) or not isinstance(seconds, int | float):
        return None
    return SystemReply(
        status, sample, str(entry.get("reason", "")), float(seconds), entry.get("passing") is True
    )


def _line(entry: Mapping[str, Any]) -> bytes:
    return orjson.dumps(dict(entry), option=orjson.OPT_NON_STR_KEYS) + b"\n"


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock the file for this process until it is closed; a killed process leaves no lock.

    Raises:
        DataError: another process has it.
    """
    if not lock_file(file, wait=False):
        raise DataError(
            f"{path}: another process is asking the same questions; wait for it to end, or stop it"
        )
