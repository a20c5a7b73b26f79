"""Means that gates judge, corrected by human labels drawn at random (prediction-powered inference)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis, diagnose, passing_of
from ragtriage.data.labels.human_ratings import HumanRatings, human_ratings, rated_dimensions
from ragtriage.data.labels.ratings import PASS
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.ppi import ppi_mean

FEWEST_LABELS = 30  # of a random sample: below it the correction is no better than the raw mean


@dataclass(frozen=True)
class CorrectedMean:
    """A mean that labels corrected; the raw one stands beside it."""

    mean: float
    low: float
    high: float
    raw: float  # of the judge or the metric alone
    n_labelled: int  # samples labelled at random


def corrected_means(ledger: Ledger, side: Diagnosis, metrics: Iterable[str]) -> Mapping[str, CorrectedMean]:
    """Return the corrected mean of each metric, and of the pass rate, that enough labels of a run cover."""
    if not ledger.path.exists():
        return {}
    scored, wanted = side.scored, set(metrics)
    corrected: dict[str, CorrectedMean] = {}
    for key in rated_dimensions(scored, ledger):
        ratings = human_ratings(scored, ledger, key)
        metric = GOOD_SHARE if key == PASS else ratings.metric
        if ratings.imported or metric not in wanted or ratings.n_drawn < FEWEST_LABELS:
            continue
        # Without labels: a prediction that knows them would look better than it is.
        predicted = passing_of(diagnose(scored, side.settings)) if key == PASS else scored.values(metric)
        mean = _corrected(ratings, predicted, side, (0.0, 1.0) if key == PASS else bounds_of(metric))
        if mean is not None:
            corrected[metric] = mean
    return corrected


def _corrected(
    ratings: HumanRatings, predicted: FloatArray, side: Diagnosis, bounds: tuple[float, float]
) -> CorrectedMean | None:
    predicted = np.where(ratings.unrated, np.nan, predicted)
    known = np.isfinite(predicted)
    both = known & np.isfinite(ratings.drawn)
    if both.sum() < FEWEST_LABELS:
        return None
    clusters = side.scored.clusters[side.scored.question]
    rest = known & ~both
    ppi = ppi_mean(
        ratings.drawn[both], predicted[both], predicted[rest], clusters=(clusters[both], clusters[rest])
    )
    if not np.isfinite([ppi.estimate, ppi.low, ppi.high]).all():
        return None
    mean, low, high = (float(np.clip(value, *bounds)) for value in (ppi.estimate, ppi.low, ppi.high))
    return CorrectedMean(mean, low, high, float(predicted[known].mean()), int(both.sum()))
