"""The means of parsers over their pages, and the two ways to make one number of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.data.experiments.parsing.page_scores import PAGE_SCORES
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
