"""Cohorts of the Judge page: statuses of evaluations, prompt injection, disagreement with human labels."""

from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote

import numpy as np
import pyarrow.compute as pc

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.labels.agreement import (
    CELLS,
    DEFAULT_THRESHOLDS,
    BinaryLabels,
    Cell,
    EvaluatedMetric,
    Thresholds,
    binary_labels_of,
    evaluated_metric_of,
)
from ragtriage.data.labels.human_ratings import DEGREES, answer_words, dimension_title, human_ratings
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.schema.scores import BoolArray

STATUS_TITLES = {
    "scored": "the judge gave a verdict",
    "refused": "the judge model declined to answer",
    "truncated": "the judge's reply was cut off",
    "context_exceeded": "the sample does not fit the judge's context window",
    "invalid": "the judge's reply did not match the reply schema",
    "overloaded": "the judge's service was overloaded",
    "timeout": "the judge did not reply in time",
    "error": "the judge's service failed",
    "not_applicable": "there is nothing to judge",
    "not run": "not judged",
}


def _status_title(status: str) -> str:
    if status not in STATUS_TITLES:
        raise ValueError(
            f"{status!r} is not a status of a judge result; accepted: {', '.join(STATUS_TITLES)}"
        )
    return STATUS_TITLES[status]


def _status_rows(scored: ScoredRun, status: str) -> BoolArray:
    judged = scored.auxiliary_table("judged")
    if judged is None:
        return np.full(scored.n, status == "not run")
    return np.asarray(pc.equal(judged["status"], status).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _rows_with(column: str) -> Callable[[ScoredRun, str], BoolArray]:
    """Return a function that finds the samples in which the judge counted any of something."""

    def rows(scored: ScoredRun, _value: str) -> BoolArray:
        judged = scored.auxiliary_table("judged")
        if judged is None or column not in judged.column_names:  # scores of an earlier version
            return np.zeros(scored.n, dtype=np.bool_)
        return np.asarray(judged[column].to_numpy() > 0, dtype=np.bool_)

    return rows


JUDGE_COHORTS: Mapping[str, Cohort] = {
    "judging": Cohort(_status_title, _status_rows),
    "injection": Cohort(lambda _: "text in the sample tries to instruct the judge", _rows_with("injections")),
    "void_quote": Cohort(
        lambda _: "the judge quotes what the document does not say", _rows_with("void_quotes")
    ),
    "partly_supported": Cohort(
        lambda _: "the documents support a claim only in part", _rows_with("partly_supported")
    ),
}


_ACCEPTED = "DIMENSION:METRIC:SOURCE or DIMENSION:METRIC:SOURCE:THRESHOLD:THRESHOLD"


def disagreement_cohort(
    dimension: str, metric: EvaluatedMetric, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> str:
    """Return the key of the cases on which human labels and a metric disagree."""
    return f"disagree:{_value(dimension, metric, thresholds)}"


def confusion_cohort(
    cell: Cell, dimension: str, metric: EvaluatedMetric, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> str:
    """Return the key of the cases of one cell of the confusion matrix."""
    return f"verdicts:{cell}:{_value(dimension, metric, thresholds)}"


def _value(dimension: str, metric: EvaluatedMetric, thresholds: Thresholds) -> str:
    value = f"{quote(dimension, safe='')}:{quote(metric.metric, safe='')}:{metric.source.label}"
    return value if thresholds == DEFAULT_THRESHOLDS else f"{value}:{thresholds[0]:g}:{thresholds[1]:g}"


def _parse(value: str) -> tuple[str, EvaluatedMetric, Thresholds]:
    """Return the dimension, the metric and the thresholds that a value names."""
    parts = value.split(":")
    if len(parts) not in (3, 5):
        raise ValueError(f"{value[:60]!r}; accepted: {_ACCEPTED}")
    dimension, metric, source = unquote(parts[0]), unquote(parts[1]), parts[2]
    thresholds = (_threshold(parts[3]), _threshold(parts[4])) if len(parts) == 5 else DEFAULT_THRESHOLDS
    return dimension, evaluated_metric_of(f"{metric}:{source}"), thresholds


def _threshold(text: str) -> float:
    threshold = float(text)
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"{text[:20]!r}; accepted: a threshold from 0 to 1")
    return threshold


def _split_cell(value: str) -> tuple[Cell, str]:
    text, _, rest = value.partition(":")
    for cell in CELLS:
        if cell == text:
            return cell, rest
    raise ValueError(f"{text[:20]!r}; accepted: {', '.join(CELLS)}")


def _labels(scored: ScoredRun, value: str) -> BinaryLabels:
    dimension, metric, thresholds = _parse(value)
    ratings = human_ratings(scored, Ledger(scored.workspace.ledger_path), dimension)
    return binary_labels_of(scored, ratings, metric, thresholds)


def _disagreement_title(value: str) -> str:
    dimension, metric, _ = _parse(value)
    return f"human labels ({dimension_title(dimension)}) and {metric.title} disagree"


def _cell_title(value: str) -> str:
    cell, rest = _split_cell(value)
    by_human, by_metric = cell.split("-")
    dimension, metric, _ = _parse(rest)
    label, degree = answer_words(dimension)[by_human == "no"], DEGREES[by_metric == "no"]
    return f"human label of {dimension_title(dimension)}: {label}, and {metric.title} is {degree}"


def _cell_rows(scored: ScoredRun, value: str) -> BoolArray:
    cell, rest = _split_cell(value)
    return _labels(scored, rest).cell(cell)


AGREEMENT_COHORTS: Mapping[str, Cohort] = {
    "disagree": Cohort(_disagreement_title, lambda scored, value: _labels(scored, value).differing),
    "verdicts": Cohort(_cell_title, _cell_rows),
}
