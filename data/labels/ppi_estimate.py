"""The mean of a rating dimension over a run, from a metric on every sample and randomly drawn labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.data.labels.agreement import DEFAULT_THRESHOLDS, Thresholds
from ragtriage.data.labels.evaluated_metric import EvaluatedMetric, column_of, oriented, passes
from ragtriage.data.labels.human_ratings import HumanRatings
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Status
from ragtriage.metrics.statistics.intervals import Interval, interval
from ragtriage.metrics.statistics.ppi import PpiMean, ppi_mean

FEW_LABELS = 50  # below this the corrected mean is reported as uncertain
ADVISED_LABELS = (150, 300)  # ARES (Saad-Falcon et al. 2024) uses 150 and more
MOST_ESTIMATED = 5000  # samples whose texts are read when the metric is lexical groundedness


@dataclass(frozen=True)
class PpiEstimate:
    """The mean of a rating dimension over a run, by prediction-powered inference."""

    ppi: PpiMean | None  # the estimates; None where no label was drawn at random
    raw: Interval | None  # the metric's own mean over the same samples, with its interval; None likewise
    same_dimension: bool  # whether the metric measures the same dimension, so that the two means compare
    browsed: int  # labelled samples left out because they were not drawn at random
    unjudged: int  # samples drawn and labelled that have no value of the metric
    unrated: int = 0  # samples drawn that nobody could rate; the mean leaves them out


def ppi_estimate(
    scored: ScoredRun,
    ratings: HumanRatings,
    evaluated: EvaluatedMetric,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> PpiEstimate:
    """Correct a metric's mean by the labels that were drawn at random.

    A binary rating is corrected by whether the metric reaches its threshold, any other by the metric's value,
    both on 0 to 1. The mean is over the samples that have a value of the metric, without those that were
    drawn and could not be rated; a metric without a scale has none.
    """
    drawn = np.isfinite(ratings.drawn)
    browsed = int((np.isfinite(ratings.values) & ~drawn).sum())
    same_dimension = evaluated.metric == ratings.metric
    unrated = int(ratings.unrated.sum())
    if not drawn.any():
        return PpiEstimate(None, None, same_dimension, browsed, 0, unrated)
    predicted = np.where(ratings.unrated, np.nan, _predictions(scored, ratings, evaluated, thresholds, drawn))
    has_value = np.isfinite(predicted)
    both = drawn & has_value
    unjudged = int((drawn & ~has_value).sum())
    if not both.any():
        return PpiEstimate(None, None, same_dimension, browsed, unjudged, unrated)
    rest = has_value & ~both
    clusters = scored.clusters[scored.question]
    ppi = ppi_mean(
        ratings.drawn[both], predicted[both], predicted[rest], clusters=(clusters[both], clusters[rest])
    )
    raw = interval(predicted[has_value], clusters[has_value], int(has_value.sum()), ratings.binary)
    return PpiEstimate(ppi, raw, same_dimension, browsed, unjudged, unrated)


def _predictions(
    scored: ScoredRun,
    ratings: HumanRatings,
    evaluated: EvaluatedMetric,
    thresholds: Thresholds,
    drawn: BoolArray,
) -> FloatArray:
    """(n,) the metric on the scale of the ratings; of a large run lexical groundedness of a random part."""
    others = np.flatnonzero(~drawn)
    if len(others) > MOST_ESTIMATED:
        others = np.sort(np.random.default_rng(0).choice(others, MOST_ESTIMATED, replace=False))
    column = column_of(scored, evaluated, np.concatenate([np.flatnonzero(drawn), others]))
    values = oriented(evaluated, np.where(column.status == Status.SCORED, column.values, np.nan))
    if not ratings.binary:
        return values
    return np.where(np.isfinite(values), passes(values, thresholds[1]), np.nan)
