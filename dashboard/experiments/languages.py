"""Languages: the matrix of question and passage languages, and whose language pooled results are in."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragtriage.dashboard.charts.experiments import language_map
from ragtriage.dashboard.experiments.view import (
    ExperimentView,
    Opening,
    Part,
    ShownEffect,
    joined,
    name_of,
    quality_title,
)
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.data.experiments.languages import LANGUAGES, LanguageFindings
from ragtriage.data.experiments.registry import ExperimentSummary
from ragtriage.metrics.number_text import number, percent
from ragtriage.metrics.result_table import Number, ResultTable, Row, Share, ends_of

MOST_EMPTY = 0.5  # share of empty lists from which the cost of crossing languages is said to be that


def _headline(summary: ExperimentSummary, findings: LanguageFindings) -> Headline:
    crossed = [cell for cell in findings.cells if cell.question_language != cell.passage_language]
    name = name_of(summary)
    if not crossed or not np.isfinite(findings.transfer):
        return _pooled_headline(name, findings)
    empty, asked = sum(cell.empty for cell in crossed), sum(cell.n for cell in crossed)
    statement = f"{name}: keeps {percent(findings.transfer)} of its {summary.quality} across languages"
    detail = (
        f"{number(findings.same)} where question and passage share a language, {number(findings.crossed)} "
        f"where not, over {len(findings.languages)} languages; {empty:,} of {asked:,} crossed lists are empty"
        + (", which is nothing found, not found badly" if empty > MOST_EMPTY * asked else "")
    )
    return Headline("bad" if findings.transfer < 1 else "good", statement, detail)


def _pooled_headline(name: str, findings: LanguageFindings) -> Headline:
    known = [each for each in findings.pooled if each.own_share.n_scored]
    if not known:
        return Headline("not measured", f"{name}: no results in a known language")
    share = float(np.mean([each.own_share.mean for each in known]))
    fair = float(np.mean([each.own_relevant.mean for each in known]))
    precision = float(np.mean([each.average_precision.mean for each in known]))
    return Headline(
        "bad" if share > 2 * fair else "good",
        f"{name}: {percent(share)} of the results are in the question's language",
        f"{percent(fair)} of the relevant passages are; mAP@10 {number(precision)}, each parallel passage "
        f"relevant, over {sum(each.n for each in known):,} questions in {len(known)} languages",
    )


def _parts(summary: ExperimentSummary, findings: LanguageFindings) -> Sequence[Part]:
    matrix = [_matrix(summary, findings)] if findings.cells else []
    return [*matrix, *([_pooled(findings)] if findings.pooled else [])]


def _matrix(summary: ExperimentSummary, findings: LanguageFindings) -> Part:
    title = quality_title(summary)
    runs = {str(result.arm.levels.get("passages")): result.arm.run_id for result in summary.arms}

    def cases(point: Sequence[Any]) -> Opening | None:
        run_id = runs.get(str(point[1]))
        return Opening("", {"run": run_id, "slices": {"language": str(point[0])}}) if run_id else None

    rows: tuple[Row, ...] = tuple(
        {
            "Questions": cell.question_language,
            "Passages": cell.passage_language,
            title: Number(cell.quality.mean),
            "95 % interval": ends_of(cell.quality),
            "MRR@10": Number(cell.mrr.mean),
            "Empty lists": cell.empty,
            "n": cell.n,
        }
        for cell in findings.cells
    )
    empty, n = sum(cell.empty for cell in findings.cells), sum(cell.n for cell in findings.cells)
    return Part(
        f"{title} by the languages of question and passage",
        language_map(findings, title),
        f"{title} by the language of the questions and of the passages; the table below has the numbers",
        "language_map",
        cells=cases,
        facts=[
            f"same language {number(findings.same)}, crossed {number(findings.crossed)}: transfer "
            f"{number(findings.transfer)}",
            "click a cell for its cases",
        ],
        table=ResultTable(
            "Languages of question and passage",
            rows,
            f"{empty:,} of {n:,} lists are empty: nothing was found, which is not a low score; each counts 0",
        ),
        folded="The matrix as a table",
    )


def _pooled(findings: LanguageFindings) -> Part:
    rows: tuple[Row, ...] = tuple(
        {
            "Questions": each.language,
            "mAP@10": Number(each.average_precision.mean),
            "95 % interval": ends_of(each.average_precision),
            "Own language": Share(each.own_share.mean),
            "Its share of the relevant": Share(each.own_relevant.mean),
            "Empty lists": each.empty,
            "n": each.n,
        }
        for each in findings.pooled
    )
    notes = (
        "mAP@10: every parallel passage is relevant, so a list in one language stays low",
        "own language: share of the top 10 in the language of the question, over lists with any",
        "an unbiased list has the share that the language has among the relevant passages",
    )
    title = "Results from the passages of all languages"
    return Part("All passages at once", table=ResultTable(title, rows, joined(notes)))


def _effect(_: ExperimentSummary, findings: LanguageFindings) -> ShownEffect:
    loss = findings.crossed - findings.same
    follows = "Translate the question, or embed across languages" if loss < 0 else ""
    return ShownEffect("question and passage in two languages", loss, follows=follows)


VIEW = ExperimentView(LANGUAGES, _headline, _parts, _effect)
