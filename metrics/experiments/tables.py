"""A table of a page, as its formulas compare it."""

from __future__ import annotations

from dataclasses import dataclass

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
