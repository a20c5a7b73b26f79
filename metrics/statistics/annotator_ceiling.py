"""How well one annotator agrees with the others, and a metric with the same others: a ceiling beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.agreement import bootstrap_interval, same_length


@dataclass(frozen=True)
class Ceiling:
    """Single annotators and a metric, both against the mean of the other annotators.

    Attributes:
        annotator: correlation of single ratings with the mean of the other ratings of the same sample.
        metric: correlation of the metric with the same means.
        difference: metric minus annotator; above 0 the metric agrees better than one annotator does.
        low: lower end of the 95 % bootstrap interval of the difference; NaN with fewer than 10 clusters.
        high: upper end.
        n: samples that were rated by two annotators or more and have a value of the metric.
        ratings: single ratings of these samples.
    """

    annotator: float
    metric: float
    difference: float
    low: float
    high: float
    n: int
    ratings: int


def annotator_ceiling(
    ratings: FloatArray, metric: FloatArray, clusters: IntArray, statistic: Callable[..., float]
) -> Ceiling:
    """Compare a metric and each annotator with the mean of the other annotators.

    A metric that is compared with the mean of all annotators has an advantage over one of them, whose own
    rating is part of that mean; here both face the same means. All ratings are pooled.

    Args:
        ratings: (n, most ratings of a sample) values in any order, NaN where missing.
        metric: (n,) values of the metric, NaN where it has none.
        clusters: (n,) codes of the independent group of each sample.
        statistic: takes two columns, such as spearman.

    Returns:
        The ceiling; its values are NaN where no sample has two ratings.

    Raises:
        MetricsError: where the lengths differ.
    """
    same_length(ratings, metric)
    same_length(ratings, clusters)
    shared = np.isfinite(metric) & (np.isfinite(ratings).sum(axis=1) >= 2)
    rated, values = ratings[shared], metric[shared]

    def both(rated: FloatArray, values: FloatArray) -> tuple[float, float]:
        scored = np.isfinite(rated)
        total, count = np.where(scored, rated, 0.0).sum(axis=1), scored.sum(axis=1)
        row = np.nonzero(scored)[0]
        single = rated[scored]
        others = (total[row] - single) / (count[row] - 1)
        return statistic(single, others), statistic(values[row], others)

    def difference(rated: FloatArray, values: FloatArray) -> float:
        annotator, own = both(rated, values)
        return own - annotator

    annotator, own = both(rated, values)
    low, high = bootstrap_interval(difference, (rated, values), clusters[shared])
    single_ratings = int(np.isfinite(rated).sum())
    return Ceiling(annotator, own, own - annotator, low, high, len(values), single_ratings)
