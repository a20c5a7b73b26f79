"""Answers as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category, east_asian_width

__all__ = ["plain", "table"]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align rows under a header, two spaces between columns."""
    cells = [[plain(cell) for cell in row] for row in (header, *rows)]
    widths = [max(_width(row[at]) for row in cells) for at in range(len(header))]
    lines = [
        "  ".join(_pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def plain(text: str) -> str:
    """Drop what would steer a terminal: control characters and direction marks from names and questions."""
    return "".join(mark if category(mark) not in ("Cc", "Cf") else " " for mark in text)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(mark) in "WF" else 1 for mark in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
