"""A table of a page, and the cell check: which true values a parser kept with their headers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LabelledCell = tuple[str, str, str]


@dataclass(frozen=True)
class CellCheck:
    """The labelled cells of a page.

    Attributes:
        gold: cells of the true tables.
        parsed: cells of the parsed tables.
        found: cells that are in both, each as often as in the one that has it less often.
        order: share of the pairs of found cells that stand in the true order; NaN below two of them.
    """

    gold: int
    parsed: int
    found: int
    order: float

    @property
    def recall(self) -> float | None:
        """Found / gold; None where the true page has no labelled cell (not applicable)."""
        return self.found / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """2 found / (gold + parsed); None where the true page has no labelled cell (not applicable)."""
        return 2 * self.found / (self.gold + self.parsed) if self.gold else None


def labelled_cells(table: Table) -> list[LabelledCell]:
    """Return the cells of a table with a text as (row header, column header, value), in reading order.

    The first row holds the column headers and the first column the row headers; a cell that covers several
    places counts once for each.
    """
    rows = grid(table)
    return [
        (row[0], header, value)
        for row in rows[1:]
        for header, value in zip(rows[0][1:], row[1:], strict=True)
        if value
    ]


def check_cells(gold: Sequence[Table], parsed: Sequence[Table]) -> CellCheck:
    """Return how many labelled cells of the true tables were found, and whether in their order.

    A cell is found where a parsed table has the same row header, column header and value. A value beside a
    wrong header is not found: it would answer another question. Upper and lower case and white space do not
    count, nor do other signs than letters and digits in a header; in a value they do: 8.3 is not 83.

    Args:
        gold: true tables of the page.
        parsed: tables that a parser found.
    """
    true, found = _cells(gold), _cells(parsed)
    shared = Counter(true) & Counter(found)
    return CellCheck(len(true), len(found), shared.total(), _order(true, found))


def _cells(tables: Sequence[Table]) -> list[LabelledCell]:
    return [
        (_header(row), _header(column), "".join(value.split()).casefold())
        for table in tables
        for row, column, value in labelled_cells(table)
    ]


def _header(text: str) -> str:
    """Return the letters and digits of a header; all of it where it has none."""
    kept = "".join(character for character in text if character.isalnum())
    return (kept or "".join(text.split())).casefold()


def _order(true: Sequence[LabelledCell], found: Sequence[LabelledCell]) -> float:
    """Return the share of pairs in order, over the cells that occur once on both sides."""
    once = [{cell for cell, n in Counter(cells).items() if n == 1} for cells in (true, found)]
    unique = once[0] & once[1]
    place = {cell: position for position, cell in enumerate(found)}
    places = np.array([place[cell] for cell in true if cell in unique], dtype=np.int64)
    pairs = len(places) * (len(places) - 1) // 2
    if not pairs:
        return float("nan")
    in_order = sum(int((places[i + 1 :] > places[i]).sum()) for i in range(len(places)))
    return in_order / pairs


MOST_SPAN = 1_000  # columns or rows that one cell may be said to cover


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: what stands in it, white space folded.
        columns: that it covers.
        rows: that it covers.
    """

    text: str
    columns: int = 1
    rows: int = 1


Table = tuple[tuple[Cell, ...], ...]


def grid(table: Table) -> list[list[str]]:
    """Return the texts by row and column, a cell that covers several places written in each of them."""
    places: dict[tuple[int, int], str] = {}
    for row, cells in enumerate(table):
        column = 0
        for cell in cells:
            while (row, column) in places:
                column += 1
            rows = len(table)
            for down in range(row, min(row + cell.rows, rows)):
                for right in range(column, column + min(cell.columns, MOST_SPAN)):
                    places.setdefault((down, right), cell.text)
            column += min(cell.columns, MOST_SPAN)
    width = max((column for _, column in places), default=-1) + 1
    return [[places.get((row, column), "") for column in range(width)] for row in range(len(table))]
