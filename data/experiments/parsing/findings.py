"""What the runs of the parsing experiment show: each parser's means, and where two means disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import Design, ExperimentKind, Measured
from ragtriage.data.experiments.parsing.page_scores import PAGE_SCORES
from ragtriage.data.experiments.parsing.parser_means import OVERALL, ParserMeans, means_of
from ragtriage.data.experiments.parsing.parsing_run import PARSING
from ragtriage.data.experiments.questions import Questions


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
