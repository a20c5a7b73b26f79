"""Rows of a table-like file (JSONL, JSON, CSV, TSV, Parquet, XLSX) with their lines; rows on disk by key."""

import csv
import io
import json
import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO, Self, cast

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.parsing.containers import is_workbook, sheets_of
from ragtriage.data.importers.parsing.documents_in_json import (
    HEAD_ROWS,
    chosen_list,
    items_at,
    rows_of_document,
)
from ragtriage.data.importers.parsing.input_file import (
    GUESSED_BYTES,
    LIFT,
    InputFile,
    decoded_line,
    json_fault,
    read_json,
    remark_repeated,
)
from ragtriage.data.store.parsed_run import Record

BATCH_BYTES = 256 << 20
PARQUET_MAGIC = b"PAR1"
DELIMITERS = (",", "\t", ";", "|")
OBJECT_PER_LINE = "one JSON object per line"


@dataclass(frozen=True)
class Table:
    """Rows that can be consumed once."""

    kind: str  # container format: "jsonl", "json", "csv", "markdown", "parquet", "xlsx" or "frame"
    columns: tuple[str, ...]  # names in the first HEAD_ROWS rows, in order of appearance
    head: tuple[Record, ...]  # those first rows, each (line, row); a row may be anything but an object too
    rest: Iterator[Record]  # the rows after them
    notes: tuple[str, ...] = ()  # what was assumed to get the rows

    def rows(self) -> Iterator[Record]:
        """Return all rows."""
        return chain(self.head, self.rest)

    @classmethod
    def of(
        cls, kind: str, records: Iterable[Record], columns: Iterable[str] = (), notes: tuple[str, ...] = ()
    ) -> Self:
        """Return a table of a stream of rows, with the column names of its head."""
        stream = iter(records)
        head: list[Record] = []
        names = dict.fromkeys(columns)
        size = 0
        for line, row in islice(stream, HEAD_ROWS):
            head.append((line, row))
            if isinstance(row, dict):
                names.update(dict.fromkeys(str(key) for key in row))
            values = [row]
            while values:  # about how many bytes it takes in memory
                value = values.pop()
                size += 50 + (len(value) if isinstance(value, str) else 0)
                if isinstance(value, list | dict):
                    values.extend(value.values() if isinstance(value, dict) else value)
            if size > GUESSED_BYTES:  # fewer rows where they are large
                break
        return cls(kind, tuple(names), tuple(head), stream, notes)


def container(source: InputFile) -> str:
    """Return the container format of a file by its content, and by its ending if that is ambiguous.

    Returns:
        "parquet", "xlsx", "json", "jsonl", "markdown" or "csv" (any delimited text).
    """
    if is_workbook(source):
        return "xlsx"
    head = source.head()
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    text = head.decode("utf-8", "replace").lstrip()
    if not text:
        raise source.error("holds only blank lines", "a file with at least one record")
    if "|" in text and _RULE.search(text) and text[0] not in "{[":
        return "markdown"
    whole = len(head) < (1 << 20)
    lines = [line for line in text.split("\n")[:50] if line.strip()]
    complete = lines if whole or len(lines) == 1 else lines[:-1]
    objects = sum(_is_object(line) for line in complete)
    if text[0] == "{" and len(lines) > 1 and (_is_object(lines[0]) or objects * 2 > len(complete)):
        return "jsonl"
    if text[0] in "{[":
        return "jsonl" if source.ending in {".jsonl", ".ndjson"} and text[0] == "{" else "json"
    return "jsonl" if objects or source.ending in {".jsonl", ".ndjson", ".json"} else "csv"


def _is_object(line: str) -> bool:
    if not line.startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def open_table(
    source: InputFile, errors: ValidationErrors, limit: int | None = None, *, rows: str = ""
) -> Table:
    """Open a file as a table; rows that cannot be read are added to `errors` as the rows are consumed.

    Of a JSON document that holds several lists, or a workbook, `rows` names the list or sheet to read.

    Raises:
        InputError: it cannot be opened, or has more columns than the limit.
    """
    table = _opened(source, errors, limit, rows)
    if len(table.columns) > (most := source.limits.columns):
        raise source.error(f"has {len(table.columns):,} columns", f"at most {most:,} columns{LIFT}")
    return table


def _opened(source: InputFile, errors: ValidationErrors, limit: int | None, rows: str) -> Table:
    kind = container(source)
    if kind == "xlsx":
        return _sheet(source, rows, limit)
    if rows and kind != "json":
        what = f"is {kind}, which holds no lists of rows to choose from"
        raise source.error(what, "JSON or a workbook with --rows NAME")
    if kind == "parquet":
        columns, records = _parquet(source)
        return Table.of(kind, islice(records, limit), columns)
    if kind == "csv":
        header, records = _delimited(source, errors)
        return Table.of(kind, islice(records, limit), header)
    if kind == "markdown":
        header, records, notes = _markdown(source, errors)
        return Table.of(kind, islice(records, limit), header, notes)
    if kind == "json":
        listed = rows_of_document(source, rows)
        return Table.of(kind, islice(enumerate(listed.rows, start=1), limit), notes=listed.notes)
    return Table.of(kind, islice(json_lines(source, errors), limit))


def _sheet(source: InputFile, wanted: str, limit: int | None) -> Table:
    sheets = sheets_of(source)
    if not sheets:
        raise source.error("is a workbook without a table", "a sheet with a row of column names")
    lists = {name: [row for _, row in sheet.rows] for name, sheet in sheets.items()}
    name, notes = chosen_list(lists, wanted, source)
    sheet = sheets[name]
    return Table.of("xlsx", islice(sheet.rows, limit), sheet.columns, (*notes, *sheet.notes))


def object_rows(
    rows: Iterable[Record],
    errors: ValidationErrors,
    accepted: str = "an object with a question",
    field: str = "",
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows that are objects; others are reported."""
    for line, row in rows:
        if isinstance(row, dict):
            yield line, row
        else:
            errors.add(line, field, f"found {type_name(row)}", accepted)


def rows_at(
    source: InputFile, path: str, errors: ValidationErrors, *, alone: bool = False
) -> Iterator[Record]:
    """Yield the rows of a file, whichever way a tool wrote them, without holding them.

    These are lines of JSON, a table, a JSON list, or the list at a path of a JSON object (`items_at`); with
    `alone`, an object without such a list is a row itself.
    """
    if container(source) != "json":
        yield from open_table(source, errors).rows()
        return
    is_list = source.head(256).lstrip()[:1] == b"["
    number = 0
    for number, row in items_at(source, "" if is_list else path):
        yield number, row
    if alone and not number and not is_list:
        yield 1, source.document()


def json_lines(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    """Yield the value on each line; lines that are not JSON are reported and skipped."""
    repeated: Counter[str] = Counter()
    for number, text in source.lines(errors):
        try:
            yield number, read_json(text, repeated)
        except (ValueError, RecursionError) as error:
            errors.add(number, "", f"is not JSON: {json_fault(error)}", OBJECT_PER_LINE)
        if repeated:
            for key, times in repeated.items():
                remark_repeated(key, errors, number, times)
            repeated.clear()


def _parquet(source: InputFile) -> tuple[list[str], Iterator[Record]]:
    accepted = "a whole Parquet file"
    try:
        file = pq.ParquetFile(source.random_access())
        size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise source.error(f"is a Parquet file that cannot be read: {error}", accepted) from error
    if size > source.limits.unpacked_bytes:
        limit = f"{source.limits.unpacked_bytes:,} bytes"
        raise source.error(f"unpacks to {size:,} bytes", f"at most {limit} unpacked{LIFT}")
    return list(file.schema_arrow.names), _parquet_rows(file, source)


def _parquet_rows(file: pq.ParquetFile, source: InputFile) -> Iterator[Record]:
    number = 0
    try:
        unpacked = 0
        # how many rows to read at once: few where a single value may be large
        groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
        largest = max((group.total_byte_size for group in groups), default=0)
        batch_rows = max(16, min(256, BATCH_BYTES // max(largest, 1)))
        for batch in file.iter_batches(batch_size=batch_rows):
            unpacked += batch.nbytes
            if unpacked > source.limits.unpacked_bytes:  # a text that is stored once can stand in every row
                limit = f"{source.limits.unpacked_bytes:,} bytes"
                raise source.error(f"unpacks to more than {limit}", f"at most {limit} unpacked{LIFT}")
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = f"is a Parquet file that cannot be read: {error}"
        raise source.error(what, "a whole Parquet file", number + 1) from error


def _delimited(source: InputFile, errors: ValidationErrors) -> tuple[list[str], Iterator[Record]]:
    csv.field_size_limit(source.limits.line_bytes)  # the default limit is 128 KB, too little for contexts
    reader = csv.reader(_text_lines(source, errors), delimiter=_delimiter(source), strict=True)
    try:
        header = next(reader)
    except (csv.Error, StopIteration) as error:
        errors.raise_if_any()
        raise source.error(f"has no readable header: {error}", "a first line with column names", 1) from error
    names = _distinct(header)
    return names, _delimited_rows(reader, names, errors)


def _distinct(header: Iterable[str]) -> list[str]:
    """Return the names of columns, each once, and one for a column without."""
    names: dict[str, None] = {}  # in order; a list would be searched once a column
    for position, name in enumerate(header, start=1):
        distinct = name.strip() or f"column {position}"
        while distinct in names:
            distinct = f"{distinct} ({position})"
        names[distinct] = None
    return [*names]


_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+(?:[ \t]*:?-{3,}:?)?[ \t]*\r?$", re.MULTILINE)
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def _markdown(
    source: InputFile, errors: ValidationErrors
) -> tuple[list[str], Iterator[Record], tuple[str, ...]]:
    """Return the columns and rows of the first table in a Markdown file, and what is not read."""
    lines = ((number, text.rstrip("\r\n")) for number, text in source.lines(errors))
    before, number = "", 0
    for number, line in lines:  # noqa: B007 - it counts the lines above
        if before and _RULE.fullmatch(line):
            break
        before = line if "|" in line else ""
    else:
        errors.raise_if_any()
        raise source.error("has no readable table", "a header, a line as |---|---| and rows between |")
    names = _distinct(_markdown_cells(before))
    above = f"not read above the table: {number - 2} line{'s' * (number > 3)}" if number > 2 else ""

    def rows() -> Iterator[Record]:
        for at, text in lines:
            if "|" not in text:
                return
            cells = _markdown_cells(text)
            if len(cells) > len(names):
                errors.add(at, "", f"has {len(cells)} cells", f"{len(names)} as in the header; \\| in text")
            else:
                yield at, dict(zip(names, [*cells, *[""] * (len(names) - len(cells))], strict=True))

    return names, rows(), (above,) if above else ()


def _markdown_cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
    cells = _BETWEEN_CELLS.split(inner)
    return [_LINE_BREAK.sub("\n", cell.strip().replace("\\|", "|")) for cell in cells]


def _delimiter(source: InputFile) -> str:
    first = io.StringIO(source.head().decode("utf-8", "replace").lstrip())
    cell_counts = {}
    for delimiter in DELIMITERS:
        first.seek(0)
        try:
            cell_counts[delimiter] = len(next(csv.reader(first, delimiter=delimiter)))
        except (csv.Error, StopIteration):
            cell_counts[delimiter] = 0
    preferred = "\t" if source.ending in {".tsv", ".tab"} else ","
    return max(DELIMITERS, key=lambda delimiter: (cell_counts[delimiter], delimiter == preferred))


def _text_lines(source: InputFile, errors: ValidationErrors) -> Iterator[str]:
    """Yield every line up to the first bad one; blank ones too, since a quoted cell may hold them."""
    limit = source.limits.line_bytes
    with source.open() as stream:
        number = 0
        while line := stream.readline(limit + 1):
            number += 1
            if len(line) > limit:
                accepted = f"lines of at most {limit:,} bytes{LIFT}"
                errors.add(number, "", f"is longer than {limit:,} bytes", accepted)
                return
            text = decoded_line(line, number, errors)
            if text is None:
                return
            yield text


def _delimited_rows(reader: Any, names: list[str], errors: ValidationErrors) -> Iterator[Record]:
    accepted = f"{len(names)} cells as in the header; text that holds the delimiter or quotes is quoted"
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            errors.add(line, "", f"cannot be read: {error}; reading ended here", accepted)
            return
        if len(cells) == len(names):
            yield line, dict(zip(names, cells, strict=True))
        elif cells:
            errors.add(line, "", f"has {len(cells)} cells", accepted)


class Spool:
    """Rows kept in a temporary file by key, in order of arrival; memory holds 24 bytes a row.

    The file is gone when the spool is no longer used. Values come back as JSON: NaN as None, tuples as lists.
    """

    def __init__(self) -> None:
        self._file = cast(BinaryIO, tempfile.TemporaryFile(prefix="ragtriage-"))  # noqa: SIM115 # lives on
        self._places: dict[str, array[int]] = {}
        self._end = 0

    def add(self, key: str, line: int, value: Any) -> None:
        """Keep a row under a key."""
        options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
        try:
            content = orjson.dumps(value, default=str, option=options)
        except (orjson.JSONEncodeError, UnicodeEncodeError):  # numbers of over 64 bits, lone surrogates
            content = json.dumps(value, default=str).encode()
        self._file.seek(self._end)
        self._file.write(content)
        self._places.setdefault(key, array("q")).extend((line, self._end, len(content)))
        self._end += len(content)

    @property
    def keys(self) -> list[str]:
        """The keys in order of first arrival."""
        return list(self._places)

    def rows(self, key: str) -> Iterator[tuple[int, Any]]:
        """Yield the rows of a key with their lines."""
        places = self._places.get(key, array("q"))
        for at in range(0, len(places), 3):
            line, start, length = places[at : at + 3]
            self._file.seek(start)
            content = self._file.read(length)
            try:
                yield line, orjson.loads(content)
            except orjson.JSONDecodeError:  # lone surrogates
                yield line, json.loads(content)
