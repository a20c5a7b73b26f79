"""Tables as files, CSV for a spreadsheet, Parquet, or Markdown, and text as files take it."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.cases.export import safe_cell
from ragtriage.data.errors import DataError
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


TABLE_FORMS = ("csv", "parquet", "markdown")
BYTE_ORDER_MARK = "\ufeff"  # spreadsheets recognise UTF-8 by it
Rows = Sequence[Mapping[str, Any]]


def export_table(rows: Rows, form: str) -> bytes:
    """Return a table as the bytes of a file.

    Args:
        rows: its rows; columns are in the order of first appearance.
        form: one of TABLE_FORMS.

    Raises:
        DataError: the form is unknown, or there are no rows.
    """
    if form not in TABLE_FORMS:
        raise DataError(f"table format {form!r}; accepted: {', '.join(TABLE_FORMS)}")
    if not rows:
        raise DataError("the table has no rows, so there is nothing to export")
    if form == "csv":
        return f"{BYTE_ORDER_MARK}{csv_text(rows)}".encode()
    return _markdown(rows).encode() if form == "markdown" else _parquet(rows)


def csv_text(rows: Rows) -> str:
    """Return CSV with unrounded numbers; what a spreadsheet would run as a formula is defused."""
    columns, text = columns_of(rows), io.StringIO()
    writer = csv.writer(text)
    writer.writerow([printable(safe_cell(name)) for name in columns])
    for row in rows:
        cells = {str(name): value for name, value in row.items()}
        writer.writerow([_csv_cell(cells.get(name)) for name in columns])
    return text.getvalue()


def _csv_cell(value: Any) -> Any:
    if value is None or (isinstance(value, float | np.floating) and not np.isfinite(value)):
        return ""
    if isinstance(value, str):
        return printable(safe_cell(value))
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if _plain(plain) else printable(safe_cell(str(plain)))


def _plain(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def _markdown(rows: Rows) -> str:
    columns = columns_of(rows)
    lines = [[markdown_cell(name) for name in columns], ["---"] * len(columns)]
    for row in rows:
        cells = {str(name): value for name, value in row.items()}
        lines.append([markdown_cell(cells.get(name, "")) for name in columns])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _parquet(rows: Rows) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    columns = {name: [row.get(name) for row in rows] for name in columns_of(rows)}
    pq.write_table(pa.table({printable(name): _array(pa, cells) for name, cells in columns.items()}), sink)
    return sink.getvalue()


def _array(pa: Any, cells: Sequence[Any]) -> Any:
    """Return a column as an Arrow array; mixed types become text."""
    plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    plain = [None if isinstance(cell, float) and not np.isfinite(cell) else cell for cell in plain]
    numbers = all(cell is None or (_plain(cell) and not isinstance(cell, bool)) for cell in plain)
    if numbers or all(cell is None or isinstance(cell, bool) for cell in plain):
        return pa.array(plain)
    return pa.array([None if cell is None else printable(str(cell)) for cell in plain], pa.string())
