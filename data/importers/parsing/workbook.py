"""Sheets of an Excel workbook as rows: the header found below titles, rows of totals left out."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from ragtriage.data.importers.parsing.archive import DAMAGE, member_names, open_archive
from ragtriage.data.importers.parsing.input_file import InputFile

ALL_SHEETS = "*"  # reads every sheet with questions as a run of its own
ACCEPTED = "a whole .xlsx workbook without a password, or the sheet saved as CSV"
TITLE_ROWS = 20  # a header stands in one of the first rows of a sheet
MOST_CELLS = 50_000_000  # of the rectangle around a sheet's cells, which is held in memory
_REFERENCE = re.compile(rb'<(?:\w+:)?c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
TOTALS = re.compile(
    r"(mean|average|avg|total|sum|median|count|mittelwert|durchschnitt|summe|gesamt|moyenne|somme|promedio"
    r"|media|suma|média|soma|среднее|итого|平均|平均值|合计|合計|总计|總計|المتوسط|المجموع)\W*",
    re.IGNORECASE,
)
COUNTED = re.compile(r"[\d.,]+ *%?( *(/|\w+) *[\d.,]+)?")  # 62 %, 5 / 8, 5 of 8


@dataclass(frozen=True)
class Sheet:
    """The table of a sheet."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[int, dict[str, Any]]]  # (row of the sheet from 1, values by column)
    notes: tuple[str, ...]  # what of the sheet was left out


def is_workbook(source: InputFile) -> bool:
    """Return whether a file is an .xlsx workbook, by its content."""
    return "xl/workbook.xml" in member_names(source)


def sheets_of(source: InputFile) -> dict[str, Sheet]:
    """Return the visible sheets with a table by their names, read once; hidden ones are noted.

    Raises:
        InputError: the workbook is damaged, has a password, or is too large.
    """
    return source.remembered("sheets", lambda: _read(source))


def _read(source: InputFile) -> dict[str, Sheet]:
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    _check_size(source)
    try:
        book = CalamineWorkbook.from_filelike(source.random_access())
        visible: list[str] = []
        hidden: list[str] = []
        for sheet in book.sheets_metadata:
            if sheet.typ == SheetTypeEnum.WorkSheet:
                is_shown = sheet.visible == SheetVisibleEnum.Visible
                (visible if is_shown else hidden).append(sheet.name)
        cells = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in visible}
    except (CalamineError, *DAMAGE) as error:
        raise source.error(f"is an Excel workbook that cannot be read: {error}", ACCEPTED) from error
    unread = [f"not read: hidden sheet {name!r}" for name in hidden]
    tables = {name: _table(rows, unread) for name, rows in cells.items()}
    return {name: table for name, table in tables.items() if table is not None}


def _check_size(source: InputFile) -> None:
    """Refuse a workbook that unpacks to too much, or whose cells lie so far apart that a sheet does not fit.

    Raises:
        InputError: it does.
    """
    with open_archive(source) as archive:
        for name in archive.namelist():
            width, height = _reach(archive, name) if name.startswith("xl/worksheets/") else (0, 0)
            if width * height > MOST_CELLS:
                what = f"has a sheet that reaches to column {width:,} and row {height:,}"
                raise source.error(what, f"at most {MOST_CELLS:,} cells, empty ones included")


def _reach(archive: zipfile.ZipFile, name: str) -> tuple[int, int]:
    """Return the last column and the last row that a cell of a sheet names."""
    width = height = 1
    rest = b""
    with archive.open(name) as stream:
        while piece := stream.read(1 << 20):
            text = rest + piece
            for reference in _REFERENCE.finditer(text):
                column = 0
                for letter in reference[1]:
                    column = 26 * column + letter - 64
                width, height = max(width, column), max(height, int(reference[2]))
            rest = text[-256:]  # a reference may lie across two pieces
    return width, height


def _table(cells: Sequence[Sequence[Any]], notes: Sequence[str]) -> Sheet | None:
    """Return the table of a sheet; None where no row of it can be a header."""
    at = _header_row(cells)
    if at is None:
        return None
    names: dict[str, int] = {}
    for position, cell in enumerate(cells[at]):
        if name := str(_value(cell) or "").strip():
            names[name if name not in names else f"{name} ({position + 1})"] = position
    rows = []
    for number, row in enumerate(cells[at + 1 :], start=at + 2):
        values = {name: _value(row[position]) for name, position in names.items()}
        if any(value is not None for value in values.values()):
            rows.append((number, values))
    totals = 0
    while rows and _is_total(rows[-1][1]):
        rows.pop()
        totals += 1
    left_out = [f"not read above the header: {at} row{'s' * (at > 1)}"] if at else []
    left_out += [f"not read at the end, as totals: {totals} row{'s' * (totals > 1)}"] if totals else []
    return Sheet(tuple(names), rows, (*left_out, *notes)) if rows else None


def _header_row(cells: Sequence[Sequence[Any]]) -> int | None:
    """Return the position of the header: of the first rows, the first that names most of the columns."""
    named = [sum(isinstance(cell, str) and bool(cell.strip()) for cell in row) for row in cells[:TITLE_ROWS]]
    widest = max(
        (sum(_value(cell) is not None for cell in row) for row in cells[: 2 * TITLE_ROWS]), default=0
    )
    wanted = max(1 if widest == 1 else 2, widest / 2)
    return next((at for at, names in enumerate(named) if names >= wanted), None)


def _is_total(row: dict[str, Any]) -> bool:
    """Return whether a row sums up others: it begins with such a word, and its other texts are counts."""
    texts = [value.strip() for value in row.values() if isinstance(value, str)]
    sums_up = bool(texts) and TOTALS.fullmatch(texts[0]) is not None
    return sums_up and all(COUNTED.fullmatch(text) is not None for text in texts[1:])


def _value(cell: Any) -> Any:
    """Return a cell as JSON holds it: whole numbers as such, dates as ISO text, None for a blank."""
    match cell:
        case bool():
            return cell
        case float() if cell.is_integer() and abs(cell) < 2**53:
            return int(cell)
        case datetime() | date() | time():
            return cell.isoformat()
        case timedelta():
            return cell.total_seconds()
        case str() if not cell.strip():
            return None
    return cell
