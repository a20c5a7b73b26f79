"""How much of a file is read: a small archive can unpack to more than the memory of the machine."""

import codecs
import gzip
import io
import json
import os
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar, cast

from ragtriage.data.errors import InputError, ValidationError, ValidationErrors

NO_LIMITS = "RAGTRIAGE_NO_LIMITS"  # set to 1 by `ragtriage import --no-limits`
LIFT = "; --no-limits lifts this"
GUESSED_BYTES = 16 << 20  # of the rows that are kept to guess columns from


@dataclass(frozen=True)
class Limits:
    """Size limits beyond which a file is refused."""

    line_bytes: int = 16 << 20  # longest line of a line-based format
    # largest file that has to be read as a whole (a JSON document, a gzipped Parquet file)
    document_bytes: int = 512 << 20
    parsed_bytes: int = 2 << 30  # most memory that a JSON document may take when parsed
    unpacked_bytes: int = 4 << 30  # largest size of a decompressed file
    lines: int = 10_000_000  # most lines of a line-based format
    samples: int = 500_000  # most samples of a run
    columns: int = 10_000  # most columns of a table


def usual_limits() -> Limits:
    """Return the limits of this process: none where the environment lifts them."""
    if os.environ.get(NO_LIMITS, "") in ("", "0"):
        return Limits()
    most = sys.maxsize - 1
    return Limits(
        line_bytes=1 << 30,  # a line is read at once
        document_bytes=most,
        parsed_bytes=most,
        unpacked_bytes=most,
        lines=most,
        samples=most,
        columns=most,
    )


def parsed_bytes(content: bytes) -> int:
    """Return about how much memory a JSON document takes when parsed, from its brackets and commas."""
    values = content.count(b",")
    objects, lists = content.count(b"{"), content.count(b"[")
    return len(content) + 60 * values + 150 * objects + 64 * lists


TEXT_ACCEPTED = "UTF-8 text (in Excel: save as CSV UTF-8), or UTF-16 with a byte order mark"

ErrorFactory = Callable[[str, str], InputError]


class _ReadableStream(io.RawIOBase):
    def readable(self) -> bool:
        return True


class DecompressedStream(_ReadableStream):
    """Stored bytes, decompressed if they are gzip; damage and excess of the size limit raise InputError."""

    def __init__(self, stored: BinaryIO, *, gzipped: bool, limit: int, make_error: ErrorFactory) -> None:
        self._limit = limit
        self._make_error = make_error
        self._stored = stored
        self._gzipped = gzipped
        self._stream = cast(BinaryIO, gzip.GzipFile(fileobj=stored) if gzipped else stored)
        self._read = 0

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # narrower buffer
        """Fill a buffer; raises InputError if the content is damaged."""
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self._make_error(
                f"is a gzip file that is cut short or damaged ({error})", "a whole gzip file"
            ) from error
        except OSError as error:
            raise self._make_error(f"cannot be read: {error.strerror}", "a readable file") from error
        self._read += len(data)
        if self._gzipped and self._read > self._limit:
            raise self._make_error(
                f"unpacks to more than {self._limit:,} bytes", f"at most {self._limit:,} bytes unpacked{LIFT}"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close this stream and those it reads from."""
        self._stream.close()
        self._stored.close()
        super().close()


class TranscodedStream(_ReadableStream):
    """UTF-16 or UTF-32 text as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str, *, make_error: ErrorFactory) -> None:
        self._make_error = make_error
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._pending = b""
        self._ended = False

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # narrower buffer
        """Fill a buffer; raises InputError if the content is damaged."""
        while not self._pending and not self._ended:
            chunk = self._stream.read(1 << 15)
            self._ended = not chunk
            try:
                self._pending = self._decoder.decode(chunk, self._ended).encode("utf-8")
            except UnicodeError as error:
                raise self._make_error(
                    f"is marked as {self._encoding.upper()} but is not ({error})", TEXT_ACCEPTED
                ) from error
        data, self._pending = self._pending[: len(buffer)], self._pending[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close this stream and those it reads from."""
        self._stream.close()
        super().close()


UNREAD = object()
T = TypeVar("T")
ENDINGS = {
    *(
        *(".csv", ".json", ".jsonl", ".md", ".ndjson", ".parquet", ".pq", ".tab", ".tsv", ".txt", ".xlsx"),
        *(".xlsm",),
    ),
    *(".dat", ".out", ".res", ".run", ".trec"),
}
HEAD_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
UNREADABLE = {
    b"PK\x03\x04": "a zip archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"SQLite format 3": "an SQLite database",
    b"%PDF-": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls)",
}
WIDE_BOMS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class InputFile:
    """An input file. Nothing is read until needed; `open` returns its bytes decompressed and in UTF-8."""

    def __init__(
        self,
        name: str,
        *,
        path: Path | None = None,
        content: bytes | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.name = name
        self.limits = limits or usual_limits()
        self.path = path  # of a file or folder on disk; None for an upload
        self._content = content
        self._document: Any = UNREAD
        self._remembered: dict[str, Any] = {}
        self._repeated: Counter[str] = Counter()

    @classmethod
    def from_path(cls, path: str | Path, limits: Limits | None = None) -> Self:
        """Return a source for a file on disk, named in messages as the user typed it."""
        return cls(str(path), path=Path(path), limits=limits)

    @classmethod
    def from_bytes(cls, name: str, content: bytes, limits: Limits | None = None) -> Self:
        """Return a source for a file uploaded in a browser."""
        return cls(name, content=content, limits=limits)

    @property
    def is_folder(self) -> bool:
        """True for a folder."""
        return self.path is not None and self.path.is_dir()

    def magic(self) -> bytes:
        """Return the first bytes as they are stored; none for a folder or a file that cannot be opened."""
        if self.is_folder:
            return b""
        with self._stored() as stored:
            return stored.peek(16)[:16]

    def stored_bytes(self) -> bytes:
        """Return the content as it is stored, neither decompressed nor decoded."""
        with self._stored() as stored:
            return stored.read()

    def remembered(self, name: str, find_out: Callable[[], T]) -> T:
        """Return what was found out about the file, once."""
        if name not in self._remembered:
            self._remembered[name] = find_out()
        value: T = self._remembered[name]
        return value

    @property
    def size(self) -> int:
        """Size on disk in bytes."""
        if self.path is None:
            return len(self._content or b"")
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise self._unopenable(error) from error

    @property
    def stem(self) -> str:
        """File name without folders and endings: the name of a run that has none of its own."""
        name = Path(self.name.replace("\\", "/")).name.removesuffix(".gz")
        path = Path(name)
        return (path.stem if path.suffix.lower() in ENDINGS else name) or "run"

    @property
    def ending(self) -> str:
        """File ending in lower case, without `.gz`, e.g. ".jsonl"."""
        return Path(self.name.lower().removesuffix(".gz")).suffix

    def error(self, what: str, accepted: str, line: int | None = None, field: str = "") -> InputError:
        """Return the error to raise for this file."""
        return InputError([ValidationError(self.name, line, field, what, accepted)])

    def open(self) -> BinaryIO:
        """Open the content: decompressed if it is gzip, as UTF-8 without a byte order mark if it is text.

        Raises:
            InputError: the file is missing, empty, a folder, not readable, or of a kind that is not accepted.
        """
        stored = self._stored()
        magic = stored.peek(16)[:16]
        if not magic:
            stored.close()
            raise self.error("is empty", "a file with at least one record")
        decompressed = DecompressedStream(
            stored,
            gzipped=magic.startswith(GZIP_MAGIC),
            limit=self.limits.unpacked_bytes,
            make_error=self.error,
        )
        return self._decoded(io.BufferedReader(decompressed, 1 << 16))

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Return the first bytes of the content."""
        with self.open() as stream:
            return stream.read(size)

    def whole(self) -> bytes:
        """Return the whole content.

        Raises:
            InputError: it is larger than the limit for files read as a whole.
        """
        limit = self.limits.document_bytes
        with self.open() as stream:
            content = stream.read(limit + 1)
        if len(content) > limit:
            raise self.error(
                f"is larger than {limit:,} bytes, the most that is read as a whole",
                f"JSONL or Parquet, which are read piece by piece{LIFT}",
            )
        return content

    def random_access(self) -> BinaryIO:
        """Return the content as a seekable stream: the file itself unless it is gzip."""
        stored = self._stored()
        if not stored.peek(2).startswith(GZIP_MAGIC):
            return stored
        stored.close()
        return io.BytesIO(self.whole())

    def document(self) -> Any:
        """Return the content as one JSON document, parsed once and cached; callers must not change it.

        Raises:
            InputError: it is not one JSON document.
        """
        if self._document is UNREAD:
            self._document = self._parsed(self.whole())
        return self._document

    def remark_repeated_keys(self, errors: ValidationErrors) -> None:
        """Remark the keys that occur more than once in an object of the document, if it was read as one."""
        for key, times in self._repeated.items():
            remark_repeated(key, errors, times=times)

    def lines(self, errors: ValidationErrors) -> Iterator[tuple[int, str]]:
        """Yield the non-blank lines with their 1-based numbers; lines that are not text are only reported."""
        with self.open() as stream:
            for number, line in _bounded_lines(stream, self.limits.line_bytes):
                if line is None:
                    limit = f"{self.limits.line_bytes:,} bytes"
                    errors.add(number, "", f"is longer than {limit}", f"lines of at most {limit}{LIFT}")
                    continue
                if number > self.limits.lines:
                    limit = f"{self.limits.lines:,} lines"
                    raise self.error(f"has more than {limit}", f"at most {limit}{LIFT}")
                text = decoded_line(line, number, errors)
                if text is not None and not text.isspace():
                    yield number, text

    def _parsed(self, content: bytes) -> Any:
        accepted = "one JSON document, or JSONL: one JSON object per line"
        needed, limit = parsed_bytes(content), self.limits.parsed_bytes
        if needed > limit:
            what = f"is a document of many small values, which takes about {needed >> 20:,} MB of memory"
            raise self.error(what, f"at most {limit >> 20:,} MB, or JSONL, which is read line by line{LIFT}")
        try:
            return read_json(content.decode("utf-8"), self._repeated)
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            what = f"byte {error.start + 1} of the file (0x{content[error.start]:02x}) is not UTF-8"
            raise self.error(what, TEXT_ACCEPTED, line) from error
        except (ValueError, RecursionError) as error:
            line_number = None
            if isinstance(error, json.JSONDecodeError):  # the last line with text, where it is cut short
                last = error.doc.rstrip().count("\n") + 1
                line_number = last if _is_cut_short(error) else error.lineno
            raise self.error(f"is not JSON: {json_fault(error)}", accepted, line_number) from error

    def _stored(self) -> io.BufferedReader:
        if self.path is None:
            return io.BufferedReader(io.BytesIO(self._content or b""))
        try:
            mode = self.path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise self.error("is a folder", "the path of a file")
            if not stat.S_ISREG(mode):
                raise self.error("is not a regular file", "the path of a file")
            return self.path.open("rb")
        except (OSError, ValueError) as error:
            raise self._unopenable(error) from error

    def _unopenable(self, error: Exception) -> InputError:
        if isinstance(error, FileNotFoundError):
            return self.error("does not exist", "a path that exists")
        if isinstance(error, PermissionError):
            return self.error("may not be read (no permission)", "a file that this user can read")
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return self.error(f"cannot be opened: {reason}", "the path of a readable file")

    def _decoded(self, stream: io.BufferedReader) -> io.BufferedReader:
        magic = stream.peek(16)
        for signature, kind in UNREADABLE.items():
            if magic.startswith(signature):
                stream.close()
                raise self.error(f"is {kind}", "JSONL, JSON, CSV, TSV or Parquet, plain or gzip, or .xlsx")
        for bom, encoding in WIDE_BOMS.items():
            if magic.startswith(bom):
                return io.BufferedReader(TranscodedStream(stream, encoding, make_error=self.error), 1 << 16)
        if magic.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        return stream


def read_json(text: str, repeated: Counter[str]) -> Any:
    """Return the value of a JSON text; keys that stand more than once in an object are counted.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = Counter(name for name, _ in pairs)
            repeated.update(name for name, times in names.items() if times > 1)
        return values

    return json.loads(text, object_pairs_hook=fields)


def remark_repeated(key: str, errors: ValidationErrors, line: int | None = None, times: int = 1) -> None:
    """Remark that a key occurs more than once in an object."""
    errors.remark(
        f"the key {key[:60]!r} occurs more than once in one object: the last value is read", line, times
    )


def _is_cut_short(error: json.JSONDecodeError) -> bool:
    """Return whether nothing but whitespace stands where the fault is."""
    return bool(error.doc.strip()) and not error.doc[error.pos :].strip()


def json_fault(error: Exception) -> str:
    """Return what is wrong with a JSON text, with the column."""
    if isinstance(error, json.JSONDecodeError) and _is_cut_short(error):
        return "it ends before it is complete"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "it holds a whole number with too many digits" if "integer string" in str(error) else str(error)


def decoded_line(line: bytes, number: int, errors: ValidationErrors) -> str | None:
    """Return the text of a line, or None with an error added if it is not UTF-8 or contains NUL bytes."""
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
        while line and not line.endswith(b"\n"):  # skip the rest of that line
            line = stream.readline(1 << 20)
