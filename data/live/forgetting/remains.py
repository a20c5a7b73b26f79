"""What of a user is left in a workspace: every byte of every file, unpacked where it is packed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.live.calls import JOURNAL, unpacked
from ragtriage.data.live.forgetting.personal_data import Person
from ragtriage.data.live.journal import payloads_of

FEWEST_BYTES = 6  # a shorter id stands in anything
FEWEST_OF_QUESTION = 30  # a shorter question may be anybody's
FEWEST_DISTINCT = 8  # different bytes of a trace id; one with fewer, as of a counter, stands in anything
AT_ONCE = 4 << 20


def remains_of(root: Path, person: Person) -> list[tuple[str, int]]:
    """Return the files below a folder that name a user, a trace or a question of theirs, and how often."""
    needles = needles_of(person)
    overlap = max(map(len, needles), default=1) - 1
    found = []
    for path in sorted(root.rglob("*")) if needles else []:
        if path.is_file() and not path.is_symlink():
            n = sum(part.count(needle) for part in contents_of(path, overlap) for needle in needles)
            if n:
                found.append((path.relative_to(root).as_posix(), n))
    return found


def needles_of(person: Person) -> list[bytes]:
    """Return what is looked for: names, and questions that only this user asked; as in JSON, too."""
    texts = {name for name in person.names if len(name.encode()) >= FEWEST_BYTES}
    texts |= {question for question in person.questions if len(question) >= FEWEST_OF_QUESTION}
    written = {json.dumps(text, ensure_ascii=ascii)[1:-1] for text in texts for ascii in (True, False)}
    raw = {bytes.fromhex(trace) for trace in person.traces if len(trace) == 32}
    telling = (content for content in raw if len(set(content)) >= FEWEST_DISTINCT)
    return [*(text.encode("utf-8", "surrogatepass") for text in texts | written), *telling]


def contents_of(path: Path, overlap: int) -> Iterator[bytes]:
    """Yield the bytes of a file as they are, in parts that overlap, and those that are packed in it."""
    with suppress(FileNotFoundError):
        yield from _raw(path, overlap)
        if path.suffix == ".parquet":
            with suppress(pa.ArrowException, OSError):
                yield from _cells(path)
        elif path.suffix == ".sqlite":
            with suppress(sqlite3.Error):
                yield from _blobs(path)
        elif path.suffix == ".log" and path.parent.name == JOURNAL:
            yield from payloads_of(path)


def _raw(path: Path, overlap: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        tail = b""
        while part := file.read(AT_ONCE):
            yield tail + part
            tail = (tail + part)[-overlap:] if overlap else b""


def _cells(path: Path) -> Iterator[bytes]:
    """Yield the texts of a Parquet file, a row group at a time."""
    with pq.ParquetFile(path) as file:
        for group in range(file.metadata.num_row_groups):
            for row in file.read_row_group(group).to_pylist():
                yield json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


def _blobs(path: Path) -> Iterator[bytes]:
    """Yield the samples that the calls of live traffic hold packed."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        for (sample,) in connection.execute("SELECT sample FROM calls WHERE sample IS NOT NULL"):
            yield json.dumps(unpacked(sample), ensure_ascii=False).encode("utf-8", "surrogatepass")
