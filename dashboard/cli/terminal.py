"""Answers as text for a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from unicodedata import category, east_asian_width

__all__ = ["plain", "screen_width", "table", "wrapped"]

NARROWEST = 24  # columns that a wrapped cell keeps, however little room is left


def screen_width() -> int | None:
    """Columns of the terminal that is written to; None where the text goes to a file or another program."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Align rows under a header, two spaces between columns.

    Args:
        header: names of the columns.
        rows: their cells.
        width: where the last column, which holds the longest text, is broken into lines; never where None.
    """
    cells = [[plain(cell) for cell in row] for row in (header, *rows)]
    widths = [max(_width(row[at]) for row in cells) for at in range(len(header))]
    before = sum(widths[:-1]) + 2 * (len(widths) - 1)
    if width is not None and before + widths[-1] > width:
        widths[-1] = max(NARROWEST, width - before)
        cells = [line for row in cells for line in _broken(row, widths[-1])]
    lines = [
        "  ".join(_pad(cell, column) for cell, column in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * column for column in widths), *lines[1:]])


def wrapped(text: str, indent: str = "") -> str:
    """Break a paragraph at the edge of the terminal; lines after the first begin with the indent."""
    width = screen_width()
    if width is None:
        return text
    return textwrap.fill(
        text,
        max(width, NARROWEST),
        subsequent_indent=indent,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def _broken(row: Sequence[str], width: int) -> list[list[str]]:
    """Give the lines that a row takes when its last cell is broken."""
    parts = textwrap.wrap(row[-1], width, break_on_hyphens=False) or [""]
    empty = [""] * (len(row) - 1)
    return [[*(row[:-1] if at == 0 else empty), part] for at, part in enumerate(parts)]


def plain(text: str) -> str:
    """Drop what would steer a terminal: control characters and direction marks from names and questions."""
    return "".join(mark if category(mark) not in ("Cc", "Cf") else " " for mark in text)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(mark) in "WF" else 1 for mark in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
