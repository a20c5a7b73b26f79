"""Cohorts of the Calibration page: where human labels and a metric disagree, cells of their confusion matrix.

The value is "DIMENSION:METRIC:SOURCE", followed by the thresholds of the labels and of the metric
(":0.5:0.7") where they are not both 0.5; a cell of the matrix comes first ("yes-no:..."). A colon inside a
name is written as %3A.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote

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
