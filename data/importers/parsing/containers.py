"""Files that hold several: zip archives (zstd as well as deflate), Excel workbooks, SQLite databases.

Nothing of an archive is unpacked to disk; databases are read without ever writing to them. Of the sheets of a
workbook the header is found below titles, and rows of totals are left out.
"""

import json
import re
import shutil
import sqlite3
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError
from ragtriage.data.importers.parsing.input_file import LIFT, InputFile

ZIP_MAGIC = b"PK\x03\x04"
ACCEPTED_ARCHIVE = "a whole zip archive without a password"
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)


@contextmanager
def open_archive(source: InputFile) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive.

    Raises:
        InputError: it is damaged, has a password, or unpacks to more than the limit of its file.
    """
    kind: Any = zipfile.ZipFile
    if sys.version_info < (3, 14):  # the standard library unpacks zstd from 3.14 on
        from backports.zstd import zipfile as zipfile_with_zstd

        kind = zipfile_with_zstd.ZipFile
    try:
        with kind(source.random_access()) as archive:
            limit = source.limits.document_bytes
            if sum(entry.file_size for entry in archive.infolist()) > limit:
                raise source.error(f"unpacks to more than {limit:,} bytes", f"at most {limit:,} bytes{LIFT}")
            yield archive
    except DAMAGE as error:
        raise source.error(f"is a zip archive that cannot be read: {error}", ACCEPTED_ARCHIVE) from error


def member_names(source: InputFile) -> frozenset[str]:
    """Return the names in a zip archive; none where the file is no zip archive that can be read."""
    return source.remembered("members", lambda: _names(source))


def _names(source: InputFile) -> frozenset[str]:
    if not source.magic().startswith(ZIP_MAGIC):
        return frozenset()
    try:
        with zipfile.ZipFile(source.random_access()) as archive:
            return frozenset(archive.namelist())
    except DAMAGE:
        return frozenset()


def json_member(source: InputFile, archive: zipfile.ZipFile, name: str) -> Any:
    """Return a member of an archive that holds JSON.

    Raises:
        InputError: it is damaged, or not JSON.
    """
    try:
        return json.loads(archive.read(name))
    except (*DAMAGE, RecursionError) as error:
        raise source.error(f"has a member {name!r} that cannot be read: {error}", ACCEPTED_ARCHIVE) from error


ALL_SHEETS = "*"  # reads every sheet with questions as a run of its own
ACCEPTED_WORKBOOK = "a whole .xlsx workbook without a password, or the sheet saved as CSV"
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
        raise source.error(f"is an Excel workbook that cannot be read: {error}", ACCEPTED_WORKBOOK) from error
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


MAGIC = b"SQLite format 3\x00"
LONGEST_VALUE = 64 << 20
READ_ACTIONS = {
    *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION),
    *(sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_PRAGMA),
}
LOGS = ("-wal", "-journal")
ACCEPTED_DATABASE = "a whole SQLite database"


def is_sqlite(source: InputFile) -> bool:
    """Return whether a file begins as an SQLite database."""
    return source.magic().startswith(MAGIC)


@contextmanager
def open_sqlite(source: InputFile) -> Iterator[sqlite3.Connection]:
    """Open a database for reading only; rows are `sqlite3.Row`.

    The file itself is opened immutable, so that nothing is written beside it. Where its tool is writing, or
    has not yet written its log back (a file `-wal` or `-journal` that is not empty), a copy of both is read:
    what was not committed is not in it.

    Raises:
        InputError: it is damaged, or a query on it fails.
    """
    with tempfile.TemporaryDirectory(prefix="ragtriage-") as folder:
        path, mode = _readable(source, Path(folder))
        try:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)
            try:
                connection.row_factory = sqlite3.Row
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
                _distrust_schema(connection)
                connection.execute("PRAGMA cell_size_check = ON")
                connection.set_authorizer(
                    lambda action, *_: sqlite3.SQLITE_OK if action in READ_ACTIONS else sqlite3.SQLITE_DENY
                )
                yield connection
            finally:
                connection.close()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            # what SQLite says; its words about a damaged schema may be no text
            reason = "its schema is damaged" if isinstance(error, UnicodeDecodeError) else str(error)
            raise source.error(
                f"is an SQLite database that cannot be read: {reason}", ACCEPTED_DATABASE
            ) from error


def _readable(source: InputFile, folder: Path) -> tuple[Path, str]:
    """Return the path to open and how: the file itself, or a copy with the logs beside it."""
    copy = folder / "database.sqlite"
    if source.path is None:
        copy.write_bytes(source.stored_bytes())
        return copy, "mode=ro&immutable=1"
    paths = {ending: source.path.with_name(source.path.name + ending) for ending in ("", *LOGS)}
    files = {ending: path for ending, path in paths.items() if path.is_file() and path.stat().st_size}
    if files.keys().isdisjoint(LOGS):
        return source.path, "mode=ro&immutable=1"
    try:
        for ending, path in files.items():
            shutil.copyfile(path, copy.with_name(copy.name + ending))
    except OSError as error:  # its tool has just finished writing, or the disk is full
        what = f"is a database that is being written and could not be copied ({error.strerror})"
        accepted = "the same command again, or the database once its tool has stopped"
        raise source.error(what, accepted) from error
    return copy, "mode=rw"  # a private copy, in which SQLite rolls back what was not committed


def _distrust_schema(connection: sqlite3.Connection) -> None:
    """Let the schema call none but harmless functions, as far as a database can be read that way.

    SQLite counts json_extract, on which tools build indexes, among the others. Where it refuses a schema for
    that, all that is built into SQLite is allowed: nothing of ours is registered, and extensions are off.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.DatabaseError as error:
        if "unsafe use of" not in str(error):
            raise
        connection.execute("PRAGMA trusted_schema = ON")


def table_names(source: InputFile) -> frozenset[str]:
    """Return the names of the tables of a database; views are left out. Empty where it cannot be read."""
    try:
        with open_sqlite(source) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'table'"
            return frozenset(str(row["name"]) for row in connection.execute(query))
    except InputError:
        return frozenset()


def check_readable(source: InputFile) -> None:
    """Check that a database is whole.

    Raises:
        InputError: it is damaged or cut short; the message says what SQLite found.
    """
    with open_sqlite(source) as connection:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError("it is damaged or cut short")


def rows_of(connection: sqlite3.Connection, table: str, order: str = "rowid") -> Iterator[sqlite3.Row]:
    """Return the rows of a table in an order of its columns, read one by one; its name may be any text."""
    quoted = [name.replace('"', '""') for name in (table, order)]
    return connection.execute('SELECT * FROM "{}" ORDER BY "{}"'.format(*quoted))  # noqa: S608 -- names are quoted


class RowsByKey:
    """The rows of a table by a key, for keys that are asked for in ascending order; they are read once."""

    def __init__(self, connection: sqlite3.Connection, table: str, key: str) -> None:
        rows = (dict(row) for row in rows_of(connection, table, key))
        self._groups = groupby(rows, key=lambda row: str(row.get(key)))
        self._next = self._read()

    def _read(self) -> tuple[str, list[dict[str, Any]]] | None:
        return next(((key, list(rows)) for key, rows in self._groups), None)

    def of(self, key: str) -> list[dict[str, Any]]:
        """Return the rows of a key."""
        while self._next is not None and self._next[0] < key:
            self._next = self._read()
        return self._next[1] if self._next is not None and self._next[0] == key else []
