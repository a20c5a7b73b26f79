"""A run for each parser: a question for each page, the parsed page as its answer, its scores beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from data.errors import DataError, ValidationErrors
from data.experiments.parsing.page_scores import PAGE_SCORES, page_scores
from data.experiments.parsing.pages import ParsedPages
from data.importers.load import import_parsed_runs
from data.scoring.run_store import RunStore
from data.store.parsed_run import ParsedRun, Record
from data.store.workspace import Run

__all__ = ["PARSING", "parsing_run", "store_parsing_runs"]

PARSING = "parsing"  # config["experiment"] of these runs
DECLARED = {
    name: {"direction": "higher", "range": [0, 1], "title": title} for name, title in PAGE_SCORES.items()
}
NO_PAGE = "the parser returned no such page: it counts as empty"


def store_parsing_runs(
    store: RunStore, parsers: Sequence[ParsedPages], gold: Mapping[str, str], dataset: str, project: str
) -> list[Run]:
    """Score the pages of each parser against the true ones, and keep a run for each.

    Raises:
        DataError: a parser has none of the true pages.
    """
    errors = ValidationErrors(dataset)
    runs = [parsing_run(parser, gold, dataset) for parser in parsers]
    return [imported.run for imported in import_parsed_runs(store, runs, project, errors)]


def parsing_run(parser: ParsedPages, gold: Mapping[str, str], dataset: str) -> ParsedRun:
    """Return the run of a parser, ready to import.

    Raises:
        DataError: it has none of the true pages.
    """
    pages = parser.pages
    if len(pages) == len(gold) == 1:
        pages = dict(zip(gold, pages.values(), strict=True))
    if not pages.keys() & gold.keys():
        raise DataError(
            f"parser {parser.parser}: none of its {len(pages):,} pages is named as a true page; accepted: "
            f"files named alike on both sides, e.g. {next(iter(gold))}.md"
        )
    return ParsedRun(
        name=parser.parser,
        records=_records(pages, gold),
        file=parser.parser,
        format="experiment",
        named_by_content=True,
        config={"experiment": PARSING, "parser": parser.parser},
        dataset=dataset,
        dataset_version=_version(gold),
        notes=tuple(_notes(pages, gold)),
        metrics=DECLARED,
    )


def _records(pages: Mapping[str, str], gold: Mapping[str, str]) -> Iterator[Record]:
    for line, (page, text) in enumerate(sorted(gold.items()), start=1):
        parsed = pages.get(page, "")
        scores, cells = page_scores(text, parsed)
        record: dict[str, Any] = {
            "question_id": page,
            "question": f"Page {page}",
            "answer": parsed,
            "reference_answer": text,
            "query_type": "page with a table" if "teds" in scores else "page without a table",
            "scores": scores,
        }
        if cells.gold:
            record["tags"] = {"table_cells": cells.gold, "table_cells_found": cells.found}
        if page not in pages:
            record["tags"] = {**record.get("tags", {}), "page": NO_PAGE}
        yield line, record


def _version(gold: Mapping[str, str]) -> str:
    texts = "\x00".join(f"{page}\x00{text}" for page, text in sorted(gold.items()))
    return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _notes(pages: Mapping[str, str], gold: Mapping[str, str]) -> Iterator[str]:
    yield (
        "Computed by ragtriage from the parsed and the true pages. A page without a table has no table score"
        ", nor one without a heading a heading score; a parser that found none of them scores 0."
    )
    missing, extra = len(gold.keys() - pages.keys()), len(pages.keys() - gold.keys())
    if missing:
        yield f"{missing:,} of {len(gold):,} pages were not returned and count as empty."
    if extra:
        yield f"{extra:,} parsed pages have no true page and were left out."
