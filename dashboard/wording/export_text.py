"""Text as files take it: printable, without the markup of chart labels, numbers written for people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.text.printable import printable
from ragtriage.metrics.number_text import NOT_MEASURED, number

_NEEDLESS = re.compile(r"\\([.,;:%=+/()'\"?{}-])")  # marks that mean nothing inside a Markdown cell
DIGITS = 3
SMALLEST = 0.0005


def one_line(text: str) -> str:
    """Return a text on one line, printable."""
    return " ".join(printable(text).split())


def cell_text(value: Any) -> str:
    """Write a cell of a table: text as it is, numbers rounded, a dash where nothing was measured."""
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return NOT_MEASURED
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    if isinstance(value, float | np.floating):
        fraction = float(value)
        return f"{fraction:.1g}" if 0 < abs(fraction) < SMALLEST else number(fraction, DIGITS)
    return printable(str(value))


def markdown_cell(value: Any) -> str:
    """Write a cell of a Markdown table: text from outside can neither end the cell nor become markup."""
    if isinstance(value, int | float):  # nothing to escape
        return cell_text(value)
    return _NEEDLESS.sub(r"\1", markdown_text(cell_text(value)))


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the columns of a table, in the order in which they come up."""
    return list(dict.fromkeys(str(name) for row in rows for name in row))


def table_cells(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]], list[bool]]:
    """Return the columns of a table, its cells as text by row, and which columns hold numbers alone."""
    names = columns_of(rows)
    texts = [[cell_text(row[name]) if name in row else "" for name in names] for row in rows]
    numeric = [all(_is_number(row.get(name)) for row in rows) for name in names]
    return names, texts, numeric


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
