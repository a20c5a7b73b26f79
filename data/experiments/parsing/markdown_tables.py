"""The tables of a page in Markdown or HTML, and the page with all of them written as HTML.

Parsers write broken tables: rows of other widths, no closing tags. What can be read is read; nothing is
executed or fetched, and no text makes reading take more than its own length.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from ragtriage.data.text.folding import folded
from ragtriage.metrics.experiments.table_cells import Cell, Table

MOST_SPAN = 1_000  # of a cell that says how many rows or columns it covers
SEPARATOR = frozenset("-:")
_TAG = re.compile(r"<(/?)([a-zA-Z!][a-zA-Z0-9]*+)([^<>]*+)>")  # linear: no tag reaches over the next < or >
_BREAK = re.compile("<br */?>", re.IGNORECASE)  # as text, in a cell of Markdown


def with_html_tables(markdown: str) -> str:
    """Return a page with its Markdown tables written as HTML, as opendataloader-bench compares texts.

    A table begins where a row of cells is followed by a row of dashes. Rows are brought to the width of
    the header: a row of three cells in a wider table repeats its middle one; others are filled up or cut.
    An empty header gives way to the first row.
    """
    lines = markdown.splitlines(keepends=True)
    written, at = [], 0
    while at < len(lines):
        header, dashes = _cells(lines[at]), _cells(lines[at + 1]) if at + 1 < len(lines) else []
        if not header or not dashes or not all(map(_is_separator, dashes)):
            written.append(lines[at])
            at += 1
            continue
        end = _end_of_table(lines, at + 2)
        rows = [_cells(line) for line in lines[at + 2 : end]]
        written.append(_html_table(header, rows, max(len(header), len(dashes))) + _line_end(lines[at]))
        at = end
    return "".join(written)


def page_tables(page: str) -> list[Table]:
    """Return the tables of a page in Markdown or HTML, in their order; a table in a cell is text of it."""
    return _TableReader().read(with_html_tables(page))


def without_tables(page: str) -> str:
    """Return a page without its tables; one that is not closed is text."""
    text = with_html_tables(page)
    return "".join(_outside(text))


def _outside(text: str) -> Iterator[str]:
    """Yield what stands outside of <table ...> to </table>, a space for each table."""
    lowered, at = text.lower(), 0
    while (start := lowered.find("<table", at)) >= 0:
        opened = lowered.find(">", start)
        end = lowered.find("</table>", opened) if opened >= 0 else -1
        if end < 0:
            break
        yield text[at:start] + " "
        at = end + len("</table>")
    yield text[at:]


def _cells(line: str) -> list[str]:
    """Return the cells of a row in Markdown; [] for a line that is none."""
    row = line.strip()
    if "|" not in row:
        return []
    cells = row.split("|")
    first = 1 if row.startswith("|") else 0
    last = len(cells) - 1 if row.endswith("|") else len(cells)
    return [cell.strip() for cell in cells[first:last]]


def _is_separator(cell: str) -> bool:
    dashes = cell.replace(" ", "")
    return bool(dashes) and set(dashes) <= SEPARATOR


def _end_of_table(lines: list[str], at: int) -> int:
    while at < len(lines) and _cells(lines[at]):
        at += 1
    return at


def _html_table(header: list[str], rows: list[list[str]], width: int) -> str:
    header, rows = _of_width(header, width), [_of_width(row, width) for row in rows]
    if rows and not any(header):
        header, rows = rows[0], rows[1:]
    body = "".join(_html_row(row, "td") for row in rows)
    return f"<table>{_html_row(header, 'th')}{body}</table>"


def _of_width(cells: list[str], width: int) -> list[str]:
    if len(cells) == 3 < width:
        return [cells[0], *[cells[1]] * (width - 2), cells[2]]
    return [*cells, *[""] * (width - len(cells))][:width]


def _html_row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


class _TableReader:
    """Collects the tables of a text; end tags that are missing are taken as given."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self._rows: list[list[Cell]] = []
        self._text: list[str] | None = None  # of the open cell
        self._span = (1, 1)
        self._depth = 0  # tables in tables

    def read(self, text: str) -> list[Table]:
        """Return the tables of a text in HTML."""
        at = 0
        for tag in _TAG.finditer(text):
            self._keep(text[at : tag.start()])
            self._take_tag(tag.group(2).lower(), bool(tag.group(1)), tag.group(3))
            at = tag.end()
        self._keep(text[at:])
        self._end_table()
        return self.tables

    def _take_tag(self, name: str, ends: bool, attributes: str) -> None:
        if name == "table":
            self._depth = max(self._depth + (-1 if ends else 1), 0)
            if not self._depth:
                self._end_table()
        elif name == "br":
            self._keep(" ")
        elif self._depth == 1 and name in ("tr", "td", "th"):
            self._end_cell()
            if name == "tr" and not ends:
                self._rows.append([])
            elif not ends:
                self._span = _span("colspan", attributes), _span("rowspan", attributes)
                self._text = []

    def _keep(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end_cell(self) -> None:
        if self._text is None:
            return
        if not self._rows:
            self._rows.append([])
        text = _BREAK.sub(" ", html.unescape("".join(self._text)))
        self._rows[-1].append(Cell(folded(text), *self._span))
        self._text = None

    def _end_table(self) -> None:
        """Keep the table that was read so far, if it has a cell."""
        self._end_cell()
        if any(self._rows):
            self.tables.append(tuple(tuple(row) for row in self._rows))
        self._rows = []


def _span(name: str, attributes: str) -> int:
    found = re.search(name + r"""=["']?([0-9]{1,5})\b""", attributes, re.IGNORECASE)
    return min(max(int(found.group(1)), 1), MOST_SPAN) if found else 1
