"""Pages on disk, a Markdown or HTML file each, and how well a parser kept them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.parsing.markdown_tables import page_tables, with_html_tables, without_tables
from ragtriage.data.text.folding import folded
from ragtriage.metrics.experiments.page_text import Section, heading_similarity, text_similarity
from ragtriage.metrics.experiments.table_cells import CellCheck, check_cells
from ragtriage.metrics.experiments.table_similarity import matched_similarity, page_similarity

PAGE_FILES = (".md", ".markdown", ".html", ".htm", ".txt")
MOST_BYTES = 1_000_000  # of a page
ACCEPTED = "a file, or a folder of files that end in " + ", ".join(PAGE_FILES)


@dataclass(frozen=True)
class ParsedPages:
    """What a parser returned.

    Attributes:
        parser: its name.
        pages: name of a page -> its text; a page that is not there was not returned.
    """

    parser: str
    pages: dict[str, str]


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
    true, found = page_tables(gold), page_tables(parsed)
    cells = check_cells(true, found)
    sections, parsed_sections = page_sections(gold), page_sections(parsed)
    values = {
        "nid": text_similarity(with_html_tables(gold), with_html_tables(parsed)),
        "nid_s": text_similarity(without_tables(gold), without_tables(parsed)),
        "teds": page_similarity(true, found),
        "teds_s": page_similarity(true, found, structure_only=True),
        "teds_matched": matched_similarity(true, found),
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
