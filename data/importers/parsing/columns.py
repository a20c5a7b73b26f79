"""Which column of a table fills which field: guessed by name and values, shown, open to override."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from statistics import median

from data.errors import InputError, ValidationError
from data.importers.parsing.cells import PSEUDO_FIELDS, CellError, is_blank, read_cell, read_score
from data.importers.parsing.metric_names import metric_name, plain_name
from data.importers.parsing.rows import Table
from data.store.parsed_run import MappedColumn
from data.store.sample_schema import FIELDS

__all__ = [
    "Plan",
    "check_overrides",
    "guessed_fields",
    "is_prefixed",
    "plan_columns",
]

PREFIXES = ("scores.", "tags.")


def check_overrides(columns: tuple[str, ...], overrides: Mapping[str, str], file: str) -> None:
    """Refuse a mapping that names a column or field that does not exist, or one field twice.

    Raises:
        InputError: with the columns and fields there are.
    """
    known = [*FIELDS, *PSEUDO_FIELDS]
    errors = []
    taken: dict[str, str] = {}
    for column, field in overrides.items():
        if column not in columns:
            errors.append(ValidationError(file, None, column, "no such column to map", ", ".join(columns)))
        if field and field not in known and not is_prefixed(field):
            accepted = f"{', '.join(known)}, scores.<metric>, tags.<key>, or nothing to keep it as extra"
            errors.append(
                ValidationError(file, None, column, f"mapped to {field!r}, which is no field", accepted)
            )
        if field and field in taken:
            what = f"mapped to {field!r}, as {taken[field]!r} already is"
            errors.append(ValidationError(file, None, column, what, "each field once"))
        taken[field] = column
    if errors:
        raise InputError(errors)


def is_prefixed(field: str) -> bool:
    """Whether a field is `scores.<metric>` or `tags.<key>`."""
    return any(field.startswith(prefix) and field != prefix for prefix in PREFIXES)


MAX_RUNS = 50
MAX_TAG_LENGTH = 60
MAX_TAG_VALUES = 20
SECONDS_UP_TO = 300  # a median above it can only be milliseconds: no one waits five minutes for an answer
TEXT_FIELDS = {"question", "answer", "reference_answer", "search_query", "prompt", "query_type"}
LIST_FIELDS = {"retrieved", "candidates", "history", "relevant", "relevant_texts", "retrieved_ids"}
NUMBER_FIELDS = {
    *("latency_ms", "retrieval_ms", "input_tokens", "output_tokens", "cost_usd", "peak_memory_mb"),
}


@dataclass(frozen=True)
class Plan:
    """How the rows of a table become records.

    Attributes:
        fields: column -> field, "scores.<metric>", "tags.<key>", a pseudo field, or "" (kept as extra).
        shown: the same with an example, for the preview.
        factors: column -> factor its numbers are multiplied by, e.g. 1000 for seconds.
        blank_text: whether empty text in this container means that nothing is there.
        notes: assumptions to tell the reader.
    """

    fields: Mapping[str, str]
    shown: tuple[MappedColumn, ...]
    factors: Mapping[str, float]
    blank_text: bool
    notes: tuple[str, ...]

    def column(self, field: str) -> str | None:
        """The column that fills a field, or None."""
        return next((column for column, target in self.fields.items() if target == field), None)


@dataclass(frozen=True)
class _Column:
    name: str
    values: tuple[object, ...]  # of the head rows, blanks left out
    rows: int

    @property
    def distinct(self) -> int:
        return len({repr(value) for value in self.values})

    def share(self, fits: Callable[[object], bool]) -> float:
        return sum(map(fits, self.values)) / len(self.values) if self.values else 0.0


@cache
def _synonyms() -> dict[str, list[str]]:
    text = Path(__file__).with_name("columns.json").read_text(encoding="utf-8")
    known: dict[str, list[str]] = json.loads(text)
    return {**known, **{field: [field] for field in FIELDS if field not in known}}


def guessed_fields(columns: Iterable[str]) -> set[str]:
    """The fields that some of these column names are usual names of."""
    plain = {plain_name(column) for column in columns}
    return {field for field, names in _synonyms().items() if plain & set(names)}


def plan_columns(
    table: Table, overrides: Mapping[str, str], file: str, *, metrics_after: Collection[str] = ()
) -> Plan:
    """Decide for every column of a table what it fills.

    Args:
        table: the table; only its head is looked at.
        overrides: column -> field, as the user wants it; "" keeps a column as extra.
        file: name of the file, for messages.
        metrics_after: names of a tool's own columns; every number column after the last is a metric.

    Raises:
        InputError: an override names a column or a field that does not exist, or one field twice.
    """
    check_overrides(table.columns, overrides, file)
    blank_text = table.kind == "csv"
    columns = [_head_column(table, name, blank_text) for name in table.columns]
    fields = dict(overrides)
    _guess_fields(columns, fields)
    _guess_metrics(columns, fields, metrics_after)
    for column in columns:
        fields.setdefault(column.name, f"tags.{column.name}" if _is_tag(column) else "")
    ordered = {name: fields[name] for name in table.columns}
    _require_question(ordered, file)
    factors, notes = _units(columns, ordered)
    shown = tuple(
        MappedColumn(column.name, ordered[column.name], _example(column.values)) for column in columns
    )
    return Plan(ordered, shown, factors, blank_text, (*notes, *_left_over(ordered)))


def _require_question(fields: Mapping[str, str], file: str) -> None:
    if "question" in fields.values():
        return
    what = f"no column reads as the question (columns: {', '.join(map(repr, fields)) or 'none'})"
    names = ", ".join(_synonyms()["question"])
    raise InputError(
        [ValidationError(file, None, "question", what, f"one of {names}; or a mapping of a column to it")]
    )


def _head_column(table: Table, name: str, blank_text: bool) -> _Column:
    rows = [row for _, row in table.head if isinstance(row, dict)]
    cells = [row.get(name) for row in rows]
    return _Column(
        name, tuple(cell for cell in cells if not is_blank(cell, blank_text=blank_text)), len(rows)
    )


def _guess_fields(columns: list[_Column], fields: dict[str, str]) -> None:
    by_plain = {plain_name(column.name): column for column in reversed(columns)}
    exact = {column.name: column for column in columns}
    for field, names in _synonyms().items():
        if field in fields.values():
            continue
        for name in names:
            column = exact.get(name) or by_plain.get(name)
            if column is None or column.name in fields or not _fits(column, field):
                continue
            fields[column.name] = field
            break
    for name in exact:
        if is_prefixed(name):
            fields.setdefault(name, name)
    _distrust_row_numbers(exact, fields)


def _fits(column: _Column, field: str) -> bool:
    if not column.values:
        return field in FIELDS and column.name == field
    if field == "run":
        texts = column.share(lambda value: isinstance(value, str | int) and len(str(value)) <= MAX_TAG_LENGTH)
        few = column.distinct <= max(1, min(MAX_RUNS, column.rows // 2))
        return texts == 1.0 and few
    return column.share(lambda value: _reads_as(field, value)) >= 0.5


def _reads_as(field: str, value: object) -> bool:
    try:
        found = read_cell(field, value)
    except CellError:
        return False
    if field in TEXT_FIELDS:
        return isinstance(found, str) or (field == "question" and isinstance(found, list))
    if field in NUMBER_FIELDS:
        return isinstance(found, int | float) and not isinstance(found, bool)
    if field in LIST_FIELDS:
        return isinstance(found, list)
    if field == "repeat":
        return isinstance(found, int | float | str)
    return isinstance(found, bool) if field == "refused" else found is not None


def _distrust_row_numbers(columns: Mapping[str, _Column], fields: dict[str, str]) -> None:
    """An id that is new on every row though questions come again numbers rows, not questions."""
    names = {field: column for column, field in fields.items()}
    identifier, question = columns.get(names.get("question_id", "")), columns.get(names.get("question", ""))
    if identifier is None or question is None or plain_name(identifier.name) == "question_id":
        return
    if identifier.distinct == len(identifier.values) and question.distinct < len(question.values):
        fields[identifier.name] = ""


def _guess_metrics(columns: list[_Column], fields: dict[str, str], own: Collection[str]) -> None:
    last = max((i for i, column in enumerate(columns) if column.name in own), default=len(columns))
    for position, column in enumerate(columns):
        if column.name in fields:
            continue
        key, known = metric_name(column.name)
        numbers = column.share(_is_score) == 1.0
        mostly = column.share(_is_score) >= 0.5 or not column.values  # the odd word is then reported
        after = position > last and (numbers or not column.values)
        if (known and mostly) or after or (numbers and _is_share(column)):
            taken = set(fields.values())
            repeat = next(n for n in range(1, len(columns) + 2) if _numbered(key, n) not in taken)
            fields[column.name] = _numbered(key, repeat)


def _numbered(key: str, repeat: int) -> str:
    return f"scores.{key}" if repeat == 1 else f"scores.{key}_{repeat}"


def _number(value: object) -> float | None:
    """A cell as a number; NaN where it says failed, None where it is no number."""
    try:
        found = read_score(value)
    except CellError:
        return None
    return float(found) if isinstance(found, int | float) and not isinstance(value, bool) else None


def _is_score(value: object) -> bool:
    return _number(value) is not None


def _is_share(column: _Column) -> bool:
    """Numbers between 0 and 1 that are not all whole: the look of a metric."""
    numbers = _finite_numbers(column)
    return all(0 <= number <= 1 for number in numbers) and not all(n.is_integer() for n in numbers)


def _finite_numbers(column: _Column) -> list[float]:
    numbers = [_number(value) for value in column.values]
    return [number for number in numbers if number is not None and isfinite(number)]


def _is_tag(column: _Column) -> bool:
    numbers_rows = 2 < column.distinct == len(column.values)
    if not column.values or numbers_rows or column.distinct > MAX_TAG_VALUES:
        return False
    return (
        column.share(lambda value: isinstance(value, str | int | bool) and len(str(value)) <= MAX_TAG_LENGTH)
        == 1.0
    )


def _units(columns: list[_Column], fields: Mapping[str, str]) -> tuple[dict[str, float], list[str]]:
    factors: dict[str, float] = {}
    notes: list[str] = []
    for column in columns:
        field = fields[column.name]
        if field == "latency_s":
            factors[column.name] = 1000.0
        numbers = _finite_numbers(column)
        if field not in {"latency_ms", "retrieval_ms"} or column.name == field or not numbers:
            continue
        typical = median(numbers)
        words = plain_name(column.name).split("_")
        named_ms = bool({"ms", "millis", "milliseconds"} & set(words))
        named_s = bool({"s", "sec", "secs", "seconds"} & set(words))
        if named_s or (not named_ms and typical < SECONDS_UP_TO):
            factors[column.name] = 1000.0
        unit = "seconds" if column.name in factors else "milliseconds"
        why = "by its name" if named_ms or named_s else f"by its size, median {typical:.3g}"
        notes.append(f"column {column.name!r} is read as {unit} ({why}) and fills {field}")
    return factors, notes


def _left_over(fields: Mapping[str, str]) -> list[str]:
    filled = {field: column for column, field in fields.items()}
    notes = []
    for field in ("question", "answer", "reference_answer", "retrieved"):
        others = [
            column
            for column, target in fields.items()
            if target != field and not _is_field(target) and plain_name(column) in _synonyms()[field]
        ]
        if others and field in filled:
            names = ", ".join(repr(column) for column in others)
            notes.append(f"{field} is taken from {filled[field]!r}; {names} could be it too")
    return notes


def _is_field(target: str) -> bool:
    return target in FIELDS or target in PSEUDO_FIELDS


def _example(values: tuple[object, ...]) -> str:
    if not values:
        return ""
    text = " ".join(str(values[0]).split())
    return text if len(text) <= 80 else text[:77] + "..."
