"""A table of results, made once: typed cells, which pages, reports and terminals each draw their way."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Protocol, Self, TypeAlias

from ragtriage.metrics.number_text import NOT_MEASURED, interval_text, number, p_value, percent, signed
from ragtriage.metrics.statistics.intervals import Interval


@dataclass(frozen=True)
class Number:
    """A value with its digits."""

    value: float | None
    digits: int = 3

    def __str__(self) -> str:
        return number(self.value, self.digits)


@dataclass(frozen=True)
class Share:
    """A share from 0 to 1, written in percent."""

    value: float | None

    def __str__(self) -> str:
        return percent(self.value)


@dataclass(frozen=True)
class Change:
    """A difference, written with its sign."""

    value: float | None
    digits: int = 3

    def __str__(self) -> str:
        return signed(self.value, self.digits)


@dataclass(frozen=True)
class PValue:
    """A p value."""

    value: float | None

    def __str__(self) -> str:
        return NOT_MEASURED if self.value is None else p_value(self.value)


@dataclass(frozen=True)
class Ends:
    """The ends of an interval."""

    low: float | None
    high: float | None
    digits: int = 3

    def __str__(self) -> str:
        return interval_text(self.low, self.high, self.digits)


@dataclass(frozen=True)
class ShareEnds:
    """The ends of an interval of a share, written in percent."""

    low: float
    high: float

    def __str__(self) -> str:
        known = isfinite(self.low) and isfinite(self.high)
        return f"{percent(self.low)} to {percent(self.high)}" if known else NOT_MEASURED


@dataclass(frozen=True)
class Count:
    """A number of things, written as text with separators of thousands."""

    value: int

    def __str__(self) -> str:
        return f"{self.value:,}"


@dataclass(frozen=True)
class Of:
    """A part of a whole number of things."""

    part: int
    whole: int

    def __str__(self) -> str:
        return f"{self.part:,} of {self.whole:,}"


Cell: TypeAlias = (
    str | int | float | Interval | Number | Share | Change | PValue | Ends | ShareEnds | Count | Of | None
)
Row: TypeAlias = Mapping[str, Cell]


class WithEnds(Protocol):
    """Whatever has the ends of an interval."""

    @property
    def low(self) -> float | None:
        """The lower end; None where there is none."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def ends_of(value: WithEnds | None, digits: int = 3) -> Ends:
    """Return the ends of an interval as a cell."""
    return Ends(None, None) if value is None else Ends(value.low, value.high, digits)


@dataclass(frozen=True)
class ResultTable:
    """A table of results."""

    title: str  # a few words
    # title of a column -> its cell; every row has the same columns. None is a dash: not measured
    rows: tuple[Row, ...]
    note: str = ""  # what the numbers are, how they were obtained, what they leave out
    # for each row the cohort of its cases, see ragtriage.data.cases; () for none
    cohorts: tuple[str, ...] = ()

    def only(self, *columns: str) -> Self:
        """Return the same rows with some of their columns."""
        return replace(self, rows=tuple({column: row[column] for column in columns} for row in self.rows))


def cell_text(cell: Cell) -> str | int:
    """Return a cell as text; a count stays a number, and an interval has its mean and n."""
    if cell is None:
        return NOT_MEASURED
    if isinstance(cell, Interval):
        if not cell.n_scored:
            return NOT_MEASURED
        ends = f"{percent(cell.low)} to {percent(cell.high)}"
        return f"{percent(cell.mean)} [{ends}], n = {cell.n_scored:,}"
    if isinstance(cell, int):
        return cell
    return number(cell, 3) if isinstance(cell, float) else str(cell)


def plain_rows(table: ResultTable) -> list[dict[str, str | float | None]]:
    """Return the rows of a table with its plain numbers as they are, unrounded, and the rest as text."""
    return [
        {
            title: cell if cell is None or isinstance(cell, float) else cell_text(cell)
            for title, cell in row.items()
        }
        for row in table.rows
    ]


def text_rows(table: ResultTable) -> list[dict[str, str | int]]:
    """Return the rows of a table as text and whole numbers."""
    return [{title: cell_text(cell) for title, cell in row.items()} for row in table.rows]
