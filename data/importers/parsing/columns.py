"""Map the columns of a table to fields: guessed from names and values, shown in the preview, overridable."""

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
from data.importers.parsing.nested_ids import NestedIds, gold_ids_of, is_nested, nested_ids
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
    """Check that the columns and fields of a mapping exist, and that no field occurs twice.

    A path inside documents, as `context_docs[].metadata.section_id`, may hold their ids.

    Raises:
        InputError: the mapping is wrong.
    """
    all_fields = [*FIELDS, *PSEUDO_FIELDS]
    errors = []
    column_of: dict[str, str] = {}
    for column, field in overrides.items():
        nested = is_nested(column) and field in {"retrieved_ids", ""}
        if column not in columns and not (nested and column.partition("[]")[0] in columns):
            errors.append(ValidationError(file, None, column, "no such column to map", ", ".join(columns)))
        if field and field not in all_fields and not is_prefixed(field):
            accepted = f"{', '.join(all_fields)}, scores.<metric>, tags.<key>, or nothing to keep it as extra"
            errors.append(
                ValidationError(file, None, column, f"mapped to {field!r}, which is no field", accepted)
            )
        if field and field in column_of:
            what = f"mapped to {field!r}, as {column_of[field]!r} already is"
            errors.append(ValidationError(file, None, column, what, "each field once"))
        column_of[field] = column
    if errors:
        raise InputError(errors)


def is_prefixed(field: str) -> bool:
    """Return whether a field is `scores.<metric>` or `tags.<key>`."""
    return any(field.startswith(prefix) and field != prefix for prefix in PREFIXES)


MAX_RUNS = 50
MAX_TAG_LENGTH = 60
MAX_TAG_VALUES = 20
SECONDS_UP_TO = 300  # a larger median must be milliseconds: nobody waits five minutes for an answer
TEXT_FIELDS = {"question", "answer", "reference_answer", "search_query", "prompt", "query_type"}
LIST_FIELDS = {"retrieved", "candidates", "history", "relevant", "relevant_texts", "retrieved_ids"}
NUMBER_FIELDS = {
    *("latency_ms", "retrieval_ms", "input_tokens", "output_tokens", "cost_usd", "peak_memory_mb"),
}


@dataclass(frozen=True)
class Plan:
    """How the rows of a table are converted to records.

    Attributes:
        fields: column -> field, "scores.<metric>", "tags.<key>", a pseudo field, or "" (kept as extra).
        shown: the same with examples, for the preview.
        factors: column -> factor for its numbers, e.g. 1000 for seconds.
        blank_text: whether empty text means null in this container format.
        notes: assumptions, for the reader.
    """

    fields: Mapping[str, str]
    shown: tuple[MappedColumn, ...]
    factors: Mapping[str, float]
    blank_text: bool
    notes: tuple[str, ...]

    def column(self, field: str) -> str | None:
        """Return the column of a field, or None."""
        return next((column for column, target in self.fields.items() if target == field), None)


@dataclass(frozen=True)
class _Column:
    name: str
    values: tuple[object, ...]  # of the head rows, without blanks
    rows: int

    @property
    def distinct(self) -> int:
        return len({repr(value) for value in self.values})

    def share(self, fits: Callable[[object], bool]) -> float:
        return sum(map(fits, self.values)) / len(self.values) if self.values else 0.0


@cache
def _synonyms() -> dict[str, list[str]]:
    text = Path(__file__).with_name("columns.json").read_text(encoding="utf-8")
    synonyms: dict[str, list[str]] = json.loads(text)
    return {**synonyms, **{field: [field] for field in FIELDS if field not in synonyms}}


def guessed_fields(columns: Iterable[str]) -> set[str]:
    """Return the fields that these column names are common names for."""
    plain = {plain_name(column) for column in columns}
    return {field for field, names in _synonyms().items() if plain & set(names)}


def plan_columns(
    table: Table,
    overrides: Mapping[str, str],
    file: str,
    *,
    metrics_after: Collection[str] = (),
    gold_ids: Collection[str] = (),
) -> Plan:
    """Return the mapping of the columns of a table to fields.

    Args:
        table: the table; only its head is used.
        overrides: column -> field, set by the user; "" keeps a column as extra.
        file: name of the file, for messages.
        metrics_after: a tool's own columns; every numeric column after the last of them is a metric.
        gold_ids: ids of gold documents from another file; those of the table itself are looked up in it.

    Raises:
        InputError: no column reads as the question, or an override is wrong.
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
    shown = [MappedColumn(column.name, ordered[column.name], _example(column.values)) for column in columns]
    nested = _nested_ids(table, ordered, gold_ids)
    paths = {path: "retrieved_ids" if path == nested.chosen else "" for path in nested.examples}
    paths |= {name: field for name, field in overrides.items() if is_nested(name)}
    shown += [
        MappedColumn(path, field, _example((nested.examples.get(path, ""),))) for path, field in paths.items()
    ]
    asked = () if any(map(is_nested, overrides)) else nested.notes
    return Plan(
        {**ordered, **paths}, tuple(shown), factors, blank_text, (*notes, *asked, *_left_over(ordered))
    )


def _nested_ids(table: Table, fields: Mapping[str, str], gold_ids: Collection[str]) -> NestedIds:
    """Return where the documents keep their ids; nowhere inside them when a column of the table has them."""
    columns = {field: column for column, field in fields.items()}
    if "retrieved_ids" in columns or "retrieved" not in columns:
        return NestedIds({}, "", ())
    gold = gold_ids_of(table.head, columns.get("relevant")) or set(gold_ids)
    return nested_ids(table.head, columns["retrieved"], gold)


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
        parsed = read_cell(field, value)
    except CellError:
        return False
    if field in TEXT_FIELDS:
        return isinstance(parsed, str) or (field == "question" and isinstance(parsed, list))
    if field in NUMBER_FIELDS:
        return isinstance(parsed, int | float) and not isinstance(parsed, bool)
    if field in LIST_FIELDS:
        return isinstance(parsed, list)
    if field == "repeat":
        return isinstance(parsed, int | float | str)
    return isinstance(parsed, bool) if field == "refused" else parsed is not None


def _distrust_row_numbers(columns: Mapping[str, _Column], fields: dict[str, str]) -> None:
    """Unmap an id that differs on every row though questions recur: it numbers rows, not questions."""
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
        key, is_known = metric_name(column.name)
        numbers = column.share(_is_score) == 1.0
        mostly = column.share(_is_score) >= 0.5 or not column.values  # other cells are reported as errors
        after = position > last and (numbers or not column.values)
        if (is_known and mostly) or after or (numbers and _is_share(column)):
            taken = set(fields.values())
            repeat = next(n for n in range(1, len(columns) + 2) if _numbered(key, n) not in taken)
            fields[column.name] = _numbered(key, repeat)


def _numbered(key: str, repeat: int) -> str:
    return f"scores.{key}" if repeat == 1 else f"scores.{key}_{repeat}"


def _number(value: object) -> float | None:
    """Return a cell as a number: NaN if it marks a failure, None if it is no number."""
    try:
        score = read_score(value)
    except CellError:
        return None
    return float(score) if isinstance(score, int | float) and not isinstance(value, bool) else None


def _is_score(value: object) -> bool:
    return _number(value) is not None


def _is_share(column: _Column) -> bool:
    """Return whether the numbers are in [0, 1] and not all whole, as those of a metric are."""
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
        in_ms = bool({"ms", "millis", "milliseconds"} & set(words))
        in_s = bool({"s", "sec", "secs", "seconds"} & set(words))
        if in_s or (not in_ms and typical < SECONDS_UP_TO):
            factors[column.name] = 1000.0
        unit = "seconds" if column.name in factors else "milliseconds"
        why = "by its name" if in_ms or in_s else f"by its size, median {typical:.3g}"
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
