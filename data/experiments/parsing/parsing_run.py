"""A run for each parser: a question for each page, the parsed page as its answer, its scores beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.experiments.parsing.pages import PAGE_SCORES, ParsedPages, page_scores
from ragtriage.data.experiments.record import ArmRecord, Experiment, keep_experiment
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.workspace import utc_now

PARSING = "parsing"  # key of the kind
DECLARED = {
    name: {"direction": "higher", "range": [0, 1], "title": title} for name, title in PAGE_SCORES.items()
}
NO_PAGE = "the parser returned no such page: it counts as empty"


def run_parsing_experiment(
    store: RunStore,
    parsers: Sequence[ParsedPages],
    gold: Mapping[str, str],
    dataset: str,
    project: str = "",
    created_at: datetime | None = None,
) -> Experiment:
    """Score the pages of each parser against the true ones, keep a run for each, and the experiment.

    Args:
        store: of the workspace.
        parsers: with their pages.
        gold: name of a page -> its true text.
        dataset: name of the true pages.
        project: of the runs; "" for one named after the pages.
        created_at: time of the runs; None for now.

    Raises:
        DataError: a parser has none of the true pages.
    """
    project = project or f"{dataset}: parsing"
    content = [project, _version(gold), *(f"{each.parser} {_version(each.pages)}" for each in parsers)]
    digest = hashlib.sha256("\x1e".join(content).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    created_at = created_at or utc_now()
    runs = [replace(parsing_run(parser, gold, dataset, digest), created_at=created_at) for parser in parsers]
    imported = import_parsed_runs(store, runs, project, ValidationErrors(dataset))
    experiment = Experiment(
        experiment_id=digest,
        kind=PARSING,
        project=project,
        system=_several(len(parsers), "parser"),
        system_identity=digest,
        questions=dataset,
        n_questions=len(gold),
        parameters={},
        arms=tuple(
            ArmRecord(f"parser-{at}", parser.parser, {"parser": parser.parser}, entry.run.n, entry.run.run_id)
            for at, (parser, entry) in enumerate(zip(parsers, imported, strict=True), start=1)
        ),
        created_at=created_at,
        notes=(
            "A page without a table has no table score, one without a heading no heading score; a parser "
            "that finds none of them scores 0 there.",
        ),
    )
    keep_experiment(store.workspace, experiment)
    return experiment


def parsing_run(parser: ParsedPages, gold: Mapping[str, str], dataset: str, experiment: str) -> ParsedRun:
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
        file=f"Parsing: {dataset}",
        format="experiment",
        named_by_content=True,
        config={"experiment": experiment, "experiment_kind": PARSING, "parser": parser.parser},
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


def _several(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


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
