"""What a run store keeps: one cache in memory by run and question, and the index of facts and means on disk.

Runs never change, so nothing in memory goes stale but what rests on files that are gone or on labels. The
index spares opening a thousand small files. Everything in it is stored elsewhere too: what is damaged,
emptied or another's counts as missing, since each begins with a checksum; a file that is damaged is deleted,
and one that cannot be used is empty.
"""

import json
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import closing, suppress
from threading import RLock
from typing import Any, TypeVar

from ragtriage.data.read_costs import add_costs
from ragtriage.data.store.workspace import Run, Workspace

ROOM = 256_000_000  # bytes that everything kept may need together
ENTRY = 512  # bytes that a value without arrays is taken to need, for each of its items

T = TypeVar("T")


class RunCache:
    """Values by run and by what was asked of it, up to ROOM bytes; safe to share between threads.

    What was not used for longest gives way. A scored run then releases its arrays and stays, as diagnoses
    that are kept refer to it, and reads again what they ask for; anything else is dropped.
    """

    def __init__(self) -> None:
        self._values: OrderedDict[tuple[str, Hashable], Any] = (
            OrderedDict()
        )  # the last that was used at the end
        self._sizes: dict[tuple[str, Hashable], int] = {}
        self._needed = 0  # the sum of the sizes
        self._lock = RLock()

    def get(
        self, run_id: str, asked: Hashable, make: Callable[[], T], holds: Callable[[T], bool] = lambda _: True
    ) -> T:
        """Return what was asked of a run; it is made where it is not kept, or holds no more."""
        key = run_id, asked
        with self._lock:
            value: T
            if key in self._values and holds(value := self._values[key]):
                self._used(key, value)
                return value
            self._values.pop(key, None)
            self._measure(key, 0)
        made = make()
        with self._lock:
            value = self._values.setdefault(key, made)  # another thread may have been first
            self._used(key, value)
        return value

    def _used(self, key: tuple[str, Hashable], value: Any) -> None:
        """Count a value as the last used, and measure it anew: a run grows as pages read its metrics."""
        self._values.move_to_end(key)
        arrays = getattr(value, "nbytes", None)
        self._measure(key, ENTRY * max(1, len(value)) if arrays is None else arrays)
        for other in list(self._values) if self._needed > ROOM else ():
            if self._needed <= ROOM or other == key:
                break
            self._measure(other, 0)
            if hasattr(self._values[other], "release"):
                self._values[other].release()
            else:
                del self._values[other]

    def _measure(self, key: tuple[str, Hashable], size: int) -> None:
        self._needed += size - self._sizes.pop(key, 0)
        if size:
            self._sizes[key] = size


_TABLE = "CREATE TABLE IF NOT EXISTS entries (run_id TEXT, kind TEXT, body TEXT, PRIMARY KEY (run_id, kind))"
_WRITE = """
    INSERT OR REPLACE INTO entries
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
    FROM json_each(?)
"""
BUSY_SECONDS = 10.0


class RunIndex:
    """Access to the index of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def runs(self) -> dict[str, Run]:
        """Return the indexed runs by id."""
        runs = {}
        for run_id, body in self._execute("SELECT run_id, body FROM entries WHERE kind = 'run'"):
            with suppress(TypeError, ValueError):
                run = Run.from_json(_opened(run_id, "run", body))
                if run.run_id == run_id:
                    runs[run_id] = run
        return runs

    def read(self, run_id: str, kind: str) -> Any:
        """Return an entry, or None if there is none that can be read."""
        select = "SELECT body FROM entries WHERE run_id = ? AND kind = ?"
        for (body,) in self._execute(select, (run_id, kind)):
            with suppress(TypeError, ValueError):
                return _opened(run_id, kind, body)
        return None

    def read_all(self, kind: str) -> dict[str, Any]:
        """Return the entries of a kind by run id, without those that cannot be read."""
        entries = {}
        for run_id, body in self._execute("SELECT run_id, body FROM entries WHERE kind = ?", (kind,)):
            with suppress(TypeError, ValueError):
                entries[run_id] = _opened(run_id, kind, body)
        return entries

    def write(self, run_id: str, kind: str, body: Any) -> None:
        """Store an entry, unless the index cannot be written."""
        self.write_all(kind, {run_id: body})

    def write_all(self, kind: str, bodies: Mapping[str, Any]) -> None:
        """Store an entry for each run id in one go, unless the index cannot be written."""
        self.write_entries([(run_id, kind, body) for run_id, body in bodies.items()])

    def write_entries(self, entries: Iterable[tuple[str, str, Any]]) -> None:
        """Store entries, each a run id, a kind and a body, in one go, unless the index cannot be written."""
        rows = [(run_id, kind, _sealed(run_id, kind, json.dumps(body))) for run_id, kind, body in entries]
        if rows:
            self._execute(_WRITE, (json.dumps(rows),))

    def _execute(self, statement: str, parameters: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        path = self.workspace.index_path
        for _ in range(2):
            try:
                self.workspace.create_file(path)
                connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
                with closing(connection):
                    connection.execute("PRAGMA synchronous = OFF")  # what a power cut takes is made again
                    connection.execute(_TABLE)
                    add_costs(queries=1)
                    return connection.execute(statement, parameters).fetchall()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite quotes what it cannot read
                code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # without the detail
                damaged = code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
                if not damaged:  # locked, full or read-only
                    return []
                for name in (path.name, f"{path.name}-journal"):
                    with suppress(OSError):
                        path.with_name(name).unlink(missing_ok=True)
        return []


def _sealed(run_id: str, kind: str, text: str) -> str:
    """Return the text of an entry behind its checksum."""
    key = json.dumps([run_id, kind])
    return f"{zlib.crc32((key + text).encode()):08x}{text}"


def _opened(run_id: str, kind: str, body: str) -> Any:
    """Return the value of an entry; raises ValueError where it is not what was stored under its key."""
    text = body[8:]
    if body != _sealed(run_id, kind, text):
        raise ValueError("not as it was stored")
    return json.loads(text)
