"""How well a parser kept a page: its scores, by name."""

from __future__ import annotations

import math
import re

from ragtriage.data.experiments.parsing.markdown_tables import page_tables, with_html_tables, without_tables
from ragtriage.data.text.folding import folded
from ragtriage.metrics.experiments.headings import Section, heading_similarity
from ragtriage.metrics.experiments.page_text import text_similarity
from ragtriage.metrics.experiments.table_cells import CellCheck, check_cells
from ragtriage.metrics.experiments.table_similarity import matched_similarity, page_similarity

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
