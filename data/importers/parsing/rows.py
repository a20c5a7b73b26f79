"""Rows of a table-like file (JSONL, JSON, CSV, TSV or Parquet), with their columns and line numbers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from data.errors import ValidationErrors
from data.importers.parsing.input_file import InputFile, decoded_line, json_fault
from data.store.parsed_run import Record

__all__ = ["HEAD_ROWS", "Table", "container", "document_rows", "open_table"]

HEAD_ROWS = 200
PARQUET_MAGIC = b"PAR1"
DELIMITERS = (",", "\t", ";", "|")
LIST_KEYS = ("samples", "results", "records", "rows", "data", "examples", "questions", "items")
OBJECT_PER_LINE = "one JSON object per line"


@dataclass(frozen=True)
class Table:
    """Rows that can be consumed once.

    Attributes:
        kind: container format: "jsonl", "json", "csv", "parquet" or "frame".
        columns: names in the first HEAD_ROWS rows, in order of appearance.
        head: those first rows, each (line, row); a row may be anything but an object too.
        rest: the rows after them.
    """

    kind: str
    columns: tuple[str, ...]
    head: tuple[Record, ...]
    rest: Iterator[Record]

    def rows(self) -> Iterator[Record]:
        """Return all rows."""
        return chain(self.head, self.rest)

    @classmethod
    def of(cls, kind: str, records: Iterable[Record], columns: Iterable[str] = ()) -> Table:
        """Return a table of a stream of rows, with the column names of its head."""
        stream = iter(records)
        head = tuple(islice(stream, HEAD_ROWS))
        names = dict.fromkeys(columns)
        for _, row in head:
            if isinstance(row, dict):
                names.update(dict.fromkeys(str(key) for key in row))
        return cls(kind, tuple(names), head, stream)


def container(source: InputFile) -> str:
    """Return the container format of a file by its content, and by its ending if that is ambiguous.

    Returns:
        "parquet", "json", "jsonl" or "csv" (any delimited text).
    """
    head = source.head()
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    text = head.decode("utf-8", "replace").lstrip()
    if not text:
        raise source.error("holds only blank lines", "a file with at least one record")
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


def open_table(source: InputFile, errors: ValidationErrors, limit: int | None = None) -> Table:
    """Open a file as a table; rows that cannot be read are added to `errors` as the rows are consumed."""
    kind = container(source)
    if kind == "parquet":
        columns, records = _parquet(source)
        return Table.of(kind, islice(records, limit), columns)
    if kind == "csv":
        header, records = _delimited(source, errors)
        return Table.of(kind, islice(records, limit), header)
    if kind == "json":
        return Table.of(kind, islice(document_rows(source), limit))
    return Table.of(kind, islice(json_lines(source, errors), limit))


def json_lines(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    """Yield the value on each line; lines that are not JSON are reported and skipped."""
    for number, text in source.lines(errors):
        try:
            yield number, json.loads(text)
        except (ValueError, RecursionError) as error:
            errors.add(number, "", f"is not JSON: {json_fault(error)}", OBJECT_PER_LINE)


def document_rows(source: InputFile) -> Iterator[Record]:
    """Yield the rows of a JSON document: of a list of objects, or of columns of equal length."""
    return enumerate(_rows_of(source.document(), source), start=1)


def _rows_of(document: Any, source: InputFile) -> list[Any]:
    accepted = f"a list of objects, or an object that holds one under {', '.join(LIST_KEYS)}"
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        raise source.error("holds a single value", accepted)
    lists = {key: value for key, value in document.items() if _is_rows(value)}
    keys = [key for key in LIST_KEYS if key in lists] or list(lists)
    if keys:
        return cast(list[Any], lists[keys[0]])
    columns = {key: _column(value) for key, value in document.items()}
    cells = [column for column in columns.values() if column is not None]
    if cells and len(cells) == len(columns) and len({len(column) for column in cells}) == 1:
        return [dict(zip(columns, values, strict=True)) for values in zip(*cells, strict=True)]
    return [document]


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value[:HEAD_ROWS])


def _column(value: object) -> list[Any] | None:
    if isinstance(value, list) and value:
        return value
    if isinstance(value, dict) and "0" in value and all(str(key).isdigit() for key in value):
        return list(value.values())
    return None


def _parquet(source: InputFile) -> tuple[list[str], Iterator[Record]]:
    accepted = "a whole Parquet file"
    try:
        file = pq.ParquetFile(source.random_access())
        size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
    except (pa.ArrowException, OSError) as error:
        raise source.error(f"is a Parquet file that cannot be read: {error}", accepted) from error
    if size > source.limits.unpacked_bytes:
        limit = f"{source.limits.unpacked_bytes:,} bytes"
        raise source.error(f"unpacks to {size:,} bytes", f"at most {limit} unpacked")
    return list(file.schema_arrow.names), _parquet_rows(file, source)


def _parquet_rows(file: pq.ParquetFile, source: InputFile) -> Iterator[Record]:
    number = 0
    try:
        for batch in file.iter_batches(batch_size=256):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pa.ArrowException, OSError) as error:
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
    names = _distinct([name.strip() for name in header])
    return names, _delimited_rows(reader, names, errors)


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


def _distinct(names: list[str]) -> list[str]:
    distinct: list[str] = []
    for position, name in enumerate(names, start=1):
        candidate = name or f"column {position}"
        while candidate in distinct:
            candidate = f"{candidate} ({position})"
        distinct.append(candidate)
    return distinct


def _text_lines(source: InputFile, errors: ValidationErrors) -> Iterator[str]:
    """Yield every line up to the first bad one; blank ones too, since a quoted cell may hold them."""
    limit = source.limits.line_bytes
    with source.open() as stream:
        number = 0
        while line := stream.readline(limit + 1):
            number += 1
            if len(line) > limit:
                errors.add(number, "", f"is longer than {limit:,} bytes", f"lines of at most {limit:,} bytes")
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
