"""A column as the first rows of a table show it: numbers, decimal commas, TRUE / FALSE, or a mixture."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from shlex import quote

from ragtriage.data.importers.parsing.cells import CellError, read_score
from ragtriage.data.importers.parsing.check_columns import Verdict, verdict_of
from ragtriage.data.importers.parsing.names import metric_name, plain_name

DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*")
PERHAPS_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")
FLAG_WORDS = {"true", "false", "yes", "no", "0", "1", "0.0", "1.0"}
NO_QUANTITY = {
    *("at", "calls", "cost", "count", "created", "date", "direction", "id", "idx", "ids", "index", "k"),
    "len",
    *("length", "n", "num", "number", "order", "rank", "row", "seed", "size", "time", "timestamp", "total"),
    *("updated", "usd", "version", "year"),
}
MIXED_FROM = 0.2  # share of numbers from which on a column with text too is called mixed
SHOWN = 8
ASKED = " good? say --metric "


@dataclass(frozen=True)
class HeadColumn:
    """The cells of a column in the first rows, without blanks."""

    name: str
    values: tuple[object, ...]
    rows: int  # number of rows, blanks included

    @property
    def distinct(self) -> int:
        """Number of different cells."""
        return len({repr(value) for value in self.values})

    def share(self, fits: Callable[[object], bool]) -> float:
        """Return the share of the cells that fit."""
        return sum(map(fits, self.values)) / len(self.values) if self.values else 0.0

    @cached_property
    def has_decimal_commas(self) -> bool:
        """True where the numbers are written as in 0,85; false where the commas could separate thousands."""
        with_comma = [value for value in self.values if isinstance(value, str) and "," in value]
        if not with_comma or not all(map(DECIMAL_COMMA.fullmatch, with_comma)):
            return False
        whole = all(_number(value) is not None for value in self.values if value not in with_comma)
        return whole and not all(map(PERHAPS_THOUSANDS.fullmatch, with_comma))

    @cached_property
    def numbers(self) -> tuple[float | None, ...]:
        """The cells as numbers: NaN for a failed metric, None for what is none."""
        commas = self.has_decimal_commas
        return tuple(_number(with_point(value) if commas else value) for value in self.values)

    @cached_property
    def finite(self) -> tuple[float, ...]:
        """The finite numbers among the cells."""
        return tuple(number for number in self.numbers if number is not None and isfinite(number))

    @property
    def numeric(self) -> float:
        """Share of the cells that are numbers or mark a failed metric."""
        return sum(number is not None for number in self.numbers) / len(self.values) if self.values else 0.0

    @property
    def is_flags(self) -> bool:
        """True where every cell is TRUE or FALSE, yes or no, 0 or 1."""
        return bool(self.values) and all(str(value).strip().lower() in FLAG_WORDS for value in self.values)

    @cached_property
    def verdict(self) -> Verdict | None:
        """How its words are read as a verdict; None where it is none."""
        is_count = bool(NO_QUANTITY & set(plain_name(self.name).split("_")))
        return None if is_count else verdict_of(self.name, {str(value) for value in self.values})

    @property
    def is_share(self) -> bool:
        """True where the numbers are in [0, 1] and not all whole, as those of a metric are."""
        return all(0 <= n <= 1 for n in self.finite) and not all(n.is_integer() for n in self.finite)


def with_point(value: object) -> object:
    """Return a number written with a decimal comma in the usual form; anything else as it is."""
    if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value):
        return value.replace(".", "").replace(",", ".")
    return value


def _number(value: object) -> float | None:
    """Return a cell as a number, NaN for a failed metric, None for what is none, as a list of several."""
    if isinstance(value, list | tuple) and len(value) > 1:
        return None
    try:
        score = read_score(value)
    except CellError:
        return None
    return float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None


def questions_about(
    columns: Sequence[HeadColumn], fields: Mapping[str, str], declared: Collection[str] = ()
) -> list[str]:
    """Return what to say about columns with numbers, and what to ask about those that became no score."""
    notes = []
    for column in columns:
        field = fields.get(column.name)
        if field is None:
            continue
        if field.startswith("scores.") or field.endswith(("_ms", "_s", "_tokens", "_usd", "_mb")):
            notes += _notes_on_score(column, field, declared)
        elif field == "" or field.startswith("tags."):
            notes += _notes_on_text(column, "as a tag" if field else "as extra")
    asked = [column for column in columns if _is_asked(column, fields.get(column.name))]
    if not asked:
        return notes
    shown = ", ".join(f"{column.name!r} ({_range(column)})" for column in asked[:SHOWN])
    more = f" and {len(asked) - SHOWN:,} more" if len(asked) > SHOWN else ""
    example = "--map " + quote(f"scores.{plain_name(asked[0].name)}={asked[0].name}")
    question = (
        f"kept as tags or extra, though they hold numbers or TRUE / FALSE: {shown}{more}; if one is a score, "
        f"map it to scores.NAME, as in {example}"
    )
    return [*notes, question]


def is_question(note: str, declared: Collection[str] = ()) -> bool:
    """Return whether a note asks which way a verdict is good, and no declared metric answers that."""
    return ASKED in note and not any(f"{ASKED}{quote(metric)}=" in note for metric in declared)


def _notes_on_score(column: HeadColumn, field: str, declared: Collection[str]) -> list[str]:
    verdict, metric = column.verdict, field.removeprefix("scores.")
    if verdict is not None and verdict.note:
        return [verdict.note]
    is_known = metric in declared or metric_name(column.name)[1]
    if verdict is not None and not verdict.plain and not is_known:
        yes = verdict.shown.partition("/")[0]
        asked = f"is {yes}{ASKED}{quote(metric)}=higher or {quote(metric)}=lower"
        return [f"column {column.name!r} holds {verdict.shown}: {asked}"]
    if column.has_decimal_commas:
        example = next(value for value in column.values if value != with_point(value))
        return [f"column {column.name!r} is read with decimal commas: {example!s} is {with_point(example)}"]
    if column.is_flags and not column.finite:
        return [f"column {column.name!r} ({_range(column)}) is read as {field}: 1 for TRUE or yes, else 0"]
    return []


def _notes_on_text(column: HeadColumn, kept: str) -> list[str]:
    if column.values and all(isinstance(v, str) and PERHAPS_THOUSANDS.fullmatch(v) for v in column.values):
        what = f"has commas that could be decimal or separate thousands ({column.values[0]})"
        return [f"column {column.name!r} {what}: kept {kept}"]
    texts = [value for value, number in zip(column.values, column.numbers, strict=True) if number is None]
    if len(column.finite) < MIXED_FROM * len(column.values) or not texts or _names_no_quantity(column):
        return []
    first = " ".join(str(texts[0]).split())[:40]
    return [
        f"column {column.name!r} mixes numbers ({len(column.finite):,}) and text ({len(texts):,}, as "
        f"{first!r}): kept {kept}, not as a score"
    ]


def _is_asked(column: HeadColumn, field: str | None) -> bool:
    if field is None or not (field == "" or field.startswith("tags.")):
        return False
    if column.is_flags:
        return True
    if len(set(column.finite)) < 2 or column.numeric < 1.0 or _names_no_quantity(column):
        return False
    return column.distinct < column.rows or not all(number.is_integer() for number in column.finite)


def _names_no_quantity(column: HeadColumn) -> bool:
    return bool(NO_QUANTITY & set(plain_name(column.name).split("_")))


def _range(column: HeadColumn) -> str:
    if column.is_flags:
        return " / ".join(sorted({str(value).strip() for value in column.values}, reverse=True)[:2])
    return f"{min(column.finite):g} to {max(column.finite):g}"
