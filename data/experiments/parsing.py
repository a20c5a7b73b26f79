"""Parsing: a run for each parser of the same pages, its means, where two means disagree, gold in tables."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.experiments.experiment import (
    ArmRecord,
    Design,
    Experiment,
    ExperimentKind,
    Measured,
    keep_experiment,
)
from ragtriage.data.experiments.parsed_pages import (
    PAGE_SCORES,
    ParsedPages,
    page_scores,
    page_tables,
    without_tables,
)
from ragtriage.data.experiments.questions import Questions
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.workspace import utc_now
from ragtriage.data.text.right_by_text import holds_answer
from ragtriage.metrics.number_text import count
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval, interval, mean_over_questions, question_means

KEY = "parsing"
OVERALL = ("nid", "teds", "mhs")  # what the benchmark's overall number is made of


@dataclass(frozen=True)
class ParserMeans:
    """A parser over its pages."""

    # score -> its mean over the pages where it is applicable, with a 95 % interval
    means: Mapping[str, Interval]
    by_page: Interval  # mean over pages of the mean of what each has: text, tables, headings
    # mean of the three means. A parser without tables loses a third of it here, and above only where pages
    # have tables.
    by_score: float


def means_of(columns: Mapping[str, FloatArray]) -> ParserMeans:
    """Return the means of a parser.

    The columns have (pages,) values, NaN where not applicable.
    """
    means = {name: mean_over_questions(values) for name, values in columns.items()}
    parts = [columns[name] for name in OVERALL if name in columns and np.isfinite(columns[name]).any()]
    if not parts:
        nothing = mean_over_questions(np.zeros(0))
        return ParserMeans(means, nothing, float("nan"))
    stacked = np.stack(parts)
    counts = np.isfinite(stacked).sum(axis=0)
    by_page = np.divide(
        np.nansum(stacked, axis=0), counts, out=np.full(len(counts), np.nan), where=counts > 0
    )
    return ParserMeans(
        means, mean_over_questions(by_page), float(np.mean([np.nanmean(part) for part in parts]))
    )


@dataclass(frozen=True)
class ParsingFindings:
    """Parsers over the same pages."""

    parsers: Mapping[str, ParserMeans]  # name -> its means
    best_text: str  # parser with the highest mean text similarity
    best_tables: str  # parser that found the most table cells with both headers; "" where no page has a table
    order_differs: bool  # whether the two ways to make one number rank the parsers differently


def _findings(measured: Measured, _quality: str) -> ParsingFindings:
    parsers = {
        str(measured.levels[arm]["parser"]): means_of(
            {name: measured.column(arm, name) for name in PAGE_SCORES if name in measured.values}
        )
        for arm in measured.arms
    }
    by_page = sorted(parsers, key=lambda name: -_number(parsers[name].by_page.mean))
    by_score = sorted(parsers, key=lambda name: -_number(parsers[name].by_score))
    return ParsingFindings(parsers, _best(parsers, "nid"), _best(parsers, "cell_recall"), by_page != by_score)


def _best(parsers: Mapping[str, ParserMeans], score: str) -> str:
    means = {name: entry.means[score].mean for name, entry in parsers.items() if score in entry.means}
    known = {name: mean for name, mean in means.items() if np.isfinite(mean)}
    return max(known, key=lambda name: known[name]) if known else ""


def _number(value: float) -> float:
    return value if np.isfinite(value) else -1.0


def _design(_questions: Questions, _parameters: Mapping[str, Any]) -> Design:
    raise DataError(
        "parsing: needs pages; accepted: `ragtriage experiment parsing PARSED GOLD` with a folder of a "
        "parser's pages and one of the true pages"
    )


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

    `gold` has the true text of each page by its name. The project is named after the pages, unless named.

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
        kind=KEY,
        project=project,
        system=count(len(parsers), "parser"),
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
        config={"experiment": experiment, "experiment_kind": KEY, "parser": parser.parser},
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


@dataclass(frozen=True)
class TableRecall:
    """A retrieval metric by where the answer stands on the gold page."""

    metric: str  # its name
    in_table: Interval  # over questions whose reference answer stands in a table cell alone
    in_text: Interval  # over those where it stands in the text
    unknown: int  # questions left out: no reference answer, no true page, or the answer is not on it


def table_recall(scored: ScoredRun, gold: Mapping[str, str], metric: str) -> TableRecall:
    """Return a metric of a run over the questions with gold in tables, and over those with gold in text.

    The run's gold documents are named as the true pages of `gold`, which has their texts.

    Raises:
        DataError: the run does not have the metric, or no question has its gold on a true page.
    """
    if metric not in scored.metrics:
        known = ", ".join(name for name in scored.metrics if name.startswith("recall@"))
        accepted = known or "a metric of the run"
        raise DataError(f"run {scored.run.name}: no metric {metric!r}; accepted: {accepted}")
    places = _places(scored, gold)
    if not (places >= 0).any():
        raise DataError(
            f"run {scored.run.name}: no reference answer occurs on a true page; accepted: gold ids that are "
            "names of the true pages"
        )
    values = question_means(scored.values(metric), scored.question)[0]

    def mean(place: int) -> Interval:
        of_question = places == place
        return interval(values[of_question], scored.clusters[of_question], int(of_question.sum()))

    return TableRecall(metric, mean(1), mean(0), unknown=int((places < 0).sum()))


def _places(scored: ScoredRun, gold: Mapping[str, str]) -> IntArray:
    """Return for each question 1 where its answer stands in a table, 0 in the text, -1 where not known."""
    places = np.full(len(scored.question_ids), -1, dtype=np.int64)
    samples = scored.samples.each(["relevant", "reference_answer"])
    for question, sample in zip(scored.question.tolist(), samples, strict=True):
        pages = [gold[entry["id"]] for entry in sample["relevant"] or () if entry["id"] in gold]
        places[question] = max(places[question], _place(pages, sample["reference_answer"] or ""))
    return places


def _place(pages: list[str], answer: str) -> int:
    """Return 1 where an answer stands in a table of the pages alone, 0 where in their text, -1 nowhere."""
    if any(holds_answer(without_tables(page), [answer]) for page in pages):
        return 0
    cells = (cell.text for page in pages for table in page_tables(page) for row in table for cell in row)
    return 1 if any(holds_answer(text, [answer]) for text in cells) else -1


PARSING = ExperimentKind(
    key=KEY,
    title="Parsing",
    changes="the parser of the pages",
    design=_design,
    findings=_findings,
    metrics=tuple(PAGE_SCORES),
    quality=OVERALL[0],
)
