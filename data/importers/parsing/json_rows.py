"""Rows of a JSON document: a list of objects, alone or under a key, or columns, paired by key or position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ragtriage.data.errors import InputError, ValidationError
from ragtriage.data.importers.parsing.field_names import guessed_fields
from ragtriage.data.importers.parsing.input_file import InputFile

HEAD_ROWS = 200
SHOWN_LISTS = 6
WRAPPER = "testRunData"  # around the document itself, in the latest run that DeepEval keeps
LIST_KEYS = ("samples", "results", "records", "rows", "data", "examples", "questions", "items")


class SeveralListsError(InputError):
    """A document with several lists of rows that could each be a run: which one to read has to be asked.

    Attributes:
        lists: name -> number of rows.
    """

    def __init__(self, file: str, lists: Mapping[str, int]) -> None:
        self.lists = lists
        what = f"holds several lists of questions: {_listed(lists)}"
        accepted = "the name of the one to read: --rows NAME, or the choice on the page Runs"
        super().__init__([ValidationError(file, None, "", what, accepted)])


def _listed(lists: Mapping[str, int]) -> str:
    shown = ", ".join(f"{name!r} ({count:,})" for name, count in list(lists.items())[:SHOWN_LISTS])
    return shown + (f" and {len(lists) - SHOWN_LISTS:,} more" if len(lists) > SHOWN_LISTS else "")


@dataclass(frozen=True)
class JsonRows:
    """The rows of a document, and what was assumed to get them."""

    rows: Sequence[Any]
    notes: tuple[str, ...] = ()


def rows_of_document(source: InputFile, wanted: str = "") -> JsonRows:
    """Return the rows of a JSON document.

    Args:
        source: the file.
        wanted: name of the list of rows to read; "" for the only one with a question.

    Raises:
        SeveralListsError: several lists have a question, and none is wanted.
        InputError: it has no rows, no such list, or columns that cannot be paired.
    """
    document = source.document()
    if isinstance(document, list):
        return JsonRows(document)
    if not isinstance(document, dict):
        accepted = "a list of objects, or an object that holds one"
        raise source.error("holds a single value", accepted)
    if isinstance(document.get(WRAPPER), dict):
        document = document[WRAPPER]
    lists = {key: value for key, value in document.items() if _is_rows(value)}
    if lists or wanted:
        return _of_lists(lists, wanted, source)
    return _of_split_frame(document) or _of_columns(document, source) or JsonRows([document])


def _of_lists(lists: Mapping[str, list[Any]], wanted: str, source: InputFile) -> JsonRows:
    counts = {name: len(rows) for name, rows in lists.items()}
    if wanted and wanted not in lists:
        accepted = _listed(counts) if counts else "no name: it holds no list of rows under a name"
        raise source.error(f"holds no list of rows named {wanted!r}", accepted)
    with_question = [
        name
        for name, rows in lists.items()
        if ("question" in guessed_fields(dict.fromkeys(chain.from_iterable(rows[:HEAD_ROWS]))))
    ]
    if len(with_question) > 1 and not wanted:
        raise SeveralListsError(source.name, {name: counts[name] for name in with_question})
    usual = [name for name in LIST_KEYS if name in lists]
    chosen = wanted or [*with_question, *usual, *lists][0]
    others = {name: count for name, count in counts.items() if name != chosen}
    note = f"rows are read from {chosen!r}; lists of rows that are left out: {_listed(others)}"
    return JsonRows(lists[chosen], (note,) if others else ())


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value[:HEAD_ROWS])


def _of_split_frame(document: Mapping[str, Any]) -> JsonRows | None:
    """Return the rows of {columns: [name], data: [[cell]]}, one of the forms of pandas."""
    names, rows = document.get("columns"), document.get("data")
    if not isinstance(names, list) or not isinstance(rows, list) or not rows:
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    return JsonRows([dict(zip(map(str, names), row, strict=True)) for row in rows])


def _of_columns(document: Mapping[str, Any], source: InputFile) -> JsonRows | None:
    """Return the rows of {column: {row key: cell}} or {column: [cell]}; None if these are no columns."""
    columns = list(document.values())
    if columns and all(isinstance(cells, dict) and cells for cells in columns):
        return _keyed_rows(document)
    is_listed = [isinstance(cells, list) and bool(cells) for cells in columns]
    if columns and all(is_listed) and len({len(cells) for cells in columns}) == 1:
        return JsonRows([dict(zip(document, cells, strict=True)) for cells in zip(*columns, strict=True)])
    held_together = all(isinstance(cells, list | dict) for cells in columns)
    if not held_together or "question" not in guessed_fields(document):
        return None
    sizes = ", ".join(f"{name} {len(cells):,}" for name, cells in document.items())
    raise source.error(
        f"holds columns that cannot be paired: cells by key and by position, or different numbers ({sizes})",
        "every column as an object of row key: cell, or every column as a list of one length",
    )


def _keyed_rows(document: Mapping[str, Mapping[str, Any]]) -> JsonRows | None:
    """Return rows paired by their keys: the order of cells may differ from column to column."""
    keys = dict.fromkeys(chain.from_iterable(document.values()))
    numbered = all(key.isdigit() for key in keys)
    if not numbered and ("question" not in guessed_fields(document) or len(keys) < 2):
        by_key = "question" in guessed_fields(keys)
        return JsonRows(_identified(document)) if by_key else None
    rows = {key: {name: cells[key] for name, cells in document.items() if key in cells} for key in keys}
    lacking = [
        f"{name!r} for {len(keys) - len(cells):,}"
        for name, cells in document.items()
        if len(cells) < len(keys)
    ]
    note = f"columns without a cell: {', '.join(lacking)} of {len(keys):,} rows; cells are paired by key"
    return JsonRows(_identified(rows), (note,) if lacking else ())


def _identified(rows: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Return rows that stood under keys; the keys are their ids unless they are numbers or ids are there."""
    names = chain.from_iterable(rows.values())
    if "question_id" in guessed_fields(names) or all(key.isdigit() for key in rows):
        return list(rows.values())
    return [{"question_id": key, **row} for key, row in rows.items()]
