"""A file as it comes from outside: by path or as uploaded bytes, unpacked, decoded and bounded."""

from __future__ import annotations

import codecs
import io
import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from data.errors import InputError, ValidationError, ValidationErrors
from data.importers.parsing.streams import TEXT_ACCEPTED, Recoded, Unpacked

__all__ = ["Limits", "Source", "decoded_line", "json_fault"]

UNREAD = object()
HEAD_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
UNREADABLE = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"SQLite format 3": "an SQLite database",
    b"%PDF-": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
}
WIDE_BOMS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Limits:
    """How much of a file is taken in before it is refused.

    Attributes:
        line_bytes: longest line of a line-based format.
        document_bytes: largest file that has to be read as a whole (a JSON document, a packed Parquet file).
        unpacked_bytes: most that a packed file may unpack to.
    """

    line_bytes: int = 64 << 20
    document_bytes: int = 1 << 30
    unpacked_bytes: int = 8 << 30


class Source:
    """One input file. Nothing is read until asked for; `open` gives its bytes unpacked and in UTF-8."""

    def __init__(
        self,
        name: str,
        *,
        path: Path | None = None,
        content: bytes | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.name = name
        self.limits = limits or Limits()
        self._path = path
        self._content = content
        self._document: Any = UNREAD

    @classmethod
    def from_path(cls, path: str | Path, limits: Limits | None = None) -> Source:
        """A file on disk, named in messages as the user gave it."""
        return cls(str(path), path=Path(path), limits=limits)

    @classmethod
    def from_bytes(cls, name: str, content: bytes, limits: Limits | None = None) -> Source:
        """A file uploaded in a browser."""
        return cls(name, content=content, limits=limits)

    @property
    def size(self) -> int:
        """Stored size in bytes."""
        if self._path is None:
            return len(self._content or b"")
        try:
            return self._path.stat().st_size
        except OSError as error:
            raise self._unopenable(error) from error

    @property
    def stem(self) -> str:
        """The file's name without folders and endings: what to call a run that has no name of its own."""
        name = Path(self.name.replace("\\", "/")).name.removesuffix(".gz")
        return Path(name).stem or name or "run"

    @property
    def ending(self) -> str:
        """The file's ending in small letters, without `.gz`, e.g. ".jsonl"."""
        return Path(self.name.lower().removesuffix(".gz")).suffix

    def refuse(self, what: str, accepted: str, line: int | None = None, field: str = "") -> InputError:
        """The error that refuses this file."""
        return InputError([ValidationError(self.name, line, field, what, accepted)])

    def open(self) -> BinaryIO:
        """Open the content: unpacked when it is gzip, as UTF-8 without a byte order mark when it is text.

        Raises:
            InputError: the file is missing, empty, a folder, not readable, or a kind that is never accepted.
        """
        stored = self._stored()
        magic = stored.peek(16)[:16]
        if not magic:
            stored.close()
            raise self.refuse("is empty", "a file with at least one record")
        unpacked = Unpacked(
            stored, packed=magic.startswith(GZIP_MAGIC), limit=self.limits.unpacked_bytes, refuse=self.refuse
        )
        return self._decoded(io.BufferedReader(unpacked, 1 << 16))

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """The first bytes of the content."""
        with self.open() as stream:
            return stream.read(size)

    def whole(self) -> bytes:
        """All of the content.

        Raises:
            InputError: it is larger than the limit for files read as a whole.
        """
        limit = self.limits.document_bytes
        with self.open() as stream:
            content = stream.read(limit + 1)
        if len(content) > limit:
            raise self.refuse(
                f"is larger than {limit:,} bytes, the most that is read as a whole",
                "JSONL or Parquet, which are read piece by piece",
            )
        return content

    def random_access(self) -> BinaryIO:
        """The content as a stream that can be read in any order: the file itself unless it is packed."""
        stored = self._stored()
        if not stored.peek(2).startswith(GZIP_MAGIC):
            return stored
        stored.close()
        return io.BytesIO(self.whole())

    def document(self) -> Any:
        """The content as one JSON document, parsed once and kept; not to be changed by its readers.

        Raises:
            InputError: it is not one JSON document.
        """
        if self._document is UNREAD:
            self._document = self._parsed(self.whole())
        return self._document

    def lines(self, errors: ValidationErrors) -> Iterator[tuple[int, str]]:
        """The non-blank lines with their 1-based numbers; a line that cannot be text is noted and skipped."""
        with self.open() as stream:
            for number, line in _bounded_lines(stream, self.limits.line_bytes):
                if line is None:
                    limit = f"{self.limits.line_bytes:,} bytes"
                    errors.add(number, "", f"is longer than {limit}", f"lines of at most {limit}")
                    continue
                text = decoded_line(line, number, errors)
                if text is not None and not text.isspace():
                    yield number, text

    def _parsed(self, content: bytes) -> Any:
        accepted = "one JSON document, or JSONL: one JSON object per line"
        try:
            return json.loads(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            what = f"byte {error.start + 1} of the file (0x{content[error.start]:02x}) is not UTF-8"
            raise self.refuse(what, TEXT_ACCEPTED, line) from error
        except (ValueError, RecursionError) as error:
            place = error.lineno if isinstance(error, json.JSONDecodeError) else None
            raise self.refuse(f"is not JSON: {json_fault(error)}", accepted, place) from error

    def _stored(self) -> io.BufferedReader:
        if self._path is None:
            return io.BufferedReader(io.BytesIO(self._content or b""))
        try:
            mode = self._path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise self.refuse("is a folder", "the path of a file")
            if not stat.S_ISREG(mode):
                raise self.refuse("is not a regular file", "the path of a file")
            return self._path.open("rb")
        except (OSError, ValueError) as error:
            raise self._unopenable(error) from error

    def _unopenable(self, error: Exception) -> InputError:
        if isinstance(error, FileNotFoundError):
            return self.refuse("does not exist", "the path of a file")
        if isinstance(error, PermissionError):
            return self.refuse("may not be read (no permission)", "a file that this user can read")
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return self.refuse(f"cannot be opened: {reason}", "the path of a readable file")

    def _decoded(self, stream: io.BufferedReader) -> io.BufferedReader:
        magic = stream.peek(16)
        for signature, kind in UNREADABLE.items():
            if magic.startswith(signature):
                stream.close()
                raise self.refuse(f"is {kind}", "JSONL, JSON, CSV, TSV or Parquet, plain or gzip")
        for mark, encoding in WIDE_BOMS.items():
            if magic.startswith(mark):
                return io.BufferedReader(Recoded(stream, encoding, refuse=self.refuse), 1 << 16)
        if magic.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        return stream


def json_fault(error: Exception) -> str:
    """What is wrong with a JSON text, with the column."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)


def decoded_line(line: bytes, number: int, errors: ValidationErrors) -> str | None:
    """The text of a line, or None with a problem noted where it is no UTF-8 or holds NUL bytes."""
    if b"\0" in line:
        what = f"holds a NUL byte at byte {line.index(0) + 1}; is it binary, or UTF-16 without a mark?"
        errors.add(number, "", what, TEXT_ACCEPTED)
        return None
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"byte {error.start + 1} (0x{line[error.start]:02x}) is not UTF-8"
        errors.add(number, "", what, TEXT_ACCEPTED)
        return None


def _bounded_lines(stream: BinaryIO, limit: int) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    while line := stream.readline(limit + 1):
        number += 1
        if len(line) <= limit or line.endswith(b"\n"):
            yield number, line
            continue
        yield number, None
        while line and not line.endswith(b"\n"):  # the rest of that line, in pieces that are dropped
            line = stream.readline(1 << 20)
