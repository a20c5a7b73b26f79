"""Tables as files: CSV for a spreadsheet, Parquet, or Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ragtriage.dashboard.wording.export_text import columns_of, markdown_cell
from ragtriage.data.cases.export import safe_cell
from ragtriage.data.errors import DataError
from ragtriage.data.text.printable import printable

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
