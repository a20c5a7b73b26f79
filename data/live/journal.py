"""The journal of live traffic: records that are on the disk before anybody is told that they are kept.

Segments `NNNNNNNN.log` hold records one after another. A writer begins a new segment whenever it opens the
journal, so that a position that a reader remembers never stands for another record.
"""

import os
import shutil
import struct
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from enum import IntEnum
from io import FileIO
from pathlib import Path
from time import monotonic
from typing import IO, NamedTuple, Self

from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.jobs import lock_file
from ragtriage.data.store.stored_file import sync

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"\xf0RTJ"  # begins a record; after damage the next one is looked for by it
HEADER = struct.Struct("<4sBII")  # magic, kind, length of the payload, CRC-32 of these and it
SEGMENT_BYTES = 64 << 20  # a segment that would grow beyond is closed
MOST_WAITING = 64 << 20  # bytes of payloads that wait for the disk
SEGMENT_SECONDS = 3_600.0  # after which a segment is closed once all of it was read
LEVEL = 1  # of compression
SKIPPED = struct.Struct("<II")  # begins a frame of zstd that readers skip: its magic, length of what follows
SKIPPED_MAGIC = 0x184D2A50
_sync_data = getattr(os, "fdatasync", os.fsync)


class Kind(IntEnum):
    """What the payload of a record is."""

    TRACES = 1  # an ExportTraceServiceRequest of OTLP
    FEEDBACK = 2  # a JSON list of answers, as `feedback.as_json` returns them


class Position(NamedTuple):
    """A place between two records, right after the one that it was given with."""

    segment: int
    offset: int


class Damage(NamedTuple):
    """Bytes of a segment that are no whole record."""

    path: Path
    offset: int
    size: int

    def __str__(self) -> str:
        return f"{self.path}: {self.size:,} bytes from byte {self.offset:,} on are damaged"


LEAST_FREE = 1 << 20  # bytes of the disk
Record = tuple[Position, Kind, bytes]


class JournalFullError(DataError):
    """More waits for the disk, or lies on it, than the journal may hold: to be tried again later."""


def read_journal(
    folder: Path, after: Position | None = None, skipped: Callable[[Damage], None] | None = None
) -> Iterator[Record]:
    """Yield the records after a position, of all segments, while another process may write.

    Args:
        folder: of the segments; none are none.
        after: a position that was yielded before; None for the beginning.
        skipped: is told of damage, which is skipped then.

    Raises:
        WorkspaceError: a segment is damaged, and nobody is told.
    """
    numbers = [number for number in _numbers(folder) if after is None or number >= after.segment]
    for number in numbers:  # all but the last were whole when they were listed
        start = after.offset if after is not None and number == after.segment else 0
        try:
            with _path(folder, number).open("rb") as file:
                yield from _records(file, number, start, number != numbers[-1], skipped)
        except FileNotFoundError:  # dropped meanwhile
            continue


def payloads_of(path: Path) -> Iterator[bytes]:
    """Yield what the records of one segment hold; damage is skipped."""
    with path.open("rb") as file:
        for _, _, payload in _records(file, 0, 0, False, lambda _: None):
            yield payload


def _records(
    file: IO[bytes], number: int, start: int, closed: bool, skipped: Callable[[Damage], None] | None
) -> Iterator[Record]:
    """Yield the records of a segment; what ends one that is being written to is no damage."""
    for begin, end, kind, stored in _frames(file, start):
        if stored is not None:
            with suppress(ValueError):  # a kind of a later version
                yield Position(number, end), Kind(kind), zstd.decompress(stored)
        elif kind or closed:
            damage = Damage(Path(file.name), begin, end - begin)
            if skipped is None:
                raise WorkspaceError(f"{damage}; accepted: the segment as it was written")
            skipped(damage)


def _frames(file: IO[bytes], start: int) -> Iterator[tuple[int, int, int, bytes | None]]:
    """Yield begin, end, kind and payload of what a segment holds.

    Bytes that are no record come without a payload: of kind 1 where a record follows, 0 at the end.
    """
    at = start
    while True:
        frame = _frame(file, at)
        if frame is not None:
            end = at + HEADER.size + len(frame[1])
            yield at, end, *frame
            at = end
            continue
        file.seek(at)
        rest = file.read()
        if not rest:
            return
        following = rest.find(MAGIC, 1)
        while following > 0 and _frame(file, at + following) is None:
            following = rest.find(MAGIC, following + 1)
        if following < 0:
            yield at, at + len(rest), 0, None
            return
        yield at, at + following, 1, None
        at += following


def _frame(file: IO[bytes], at: int) -> tuple[int, bytes] | None:
    """Return kind and payload of the record at a place; None where there is no whole one."""
    file.seek(at)
    header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    magic, kind, length, checksum = HEADER.unpack(header)
    if magic != MAGIC or length > os.fstat(file.fileno()).st_size - at:
        return None
    stored = file.read(length)
    return (kind, stored) if len(stored) == length and checksum == _checksum(kind, stored) else None


def _checksum(kind: int, stored: bytes) -> int:
    return zlib.crc32(stored, zlib.crc32(struct.pack("<BI", kind, len(stored))))


def _framed(kind: int, payload: bytes) -> bytes:
    stored = zstd.compress(payload, LEVEL)
    return HEADER.pack(MAGIC, kind, len(stored), _checksum(kind, stored)) + stored


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep every writer away from a journal.

    Raises:
        WorkspaceError: one writes it.
    """
    folder.mkdir(0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("ab") as lock:
        if not lock_file(lock, wait=False):
            raise WorkspaceError(
                f"{folder}: another process collects into it; accepted: the same once that has ended"
            )
        yield


def rewrite(folder: Path, change: Callable[[Kind, bytes], bytes]) -> int:
    """Change what records hold, and return how many changed; every record stays where it is.

    What a payload gets shorter by is filled, so that no position that a reader remembers moves; damaged bytes
    become zeros. A segment is replaced at once: after a crash it is the one before or the one after.

    Args:
        folder: of the segments, which is held.
        change: returns the payload that a record is to have; no longer than it was.
    """
    for path in folder.glob("*.new"):  # of a process that was ended
        path.unlink()
    return sum(_rewrite_segment(_path(folder, number), change) for number in _numbers(folder))


def _rewrite_segment(path: Path, change: Callable[[Kind, bytes], bytes]) -> int:
    with path.open("rb") as file:
        frames = list(_frames(file, 0))
    content, changed = bytearray(path.read_bytes()), 0
    for begin, end, kind, stored in frames:
        if stored is None and any(content[begin:end]):  # nobody can read what it holds
            content[begin:end] = bytes(end - begin)
            changed += 1
        if stored is None or kind not in [*Kind]:
            continue
        payload = zstd.decompress(stored)
        wanted = change(Kind(kind), payload)
        if wanted != payload:
            content[begin:end] = _filled(kind, wanted, end - begin, path)
            changed += 1
    if changed:
        fresh = path.with_suffix(".new")
        with FileIO(fresh, "wb", opener=_for_owner) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        fresh.replace(path)
        sync(path.parent)
    return changed


def _filled(kind: int, payload: bytes, size: int, path: Path) -> bytes:
    """Return a record of a size: its payload, and a frame of zstd that readers skip."""
    room = size - HEADER.size
    for level in (LEVEL, 9, 19):
        stored = zstd.compress(payload, level)
        left = room - len(stored)
        if left >= SKIPPED.size:
            stored += SKIPPED.pack(SKIPPED_MAGIC, left - SKIPPED.size) + bytes(left - SKIPPED.size)
        if len(stored) == room:
            return HEADER.pack(MAGIC, kind, room, _checksum(kind, stored)) + stored
    raise WorkspaceError(f"{path}: a record cannot be made {size:,} bytes long; accepted: a shorter payload")


def last_segment(folder: Path) -> int:
    """Return the number of the newest segment; 0 where there is none."""
    return max(_numbers(folder), default=0)


def _numbers(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 -- names alone
    except FileNotFoundError:
        return []
    return sorted(int(name[:-4]) for name in names if name.endswith(".log") and name[:-4].isdecimal())


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:08}.log"


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Journal:
    """The writer of a journal: one at a time, for which other processes wait in vain.

    Many may append at once: what waits is written and synchronised together, and each is answered after that.

    Attributes:
        notes: what was found and mended on opening, a sentence each.
        most_stored: bytes of all segments from which on nothing is taken.
    """

    def __init__(
        self,
        folder: Path,
        *,
        most_waiting: int = MOST_WAITING,
        segment_bytes: int = SEGMENT_BYTES,
        segment_seconds: float = SEGMENT_SECONDS,
        most_stored: int = sys.maxsize,
    ) -> None:
        """Open a journal, and cut what a crash left half written.

        Raises:
            WorkspaceError: another process writes it, or its folder cannot be written.
        """
        self.folder = folder
        self.notes: tuple[str, ...] = ()
        self.most_stored = most_stored
        self._most_waiting = most_waiting
        self._segment_bytes, self._segment_seconds = segment_bytes, segment_seconds
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            self._lock = (folder / "lock").open("ab")
        except OSError as error:
            raise WorkspaceError(
                f"{folder}: cannot be written ({error.strerror}); accepted: a folder that you may write to"
            ) from error
        if not lock_file(self._lock, wait=False):
            self._lock.close()
            raise WorkspaceError(f"{folder}: another process collects into it; accepted: one at a time")
        numbers = _numbers(folder)
        if numbers:
            self._cut(_path(folder, numbers[-1]))
        self._number = numbers[-1] if numbers else 0
        self._segment: FileIO | None = None
        self._size = _path(folder, self._number).stat().st_size if numbers else 0  # of the newest segment
        self._begun = 0.0  # when it was begun
        self._writing = threading.RLock()  # of the newest segment
        self._stored = sum(_path(folder, number).stat().st_size for number in numbers)
        self._waiting: list[tuple[Kind, bytes, Future[Position]]] = []
        self._waiting_bytes = 0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._write_on, name="journal", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, kind: Kind, payload: bytes) -> Future[Position]:
        """Return what is done once a record is on the disk.

        Raises:
            JournalFullError: too much waits or is stored.
            WorkspaceError: it is closed.
        """
        done: Future[Position] = Future()
        with self._changed:
            if self._closing:
                raise WorkspaceError(f"{self.folder}: is closed; accepted: an open journal")
            if reason := self._is_full(len(payload)):
                raise JournalFullError(f"{self.folder}: {reason}; accepted: the same again later")
            self._waiting.append((kind, payload, done))
            self._waiting_bytes += len(payload)
            self._changed.notify()
        return done

    def append(self, kind: Kind, payload: bytes) -> Position:
        """Append a record, and wait until it is on the disk."""
        return self.submit(kind, payload).result()

    def is_full(self) -> bool:
        """Return whether a small record would be refused now."""
        with self._changed:
            return self._closing or bool(self._is_full(1))

    def _is_full(self, more: int) -> str:
        if self._waiting_bytes and self._waiting_bytes + more > self._most_waiting:
            return f"{self._waiting_bytes:,} bytes wait for the disk"
        return f"{self._stored:,} bytes are stored" if self._stored >= self.most_stored else ""

    def has_room(self) -> bool:
        """Return whether the disk has room for what comes next."""
        with suppress(OSError):
            return shutil.disk_usage(self.folder).free >= LEAST_FREE
        return False

    def read(
        self, after: Position | None = None, skipped: Callable[[Damage], None] | None = None
    ) -> Iterator[Record]:
        """Yield the records after a position, as `read_journal` does."""
        return read_journal(self.folder, after, skipped)

    def drop_before(self, position: Position) -> int:
        """Remove the segments that end before a position; return how many bytes they had.

        The newest says which number comes next. One that is old, and read to its end, goes for an empty one.
        """
        with self._writing, suppress(OSError):  # a full disk
            is_old = self._segment is None or monotonic() - self._begun > self._segment_seconds
            if is_old and self._size and position == (self._number, self._size):
                self._begin_segment()
                position = Position(self._number, 0)
        dropped = 0
        for number in _numbers(self.folder)[:-1]:
            if number < position.segment:
                path = _path(self.folder, number)
                dropped += path.stat().st_size
                path.unlink()
        with self._changed:
            self._stored -= dropped
        return dropped

    def close(self) -> None:
        """Write what waits, and let another process open the journal."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        self._close_segment()
        self._lock.close()

    def _cut(self, path: Path) -> None:
        """Cut a segment behind its last whole record."""
        with path.open("r+b") as file:
            torn = [(begin, end) for begin, end, kind, stored in _frames(file, 0) if not kind]
            for begin, end in torn:
                file.truncate(begin)
                _sync_data(file.fileno())
                half = f"the last {end - begin:,} bytes were half a record, never acknowledged"
                self.notes += (f"{path}: {half}, and are cut",)

    def _write_on(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                taken, self._waiting = self._waiting, []
            if not taken:
                return
            batch = [entry for entry in taken if entry[2].set_running_or_notify_cancel()]
            try:
                with self._writing:
                    positions = self._commit([(kind, payload) for kind, payload, _ in batch])
            except (OSError, MemoryError) as error:
                with self._writing:
                    self._give_up_segment()
                reason = error.strerror if isinstance(error, OSError) else "too little memory"
                failure = WorkspaceError(
                    f"{self.folder}: cannot be written ({reason}); accepted: a disk with free space"
                )
                for _, _, done in batch:
                    done.set_exception(failure)
            else:
                for (_, _, done), position in zip(batch, positions, strict=True):
                    done.set_result(position)
            with self._changed:
                self._waiting_bytes -= sum(len(payload) for _, payload, _ in taken)

    def _commit(self, records: Sequence[tuple[Kind, bytes]]) -> list[Position]:
        """Write records and wait for the disk; return the position after each."""
        frames = [_framed(kind, payload) for kind, payload in records]
        if self._segment is None or self._size + sum(map(len, frames)) > self._segment_bytes:
            self._begin_segment()
        assert self._segment is not None  # noqa: S101 -- begun above
        positions, end = [], self._size
        for frame in frames:
            end += len(frame)
            positions.append(Position(self._number, end))
        rest = memoryview(b"".join(frames))
        while rest:
            rest = rest[self._segment.write(rest) :]
        _sync_data(self._segment.fileno())
        with self._changed:
            self._stored += end - self._size
        self._size = end
        return positions

    def _begin_segment(self) -> None:
        self._close_segment()
        self._number += 1
        path = _path(self.folder, self._number)
        self._segment, self._size = FileIO(path, "xb", opener=_for_owner), 0
        self._begun = monotonic()
        sync(self.folder)

    def _give_up_segment(self) -> None:
        """Take back what was written in part: after a failure it is not known what is on the disk."""
        if self._segment is not None:
            with suppress(OSError):
                self._segment.truncate(self._size)
        self._close_segment()

    def _close_segment(self) -> None:
        if self._segment is not None:
            with suppress(OSError):
                self._segment.close()
        self._segment = None
