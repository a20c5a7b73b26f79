"""Agreement of two series of values and of classes, and of one annotator with the others: a ceiling."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.agreement import (
    Agreement,
    accuracy,
    bootstrap_interval,
    bootstrapped,
    krippendorff_alpha,
    same_length,
    spearman,
)

Weights = Literal["nominal", "linear", "quadratic"]
_ROUNDING = 1e-9


def pearson(a: FloatArray, b: FloatArray) -> float:
    """Return Pearson's correlation (1895).

    Args:
        a: (n,) values; pairs with a NaN on either side are left out.
        b: (n,) values.

    Returns:
        Correlation in [-1, 1]; NaN where either side is constant or empty.

    Raises:
        MetricsError: where the lengths differ.
    """
    same_length(a, b)
    scored = ~(np.isnan(a) | np.isnan(b))
    if not scored.any():
        return np.nan
    x, y = (side[scored] - side[scored].mean() for side in (a, b))
    constant = any(np.ptp(side) <= _ROUNDING * max(1.0, float(np.abs(side).max())) for side in (x, y))
    return np.nan if constant else float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def contingency(a: IntArray, b: IntArray, classes: int) -> IntArray:
    """Return the (classes, classes) counts of the pairs of codes, rows by `a`.

    Raises:
        MetricsError: where the lengths differ, or a code is not one of 0 to classes - 1.
    """
    same_length(a, b)
    codes = np.concatenate([a, b])
    if len(codes) and not (codes.min() >= 0 and codes.max() < classes):
        raise MetricsError(f"codes of {classes} classes must be 0 to {classes - 1}")
    table = np.bincount(a * classes + b, minlength=classes**2)
    return np.asarray(table.reshape(classes, classes), dtype=np.int64)


def cohen_kappa(a: IntArray, b: IntArray, classes: int, weights: Weights = "nominal") -> float:
    """Return Cohen's kappa: 1 - observed / expected disagreement of two raters.

    Cohen 1960; with weights Cohen 1968: a pair of classes disagrees by their distance ("linear") or its
    square ("quadratic") instead of wholly ("nominal"). With two classes all three are the same.

    Args:
        a: (n,) codes 0 to classes - 1.
        b: (n,) codes.
        classes: number of classes, in their order.
        weights: how far two classes disagree.

    Returns:
        Kappa, at most 1; NaN where both give one and the same class throughout, or without pairs.

    Raises:
        MetricsError: unknown weights, lengths that differ, or a code out of range.
    """
    if weights not in get_args(Weights):
        raise MetricsError(f"unknown weights {weights!r}; known: {', '.join(get_args(Weights))}")
    table = contingency(a, b, classes).astype(np.float64)
    distance = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))).astype(np.float64)
    weighted = {"nominal": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}
    disagreement = weighted[weights]
    by_chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    expected = float((disagreement * by_chance).sum())
    return 1.0 - float((disagreement * table).sum()) * len(a) / expected if expected else np.nan


def classes_of(shares: FloatArray, classes: int) -> IntArray:
    """(n,) codes of values from 0 to 1 cut into equally wide parts; a value on a border belongs above it.

    Args:
        shares: (n,) values without NaN; what lies outside 0 to 1 belongs to the outermost parts.
        classes: number of parts.
    """
    codes = np.floor(shares * classes + _ROUNDING)
    return np.asarray(np.clip(codes, 0, classes - 1), dtype=np.int64)


def preferences_of(differences: FloatArray) -> IntArray:
    """(n,) which of two is better by the second minus the first: 0 the first, 1 neither, 2 the second."""
    signs = np.where(np.abs(differences) <= _ROUNDING, 0.0, np.sign(differences))
    return np.asarray(signs + 1, dtype=np.int64)


def value_agreement(metric: FloatArray, human: FloatArray, clusters: IntArray) -> tuple[Agreement, ...]:
    """Return Pearson's and Spearman's correlation with 95 % bootstrap intervals over clusters.

    Args:
        metric: (n,) values without NaN.
        human: (n,) values of human labels.
        clusters: (n,) codes of the independent group of each pair.

    Raises:
        MetricsError: where the lengths differ.
    """
    same_length(metric, human)
    statistics = {"pearson": pearson, "spearman": spearman}
    return tuple(
        bootstrapped(name, statistic, (metric, human), clusters) for name, statistic in statistics.items()
    )


def class_agreement(
    metric: IntArray, human: IntArray, classes: int, clusters: IntArray
) -> tuple[Agreement, ...]:
    """Return accuracy, kappa (nominal, and weighted from three classes on) and Krippendorff's alpha.

    Accuracy has the 95 % interval of a pass rate, the others a bootstrap one over clusters. Alpha takes
    metric and human label as two raters, and
    compares classes nominally where there are two, by their order where there are more.

    Args:
        metric: (n,) codes 0 to classes - 1.
        human: (n,) codes.
        classes: number of classes.
        clusters: (n,) codes of the independent group of each pair.

    Raises:
        MetricsError: where the lengths differ, or a code is out of range.
    """
    contingency(metric, human, classes)
    named: dict[str, Weights] = {"kappa": "nominal"}
    if classes > 2:
        named |= {"kappa_linear": "linear", "kappa_quadratic": "quadratic"}
    columns = (metric, human)
    kappas = [
        bootstrapped(name, partial(cohen_kappa, classes=classes, weights=weights), columns, clusters)
        for name, weights in named.items()
    ]
    alpha = bootstrapped("alpha", partial(_alpha, nominal=classes == 2), columns, clusters)
    return accuracy(metric, human, clusters), *kappas, alpha


def _alpha(a: IntArray, b: IntArray, nominal: bool) -> float:
    ratings = np.stack([a, b], axis=1).astype(np.float64)
    return krippendorff_alpha(ratings, "nominal" if nominal else "ordinal")


@dataclass(frozen=True)
class Ceiling:
    """Single annotators and a metric, both against the mean of the other annotators."""

    annotator: float  # correlation of single ratings with the mean of the other ratings of the same sample
    metric: float  # correlation of the metric with the same means
    difference: float  # metric minus annotator; above 0 the metric agrees better than one annotator does
    low: float  # lower end of the 95 % bootstrap interval of the difference; NaN with fewer than 10 clusters
    high: float  # upper end
    n: int  # samples that were rated by two annotators or more and have a value of the metric
    ratings: int  # single ratings of these samples


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
