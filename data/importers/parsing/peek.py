"""A first look at a file, a folder or a database: what an importer needs to recognise it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.parsing.archive import member_names
from ragtriage.data.importers.parsing.documents_in_json import outline
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import container, open_table
from ragtriage.data.importers.parsing.shapes import items, objects
from ragtriage.data.importers.parsing.sqlite_file import is_sqlite, table_names
from ragtriage.data.importers.parsing.workbook import is_workbook

ROWS = 20


class Peek:
    """The first look at a file, found out once and only as far as asked for.

    A file that cannot be read as what its beginning promises looks empty here: the importer that reads it, or
    the detection itself, says what is wrong with it.
    """

    def __init__(self, source: InputFile) -> None:
        self.source = source

    @cached_property
    def kind(self) -> str:
        """Container format: "folder", "sqlite", "zip", or what `container` returns."""
        if self.source.is_folder:
            return "folder"
        if member_names(self.source) and not is_workbook(self.source):
            return "zip"
        return "sqlite" if is_sqlite(self.source) else container(self.source)

    @property
    def folder(self) -> Path | None:
        """The folder, or None where it is a file."""
        return self.source.path if self.kind == "folder" else None

    @cached_property
    def tables(self) -> frozenset[str]:
        """Names of the tables of an SQLite database."""
        return table_names(self.source) if self.kind == "sqlite" else frozenset()

    @cached_property
    def document(self) -> Any:
        """The JSON document; of a large one, its beginning; None where it is none."""
        try:
            return outline(self.source) if self.kind == "json" else None
        except InputError:
            return None

    @cached_property
    def keys(self) -> Mapping[str, Any]:
        """Top-level keys of a JSON object with their values; empty for anything else."""
        return self.document if isinstance(self.document, dict) else {}

    @cached_property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The first rows: objects of a JSON list or of lines, rows of a table; () for a JSON object."""
        if self.kind == "json":
            return tuple(objects(items(self.document)[:ROWS]))
        if self.kind not in ("jsonl", "csv", "parquet", "xlsx"):
            return ()
        with suppress(InputError):
            table = open_table(self.source, ValidationErrors(self.source.name), ROWS)
            return tuple(row for _, row in islice(table.rows(), ROWS) if isinstance(row, dict))
        return ()

    def rows_at(self, key: str) -> tuple[dict[str, Any], ...]:
        """Return the first rows, or, of a JSON object, those in the list under a key."""
        listed = self.keys.get(key)
        return tuple(objects(listed[:ROWS])) if isinstance(listed, list) else self.rows

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names in the first rows."""
        return frozenset(map(str, chain.from_iterable(self.rows)))

    @cached_property
    def names(self) -> frozenset[str]:
        """Everything the first look shows, in lower case: the kind, the first characters, and every name.

        Names are those of columns, of keys down to the third level, and of the tables of a database.
        """
        opening = self.source.head(32).decode("utf-8", "replace") if self.kind == "csv" else ""
        titles = self.keys.get("columns")  # of a frame that is written as columns and data
        names = (*self.tables, *_names_in([self.document, *self.rows]))
        shown = (*names, *map(str, items(titles)), f"kind:{self.kind}", f"begins:{opening.lstrip()}")
        return frozenset(name.strip().lower() for name in shown)

    @property
    def first(self) -> Mapping[str, Any]:
        """The first row; empty where there is none."""
        return self.rows[0] if self.rows else {}


def _names_in(values: Iterable[Any], levels: int = 3) -> Iterator[str]:
    """Yield the keys of objects, and of those inside them, where the first ones stand for all of a list."""
    for value in values:
        if isinstance(value, list):
            yield from _names_in(value[:ROWS], levels)
        elif isinstance(value, dict) and levels:
            yield from map(str, value)
            yield from _names_in(value.values(), levels - 1)
