"""What the runs of the parsing experiment show: the means of each parser, and where two means disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import Design, ExperimentKind, Measured
from ragtriage.data.experiments.parsing.pages import PAGE_SCORES
from ragtriage.data.experiments.parsing.parsing_run import PARSING
from ragtriage.data.experiments.questions import Questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions

OVERALL = ("nid", "teds", "mhs")  # what the benchmark's overall number is made of


@dataclass(frozen=True)
class ParserMeans:
    """A parser over its pages.

    Attributes:
        means: score -> its mean over the pages where it is applicable, with a 95 % interval.
        by_page: mean over pages of the mean of what each has: text, tables, headings.
        by_score: mean of the three means. A parser without tables loses a third of it here, and above only
            where pages have tables.
    """

    means: Mapping[str, Interval]
    by_page: Interval
    by_score: float


def parser_means(scored: ScoredRun) -> ParserMeans:
    """Return the means of a parser's run."""
    columns = {name: scored.values(name) for name in PAGE_SCORES if name in scored.metrics}
    return means_of(columns)


def means_of(columns: Mapping[str, FloatArray]) -> ParserMeans:
    """Return the means of a parser.

    Args:
        columns: score -> (pages,) values, NaN where not applicable.
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
    """Parsers over the same pages.

    Attributes:
        parsers: name -> its means.
        best_text: parser with the highest mean text similarity.
        best_tables: parser that found the most table cells with both headers; "" where no page has a table.
        order_differs: whether the two ways to make one number rank the parsers differently.
    """

    parsers: Mapping[str, ParserMeans]
    best_text: str
    best_tables: str
    order_differs: bool


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


PARSING_KIND = ExperimentKind(
    key=PARSING,
    title="Parsing",
    changes="the parser of the pages",
    design=_design,
    findings=_findings,
    metrics=tuple(PAGE_SCORES),
    quality=OVERALL[0],
)
