"""How far the metrics of a run agree with human labels, and annotators with each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.data.labels.evaluated_metric import (
    EvaluatedMetric,
    column_of,
    evaluated_metrics,
    on_scale,
    oriented,
    passes,
)
from ragtriage.data.labels.human_ratings import HumanRatings, annotator_values
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Status
from ragtriage.metrics.statistics.agreement import (
    Agreement,
    Confusion,
    Level,
    agreement,
    binary_agreement,
    bootstrap_interval,
    confusion,
    krippendorff_alpha,
)

Thresholds = tuple[float, float]  # of the human ratings and of the metric, as shares of their scales
DEFAULT_THRESHOLDS: Thresholds = (0.5, 0.5)
Cell = Literal["yes-yes", "yes-no", "no-yes", "no-no"]  # human first
CELLS: tuple[Cell, ...] = ("yes-yes", "yes-no", "no-yes", "no-no")


@dataclass(frozen=True)
class BinaryLabels:
    """Human ratings and a metric, each as yes or no, over the n samples of a run."""

    paired: BoolArray  # (n,) True where both have a value
    metric_values: FloatArray  # (n,) values of the metric, NaN where it has none
    human_yes: BoolArray  # (n,) whether the human rating reaches its threshold; False where not paired
    metric_yes: BoolArray  # (n,) the same of the metric
    gap: FloatArray  # (n,) distance of the two on scales of 0 to 1; NaN where not paired
    missing: Mapping[str, int]  # status -> how many rated samples have no value of the metric for that reason

    @property
    def comparable(self) -> BoolArray:
        """(n,) samples with both labels; none where the metric has no scale."""
        return np.isfinite(self.gap)

    def cell(self, cell: Cell) -> BoolArray:
        """(n,) samples of one cell of the confusion matrix."""
        human, metric = (word == "yes" for word in cell.split("-"))
        return np.asarray(self.comparable & (self.human_yes == human) & (self.metric_yes == metric))

    @property
    def differing(self) -> BoolArray:
        """(n,) samples on which the labels differ."""
        return np.asarray(self.comparable & (self.human_yes != self.metric_yes))


@dataclass(frozen=True)
class Calibration:
    """How far one metric agrees with the human ratings."""

    labels: BinaryLabels  # sample by sample
    # counts of the pairs, positive where the rating is yes; None where the metric has no scale
    confusion: Confusion | None
    spearman: Agreement  # rank correlation of the values
    # true positive rate, true negative rate, kappa, accuracy; empty without a confusion matrix
    rates: tuple[Agreement, ...]
    rows: IntArray  # samples on which the labels differ, the widest gap first


@dataclass(frozen=True)
class Alpha:
    """How far annotators agree with each other."""

    value: float  # Krippendorff's alpha; NaN where it is undefined
    low: float  # lower end of the 95 % interval; NaN where there is none
    high: float
    n: int  # samples with at least two ratings
    annotators: int  # how many there are
    level: Level  # how values were compared


def binary_labels_of(
    scored: ScoredRun,
    ratings: HumanRatings,
    evaluated: EvaluatedMetric,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> BinaryLabels:
    """Compare human ratings and a metric sample by sample.

    Args:
        scored: the run.
        ratings: one dimension, as humans rated it.
        evaluated: the metric.
        thresholds: least share of each scale that counts as yes; a binary rating needs more than half of the
            annotators instead.

    Raises:
        DataError: the run does not have the metric.
    """
    rated = np.isfinite(ratings.values)
    column = column_of(scored, evaluated, np.flatnonzero(rated))
    values = np.where(column.status == Status.SCORED, column.values, np.nan)
    paired = rated & np.isfinite(values)
    counts = {status: int((rated & (column.status == status)).sum()) for status in Status}
    human = on_scale(ratings.values, ratings.scale)
    if ratings.lower_is_better:
        human = 1.0 - human
    metric = oriented(evaluated, values)
    human_yes = human > 0.5 if ratings.binary else passes(human, thresholds[0])
    return BinaryLabels(
        paired=paired,
        metric_values=values,
        human_yes=paired & human_yes,
        metric_yes=paired & passes(metric, thresholds[1]),
        gap=np.where(paired, np.abs(human - metric), np.nan),
        missing={status.label: n for status, n in counts.items() if n and status != Status.SCORED},
    )


def calibrate(
    scored: ScoredRun,
    ratings: HumanRatings,
    evaluated: EvaluatedMetric,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> Calibration:
    """Measure how far a metric agrees with human ratings; see `binary_labels_of` for the thresholds."""
    labels = binary_labels_of(scored, ratings, evaluated, thresholds)
    spearman = _rank_correlation(scored, ratings, labels)
    if not labels.comparable.any():
        return Calibration(labels, None, spearman, (), np.zeros(0, dtype=np.int64))
    pair = labels.metric_yes[labels.paired], labels.human_yes[labels.paired]
    rates = binary_agreement(*pair, scored.clusters[scored.question][labels.paired])
    differing = np.flatnonzero(labels.differing)
    rows = differing[np.argsort(-labels.gap[differing], kind="stable")]
    return Calibration(labels, confusion(*pair), spearman, rates, rows)


def _rank_correlation(scored: ScoredRun, ratings: HumanRatings, labels: BinaryLabels) -> Agreement:
    paired, clusters = labels.paired, scored.clusters[scored.question]
    return agreement(labels.metric_values[paired], ratings.values[paired], clusters[paired])[0]


def ranking(scored: ScoredRun, ratings: HumanRatings) -> list[tuple[EvaluatedMetric, Agreement]]:
    """Return the rank correlation of every metric with the ratings, strongest first, undefined ones last."""
    correlations = [
        (metric, _rank_correlation(scored, ratings, binary_labels_of(scored, ratings, metric)))
        for metric in evaluated_metrics(scored, ratings)
    ]
    return sorted(correlations, key=lambda pair: np.nan_to_num(-abs(pair[1].value), nan=1.0))


def alpha_of(scored: ScoredRun, ledger: Ledger, key: str) -> Alpha:
    """Measure how far the annotators who rated a dimension agree with each other."""
    values, annotators, level = annotator_values(scored, ledger, key)
    shared = np.isfinite(values).sum(axis=1) >= 2
    clusters = scored.clusters[scored.question][shared]
    values = values[shared]
    low, high = bootstrap_interval(lambda drawn: krippendorff_alpha(drawn, level), (values,), clusters)
    return Alpha(krippendorff_alpha(values, level), low, high, int(shared.sum()), annotators, level)
