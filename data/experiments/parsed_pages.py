"""Pages on disk as Markdown or HTML, their tables, and how well a parser kept them.

Parsers write broken tables: rows of other widths, no closing tags. What can be read is read; nothing is
executed or fetched, and no text makes reading take more than its own length.
"""

import html
import math
import re
from dataclasses import dataclass
from pathlib import Path

from ragtriage.data.errors import DataError
from ragtriage.data.text.tokens import folded
from ragtriage.metrics.experiments.parsing import (
    Cell,
    CellCheck,
    Section,
    Table,
    check_cells,
    heading_similarity,
    matched_similarity,
    page_similarity,
    text_similarity,
)

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
        end = at + 2
        while end < len(lines) and _cells(lines[end]):
            end += 1
        rows = [_cells(line) for line in lines[at + 2 : end]]
        line_end = lines[at][len(lines[at].rstrip("\r\n")) :]
        written.append(_html_table(header, rows, max(len(header), len(dashes))) + line_end)
        at = end
    return "".join(written)


def page_tables(page: str) -> list[Table]:
    """Return the tables of a page in Markdown or HTML, in their order; a table in a cell is text of it."""
    return _TableReader().read(with_html_tables(page))


def without_tables(page: str) -> str:
    """Return a page with a space in the place of each table; one that is not closed is text."""
    text = with_html_tables(page)
    outside: list[str] = []
    lowered, at = text.lower(), 0
    while (start := lowered.find("<table", at)) >= 0:
        opened = lowered.find(">", start)
        end = lowered.find("</table>", opened) if opened >= 0 else -1
        if end < 0:
            break
        outside.append(text[at:start])
        at = end + len("</table>")
    return " ".join([*outside, text[at:]])


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
    number = re.search(name + r"""=["']?([0-9]{1,5})\b""", attributes, re.IGNORECASE)
    return min(max(int(number.group(1)), 1), MOST_SPAN) if number else 1


PAGE_FILES = (".md", ".markdown", ".html", ".htm", ".txt")
MOST_BYTES = 1_000_000  # of a page
ACCEPTED = "a file, or a folder of files that end in " + ", ".join(PAGE_FILES)


@dataclass(frozen=True)
class ParsedPages:
    """The pages that a parser returned."""

    parser: str  # its name
    pages: dict[str, str]  # name of a page -> its text; a page that is not there was not returned


def read_pages(path: str) -> dict[str, str]:
    """Return the pages of a file or folder by the names of their files without ending.

    Raises:
        DataError: there is no page, two have one name, or one cannot be read.
    """
    place = Path(path)
    files = [place] if place.is_file() else _page_files(place)
    if not files:
        raise DataError(f"pages {path!r}: none there; accepted: {ACCEPTED}")
    pages: dict[str, str] = {}
    for file in files:
        if file.stem in pages:
            raise DataError(f"pages {path!r}: two files are named {file.stem!r}; accepted: one for each page")
        pages[file.stem] = _text(file)
    return pages


def parsed_pages(path: str) -> list[ParsedPages]:
    """Return the parsers of a folder: each subfolder with pages is one; else the folder or file itself.

    Raises:
        DataError: there is no page, two have one name, or one cannot be read.
    """
    place = Path(path)
    if place.is_dir() and not _page_files(place):
        folders = [folder for folder in sorted(place.iterdir()) if folder.is_dir() and _page_files(folder)]
        if folders:
            return [ParsedPages(folder.name, read_pages(str(folder))) for folder in folders]
    return [ParsedPages(place.resolve().stem, read_pages(path))]


def _page_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in PAGE_FILES and file.is_file())


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise DataError(
                f"page {file.name}: {file.stat().st_size:,} bytes; accepted: at most {MOST_BYTES:,}"
            )
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"page {file.name}: is not UTF-8; accepted: text in UTF-8") from error
    except OSError as error:
        raise DataError(
            f"page {file.name}: cannot be read ({error.strerror}); accepted: a text file"
        ) from error


PAGE_SCORES = {
    "nid": "Text similarity (NID)",
    "nid_s": "Text similarity without tables (NID-S)",
    "teds": "Table similarity, all tables of a page in one tree (TEDS)",
    "teds_s": "Table structure, all tables of a page in one tree (TEDS-S)",
    "teds_matched": "Table similarity, tables matched first",
    "mhs": "Heading similarity (MHS)",
    "mhs_s": "Heading structure (MHS-S)",
    "cell_recall": "Table cells found with both headers",
    "cell_f1": "Table cells F1",
    "cell_order": "Found cells in order",
}
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_HTML_HEADING = re.compile(r"\s*<h[1-6][^<>]*>([^<>]*)</h[1-6]>\s*", re.IGNORECASE)


def page_scores(gold: str, parsed: str) -> tuple[dict[str, float], CellCheck]:
    """Return the scores of a parsed page against the true one, and what its cells say.

    What is not applicable is left out: tables where the true page has none, headings likewise. A page that
    the parser did not return is "".
    """
    true, parsed_tables = page_tables(gold), page_tables(parsed)
    cells = check_cells(true, parsed_tables)
    sections, parsed_sections = page_sections(gold), page_sections(parsed)
    values = {
        "nid": text_similarity(with_html_tables(gold), with_html_tables(parsed)),
        "nid_s": text_similarity(without_tables(gold), without_tables(parsed)),
        "teds": page_similarity(true, parsed_tables),
        "teds_s": page_similarity(true, parsed_tables, structure_only=True),
        "teds_matched": matched_similarity(true, parsed_tables),
        "mhs": heading_similarity(sections, parsed_sections),
        "mhs_s": heading_similarity(sections, parsed_sections, structure_only=True),
        "cell_recall": cells.recall,
        "cell_f1": cells.f1,
        "cell_order": None if math.isnan(cells.order) else cells.order,
    }
    return {name: value for name, value in values.items() if value is not None}, cells


def page_sections(page: str) -> list[Section]:
    """Return the headings of a page with the text under each, "" for what stands before the first."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line in with_html_tables(page).splitlines():
        heading = _HEADING.match(line) or _HTML_HEADING.fullmatch(line)
        if heading:
            sections.append((folded(heading.group(1)), []))
        else:
            sections[-1][1].append(line)
    return [(heading, folded(" ".join(lines))) for heading, lines in sections]
