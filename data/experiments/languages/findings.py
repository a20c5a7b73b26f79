"""What the runs of the language experiment show: the matrix, the cost of crossing, the bias to one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import Design, ExperimentKind, Measured
from ragtriage.data.experiments.languages.language_runs import ALL, DEPTH
from ragtriage.data.experiments.questions import Questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.sample_reader import AT_ONCE, further_fields
from ragtriage.metrics.experiments.languages import (
    RankedLists,
    average_precision,
    language_shares,
    reciprocal_rank,
    transfer_ratio,
)
from ragtriage.metrics.schema.scores import IntArray
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions
from ragtriage.metrics.statistics.question_means import question_means

QUALITY = "recall@1"


@dataclass(frozen=True)
class LanguageCell:
    """Questions of one language against passages of one.

    Attributes:
        question_language: of the questions.
        passage_language: of the passages.
        quality: the arms' metric, an empty list counting as it does there.
        mrr: mean reciprocal rank of the first relevant passage in the top 10.
        n: questions.
        empty: of them, those for which nothing was found; not a low score but none.
    """

    question_language: str
    passage_language: str
    quality: Interval
    mrr: Interval
    n: int
    empty: int


@dataclass(frozen=True)
class PooledLanguage:
    """Questions of one language against the passages of all.

    Attributes:
        language: of the questions.
        average_precision: in the top 10, every parallel passage relevant.
        own_share: of the results that are in the language of the question, over lists that are not empty.
        own_relevant: its share among the relevant passages: what an unbiased list would have.
        n: questions.
        empty: of them, those for which nothing was found.
    """

    language: str
    average_precision: Interval
    own_share: Interval
    own_relevant: Interval
    n: int
    empty: int


@dataclass(frozen=True)
class LanguageFindings:
    """What crossing languages costs.

    Attributes:
        languages: of questions or passages, in order.
        cells: of the matrix, by question language, then passage language.
        same: mean quality where both are in one language; NaN where there is no matrix.
        crossed: mean quality where they are not.
        transfer: crossed / same.
        pooled: by question language; () where no arm has the passages of all.
    """

    languages: tuple[str, ...]
    cells: tuple[LanguageCell, ...]
    same: float
    crossed: float
    transfer: float
    pooled: tuple[PooledLanguage, ...]


def _findings(measured: Measured, quality: str) -> LanguageFindings:
    passages = {str(measured.levels[arm]["passages"]): at for at, arm in enumerate(measured.arms)}
    runs = {name: measured.scored[at] for name, at in passages.items()}
    asked = list(dict.fromkeys(name for run in runs.values() for name in _question_languages(run)[1]))
    there = [name for name in passages if name != ALL]
    languages = [*(name for name in there if name in asked), *(name for name in asked if name not in there)]
    languages += [name for name in there if name not in asked]
    cells = [
        _cell(runs[passage], question, passage, quality)
        for question in languages
        for passage in languages
        if passage in runs and question in asked
    ]
    values = {(cell.question_language, cell.passage_language): cell.quality.mean for cell in cells}
    matrix = [[values.get((row, column), np.nan) for column in languages] for row in languages]
    same = [mean for (row, column), mean in values.items() if row == column]
    crossed = [mean for (row, column), mean in values.items() if row != column]
    return LanguageFindings(
        tuple(languages),
        tuple(cells),
        float(np.nanmean(same)) if same else float("nan"),
        float(np.nanmean(crossed)) if crossed else float("nan"),
        transfer_ratio(matrix) if cells else float("nan"),
        tuple(_pooled(runs[ALL], language) for language in languages if language in asked)
        if ALL in runs
        else (),
    )


def _question_languages(run: ScoredRun) -> tuple[IntArray, tuple[str, ...]]:
    """Return (n,) codes of the language of each sample's question, and the languages."""
    for group in run.groups:
        if group.name == "language":
            return group.codes, group.labels
    return np.zeros(run.n, dtype=np.int64), ("not told",)


def _rows(run: ScoredRun, language: str) -> IntArray:
    codes, labels = _question_languages(run)
    return np.flatnonzero(codes == labels.index(language)) if language in labels else np.zeros(0, np.int64)


def _cell(run: ScoredRun, question: str, passage: str, quality: str) -> LanguageCell:
    rows = _rows(run, question)
    lists = _lists(run, rows, {})
    clusters = run.clusters[run.question[rows]]
    # one value a sample: the mean of its question, so that repeats do not count more
    return LanguageCell(
        question_language=question,
        passage_language=passage,
        quality=mean_over_questions(
            question_means(run.values(quality), run.question)[0][run.question[rows]], clusters
        ),
        mrr=mean_over_questions(reciprocal_rank(lists), clusters),
        n=len(rows),
        empty=int(lists.empty.sum()),
    )


def _pooled(run: ScoredRun, language: str) -> PooledLanguage:
    rows = _rows(run, language)
    codes = {language: 0}
    lists = _lists(run, rows, codes)
    clusters = run.clusters[run.question[rows]]
    share = language_shares(lists, np.zeros(len(rows), np.int64), _in_language(run, rows), clusters)
    return PooledLanguage(
        language=language,
        average_precision=mean_over_questions(average_precision(lists, DEPTH), clusters),
        own_share=share.results,
        own_relevant=share.relevant,
        n=len(rows),
        empty=int(lists.empty.sum()),
    )


def _in_language(run: ScoredRun, rows: IntArray) -> IntArray:
    """Return (rows,) relevant passages in the language of each question, as the run's tags have it."""
    tags = run.samples.read(rows.tolist(), ["tags"])
    named = [{tag["key"]: tag["value"] for tag in sample["tags"] or ()} for sample in tags]
    return np.array([int(entry.get("relevant in the language", 0)) for entry in named], dtype=np.int64)


def _lists(run: ScoredRun, rows: IntArray, codes: dict[str, int]) -> RankedLists:
    """Return the top 10 of some samples; languages take the next free code."""
    language = np.full((len(rows), DEPTH), -1, dtype=np.int64)
    relevant = np.zeros((len(rows), DEPTH), dtype=np.bool_)
    counts = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, len(rows), AT_ONCE):
        samples = run.samples.read(rows[start : start + AT_ONCE].tolist(), ["retrieved", "relevant"])
        for at, sample in enumerate(samples, start=start):
            gold = {entry["id"] for entry in sample["relevant"] or ()}
            counts[at] = len(gold)
            for rank, entry in enumerate((sample["retrieved"] or ())[:DEPTH]):
                language[at, rank] = codes.setdefault(
                    str(further_fields(entry["extra"], "language").get("language") or "not told"), len(codes)
                )
                relevant[at, rank] = entry["id"] in gold
    return RankedLists(language, relevant, counts)


def _design(_questions: Questions, _parameters: Mapping[str, Any]) -> Design:
    raise DataError(
        "languages: needs passages with their languages; accepted: "
        "`ragtriage experiment languages QUESTIONS --corpus CORPUS`"
    )


LANGUAGES = ExperimentKind(
    key="languages",
    title="Across languages",
    changes="the language of the passages",
    design=_design,
    findings=_findings,
    quality=QUALITY,
)
