"""Means over questions with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.distributions import (
    DIFFERENCE_WEIGHT,
    MEAN_WEIGHT,
    BoundedClusters,
    beta_quantile,
    dirichlet_ends,
    normal_quantile,
    t_quantile,
)

Method = Literal[
    "dirichlet",
    "bootstrap",
    "wilson",
    "exact",
    "t",
    "normal",
    "no variance",
    "none",
    "ppi",
    "post-stratified",
]
METHODS: Mapping[str, str] = {  # the same in words
    "wilson": "Wilson's interval",
    "exact": "exact interval",
    "t": "interval by Student's t",
    "dirichlet": "Dirichlet-weighted mean over questions or conversations",
    "bootstrap": "bootstrap over questions or conversations",
    "normal": "normal interval",
    "no variance": "bound, as no value differs",
    "ppi": "corrected by random labels (PPI)",
    "post-stratified": "corrected by random labels (post-stratified)",
}
FEW_CLUSTERS = 10  # below this the misses of an interval are not held to what it promises
MANY_CLUSTERS = 2000  # from here on the normal interval equals the others and is far cheaper
TWO_SIDED, ONE_SIDED = 0.975, 0.95  # level of each end
_ALPHA = 0.05


@dataclass(frozen=True)
class Interval:
    """A mean over questions with its 95 % interval."""

    mean: float  # mean over the scored questions; NaN where none is scored
    low: float  # lower end; NaN where there is none (nothing scored, or no variance in an unbounded metric)
    high: float  # upper end; NaN as above
    n_scored: int  # questions with a value
    n_applicable: int  # questions for which the metric has a meaning
    n_clusters: int  # independent groups (conversations, or else questions) behind the scored questions
    method: Method  # how the interval was obtained; "none" where nothing is scored
    too_few: bool  # True for fewer than 10 clusters or values that do not vary
    n_effective: float | None = None  # clusters that weigh alike and tell as much; None without weights


@dataclass(frozen=True)
class ClusteredValues:
    """One metric reduced to its scored clusters, in an order that depends on their values alone."""

    sums: FloatArray
    counts: FloatArray  # values of each cluster, or their weight
    mean: float
    error: float  # cluster-robust standard error of the mean; 0 where the cluster means do not vary
    bounds: tuple[float, float]
    zero_one: bool
    plain: bool  # every cluster is one pass or fail: a question, or equally many copies of one
    weighted: bool = False

    @cached_property
    def effective(self) -> float:
        """Clusters of one weight that tell as much: (sum w)^2 / sum w^2, all of them without weights.

        Source: Kish 1965, "Survey Sampling".
        """
        many = len(self.sums)
        return float(self.counts.sum() ** 2 / (self.counts**2).sum()) if self.weighted and many else many

    @property
    def trials(self) -> float:
        """Trials that tell as much of a pass rate as its clusters.

        Under weights no more than `effective`, and fewer where those of a large weight vary most: as many as
        have the standard error of the rate. Source: Korn and Graubard 1998, Survey Methodology 24(2).
        """
        variance = self.mean * (1 - self.mean)
        if not self.weighted or not self.error or variance <= 0:
            return self.effective
        return min(self.effective, variance / self.error**2)

    @property
    def is_bounded(self) -> bool:
        """Return whether the metric has a least and a greatest value."""
        return bool(np.all(np.isfinite(self.bounds)))

    @property
    def bounded(self) -> BoundedClusters:
        """The clusters of a metric that is bounded."""
        return BoundedClusters(self.sums, self.counts, self.bounds, self.weighted)


def interval(
    values: FloatArray,
    clusters: IntArray,
    n_applicable: int,
    binary: bool = False,
    bounds: tuple[float, float] = (0.0, 1.0),
    weights: FloatArray | None = None,
) -> Interval:
    """Return the mean of one value per question, with a 95 % interval; see intervals for the methods.

    Args:
        values: (q,) one value per question, NaN where not scored.
        clusters: (q,) codes of the independent group of each question.
        n_applicable: questions for which the metric has a meaning.
        binary: whether the metric is a plain pass rate (each question passes or fails).
        bounds: least and greatest value the metric can take; infinite where it is unbounded.
        weights: (q,) of each question; None where all weigh alike.
    """
    return intervals(values[:, None], clusters, [n_applicable], [binary], [bounds], weights)[0]


def intervals(
    matrix: FloatArray,
    clusters: IntArray,
    n_applicable: Sequence[int],
    binary: Sequence[bool] | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    weights: FloatArray | None = None,
) -> list[Interval]:
    """Return the means of M metrics with 95 % intervals.

    - "wilson": plain pass rates (binary, every value 0 or 1, every cluster one question, or equally many
      copies of one) from 10 questions.
    - "exact": Clopper-Pearson with one trial per cluster, for values of only 0 and 1 in a metric bounded by 0
      and 1, with fewer than 10 clusters or no variance.
    - "dirichlet": other metrics with two bounds, below 2,000 clusters; see
      ragtriage.metrics.statistics.distributions.
    - "t": cluster-robust Student's t for metrics that lack a bound, below 2,000 clusters.
    - "normal": cluster-robust normal interval from 2,000 clusters.
    - "no variance": other values that do not vary between clusters. With 97.5 % confidence at most a share
      s = 1 - 0.025 ** (1 / clusters) of the population differs from what was seen (an exact rule of three),
      and a differing value lies within the bounds: hence [mean - s (mean - lower), mean + s (upper - mean)],
      which at 0 and 1 is the Clopper-Pearson interval. NaN ends where the bounds are infinite.

    With weights the mean is Hajek's, sum(w y) / sum(w), and the same intervals are over as many clusters as
    are effective (ClusteredValues.effective, .trials); a value unseen by "dirichlet" weighs as one of them.
    No finite population is corrected for: the interval is of the system, and so holds for its calls too.

    Args:
        matrix: (q, M) values, NaN where not scored.
        clusters: (q,) codes of the independent group of each question.
        n_applicable: M counts.
        binary: M flags; by default none is a pass rate.
        bounds: M pairs; (0, 1) by default. Widened to the data where values lie outside.
        weights: (q,) of each question, above 0; None where all weigh alike.
    """
    same_length(matrix, clusters)
    many = matrix.shape[1]
    limits = bounds or [(0.0, 1.0)] * many
    codes = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    flags = binary or [False] * many
    scored = np.isfinite(matrix).sum(axis=0).tolist()
    columns = [clustered(matrix[:, m], codes, limits[m], weights) for m in range(many)]
    methods = [_method(column, binary) for column, binary in zip(columns, flags, strict=True)]
    ends = [_ends(column, method) for column, method in zip(columns, methods, strict=True)]
    solved = [m for m, method in enumerate(methods) if method == "dirichlet"]
    level = [normal_quantile(TWO_SIDED)] * len(solved)
    drawn = dirichlet_ends([columns[m].bounded for m in solved], MEAN_WEIGHT, level)
    for m, pair in zip(solved, drawn, strict=True):
        ends[m] = pair
    return [_interval(columns[m], ends[m], scored[m], n_applicable[m], methods[m]) for m in range(many)]


def corrected_difference_ends(columns: Sequence[ClusteredValues]) -> list[tuple[float, float]]:
    """Return the ends of mean differences that hold all together with 95 % confidence (Bonferroni).

    The differences are bounded, such as those of pass rates.
    """
    level = normal_quantile(1 - _ALPHA / 2 / max(len(columns), 1))
    return dirichlet_ends([column.bounded for column in columns], DIFFERENCE_WEIGHT, [level] * len(columns))


def difference_ends(column: ClusteredValues) -> tuple[tuple[float, float], tuple[float, float], Method]:
    """Return the ends of the 95 % and of the 90 % interval of a mean difference, and how they were obtained.

    Each end of the second is a one-sided 95 % bound. Differences that do not vary are no exception, so that
    the bounds do not jump where a single question changes.
    """
    many, levels = len(column.sums), (TWO_SIDED, ONE_SIDED)
    if not many or (column.error == 0 and not column.is_bounded):
        nowhere = (np.nan, np.nan)
        return nowhere, nowhere, "none" if not many else "no variance"
    if column.is_bounded and (many < MANY_CLUSTERS or column.error == 0):
        z = [normal_quantile(level) for level in levels]
        two, one = dirichlet_ends([column.bounded] * 2, DIFFERENCE_WEIGHT, z)
        return two, one, "dirichlet"
    method: Method = "t" if many < MANY_CLUSTERS else "normal"
    reaches = [_quantile(method, level, many) * column.error for level in levels]
    two, one = ((column.mean - reach, column.mean + reach) for reach in reaches)
    return two, one, method


def mean_over_questions(
    values: FloatArray, clusters: IntArray | None = None, weights: FloatArray | None = None
) -> Interval:
    """Return the mean of one value per question with a 95 % interval; Wilson's where all values are 0 or 1.

    Args:
        values: (q,) one value per question between 0 and 1, NaN where not scored.
        clusters: (q,) codes of the independent group of each question; None where each is its own.
        weights: (q,) of each question; None where all weigh alike.
    """
    groups = np.arange(len(values), dtype=np.int64) if clusters is None else clusters
    return interval(values, groups, int(np.isfinite(values).sum()), binary=True, weights=weights)


def is_pass_rate(values: FloatArray, bounds: tuple[float, float]) -> bool:
    """Return whether a metric from 0 to 1 has no value but 0 and 1, NaN left out."""
    return bounds == (0.0, 1.0) and bool(np.isin(values[np.isfinite(values)], (0.0, 1.0)).all())


def score_mean(
    values: FloatArray,
    clusters: IntArray,
    bounds: tuple[float, float] = (0.0, 1.0),
    weights: FloatArray | None = None,
) -> Interval:
    """Return the mean of a score with its 95 % interval: that of a pass rate where its values are one.

    Args:
        values: (q,) NaN where not scored.
        clusters: (q,) codes of the independent group of each value.
        bounds: least and greatest value; infinite where there is none.
        weights: (q,) of each value; None where all weigh alike.
    """
    n = int(np.isfinite(values).sum())
    return interval(values, clusters, n, is_pass_rate(values, bounds), bounds, weights)


def reaches(before: Interval, after: Interval) -> tuple[float, float]:
    """Return how far the 95 % interval of a difference of independent means reaches below and above it.

    The distances to the ends of both intervals are combined by squares, each on its side, which is Newcombe's
    interval for plain rates. Source: Zou and Donner 2008, "Construction of confidence limits about effect
    measures", Statistics in Medicine 27; Newcombe 1998, Statistics in Medicine 17.

    Args:
        before: the mean that is taken away.
        after: the other.
    """
    below = hypot(after.mean - after.low, before.high - before.mean)
    above = hypot(after.high - after.mean, before.mean - before.low)
    return below, above


def hajek_mean(values: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the mean of the finite values, weighted where weights are given; NaN without any."""
    known = np.isfinite(values)
    if not known.any():
        return float("nan")
    return float(np.average(values[known], weights=None if weights is None else weights[known]))


def missing_bounds(
    values: FloatArray,
    n_missing: float,
    low: float = 0.0,
    high: float = 1.0,
    weights: FloatArray | None = None,
) -> tuple[float, float]:
    """Return the means if all n_missing values had been low, and if all had been high.

    Args:
        values: (q,) values, NaN where not scored (not counted; n_missing is the number that failed).
        n_missing: values that should exist and do not; their weight where there are weights.
        low: worst value of the metric.
        high: best value of the metric.
        weights: (q,) of each value; None where all weigh alike.
    """
    known = np.isfinite(values)
    weight = float(known.sum() if weights is None else weights[known].sum())
    seen = values[known].sum() if weights is None else (values * weights)[known].sum()
    total = weight + n_missing
    if total == 0:
        return np.nan, np.nan
    return float((seen + n_missing * low) / total), float((seen + n_missing * high) / total)


def questions_to_exclude(share: Interval, limit: float) -> int | None:
    """Return how many questions would put a limit outside an interval of the same kind around the same share.

    Wilson's interval excludes a limit exactly where the score test rejects it. Around a share of 0 or 1 the
    exact interval is used, as it is displayed; other intervals narrow with the square root of the number.

    Args:
        share: with its interval, between 0 and 1.
        limit: strictly between 0 and 1.

    Returns:
        The number of questions; None where the share is the limit or is not known.
    """
    distance = abs(share.mean - limit)
    if not share.n_clusters or not np.isfinite(share.low) or distance < 1e-9:
        return None
    independent = share.n_effective or share.n_clusters
    size = share.n_scored / independent  # questions per cluster
    if share.method in ("exact", "no variance") and share.mean in (0.0, 1.0):
        clusters = np.log(_ALPHA / 2) / np.log(1 - distance)
    elif share.method in ("exact", "wilson"):  # from 10 clusters the exact interval gives way to Wilson's
        score = normal_quantile(1 - _ALPHA / 2) ** 2 * limit * (1 - limit) / distance**2
        clusters = max(score, FEW_CLUSTERS)
    else:
        reach = share.mean - share.low if limit < share.mean else share.high - share.mean
        clusters = independent * (reach / distance) ** 2
    return int(np.ceil(clusters * size))


def same_length(values: FloatArray, codes: IntArray) -> None:
    """Raise MetricsError unless each value has a code."""
    if len(values) != len(codes):
        raise MetricsError(f"values and codes differ in length: {len(values)} and {len(codes)}")


def sum_by(columns: FloatArray, codes: IntArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return sums and counts of the finite values of each column, (size, M) each."""
    finite = np.isfinite(columns)
    clean = np.where(finite, columns, 0.0)
    sums = [np.bincount(codes, weights=clean[:, m], minlength=size) for m in range(columns.shape[1])]
    counts = [np.bincount(codes, weights=finite[:, m], minlength=size) for m in range(columns.shape[1])]
    return np.stack(sums, axis=1), np.stack(counts, axis=1)


def clustered(
    values: FloatArray, codes: IntArray, bounds: tuple[float, float], weights: FloatArray | None = None
) -> ClusteredValues:
    """Return (q,) values summed by cluster, NaN left out; the bounds are widened to the data."""
    finite = np.isfinite(values)
    weights = None if weights is None else weights[finite]
    values, codes = values[finite], codes[finite]
    if not len(values):
        empty = np.zeros(0)
        return ClusteredValues(empty, empty, np.nan, np.nan, bounds, zero_one=False, plain=True)
    order = np.argsort(values)
    values, codes = values[order], codes[order]
    if weights is not None:
        weights = weights[order]
    sizes: FloatArray = np.bincount(codes, weights).astype(np.float64)
    present = sizes > 0
    weighted = values if weights is None else values * weights
    sums: FloatArray = np.bincount(codes, weights=weighted)[present].astype(np.float64)
    counts = sizes[present]
    order = np.lexsort((counts, sums))
    sums, counts = sums[order], counts[order]
    limits = min(bounds[0], float(values[0])), max(bounds[1], float(values[-1]))
    mean = values.mean() if weights is None else weighted.sum() / weights.sum()
    mean = float(np.clip(mean, values[0], values[-1]))
    zero_one = bounds == (0.0, 1.0) and bool(np.all((values == 0) | (values == 1)))
    alike = weights is not None or bool((counts == counts[0]).all())
    plain = alike and bool(((sums == 0) | (sums == counts)).all())
    error = _error(sums, counts, mean)
    return ClusteredValues(sums, counts, mean, error, limits, zero_one, plain, weights is not None)


def _error(sums: FloatArray, counts: FloatArray, mean: float) -> float:
    many = len(sums)
    residuals = sums - mean * counts
    scale = float(np.abs(sums).max()) + 1e-300
    if many < 2 or float(np.abs(residuals).max()) <= 1e-12 * scale:
        return 0.0
    return float(np.sqrt(many / (many - 1) * (residuals**2).sum()) / counts.sum())


def _method(column: ClusteredValues, binary: bool) -> Method:
    clusters = column.effective
    if clusters == 0:
        return "none"
    if column.zero_one and (clusters < FEW_CLUSTERS or column.error == 0):
        return "exact"
    if column.error == 0:
        return "no variance"
    if binary and column.zero_one and column.plain:
        return "wilson"
    if clusters >= MANY_CLUSTERS:
        return "normal"
    return "dirichlet" if column.is_bounded else "t"


def _ends(column: ClusteredValues, method: Method) -> tuple[float, float]:
    clusters, mean = column.effective, column.mean
    if method in ("none", "dirichlet"):  # the latter are solved together
        return np.nan, np.nan
    if method == "wilson":
        return wilson(mean, column.trials)
    if method == "exact":
        return clopper_pearson(mean, column.trials)
    if method == "no variance":
        if not column.is_bounded:
            return np.nan, np.nan
        share = 1 - (_ALPHA / 2) ** (1 / clusters)
        return mean - share * (mean - column.bounds[0]), mean + share * (column.bounds[1] - mean)
    reach = _quantile(method, TWO_SIDED, clusters) * column.error
    return mean - reach, mean + reach


def _quantile(method: Method, level: float, clusters: float) -> float:
    """Return the quantile of Student's t or of the normal distribution at a level."""
    return t_quantile(level, clusters - 1) if method == "t" else normal_quantile(level)


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Return the 95 % score interval of a share of n. Source: Wilson 1927, JASA 22(158)."""
    z = normal_quantile(1 - _ALPHA / 2)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return float(centre - reach), float(centre + reach)


def clopper_pearson(rate: float, n: float) -> tuple[float, float]:
    """Return the exact 95 % interval of a share of n. Source: Clopper and Pearson 1934, Biometrika 26(4)."""
    passes = rate * n
    low = 0.0 if passes <= 0 else beta_quantile(_ALPHA / 2, passes, n - passes + 1)
    high = 1.0 if passes >= n else beta_quantile(1 - _ALPHA / 2, passes + 1, n - passes)
    return low, high


def _interval(
    column: ClusteredValues, ends: tuple[float, float], n_scored: int, n_applicable: int, method: Method
) -> Interval:
    few = column.effective < FEW_CLUSTERS or column.error == 0
    effective = column.effective if column.weighted else None
    low = float(np.clip(min(ends[0], column.mean), *column.bounds))
    high = float(np.clip(max(ends[1], column.mean), *column.bounds))
    return Interval(column.mean, low, high, n_scored, n_applicable, len(column.sums), method, few, effective)


def question_means(values: FloatArray, question: IntArray) -> tuple[FloatArray, IntArray]:
    """Average the repeats of each question, leaving out unscored (NaN) ones.

    Args:
        values: (n,) or (n, M) values of the samples.
        question: (n,) codes 0..q-1 of the question of each sample.

    Returns:
        The means, (q,) or (q, M), NaN where no repeat is scored, and the counts of scored repeats.
    """
    same_length(values, question)
    size = int(question.max()) + 1 if len(question) else 0
    if size == len(question) and values.ndim == 1 and (np.bincount(question) == 1).all():
        single = np.empty(len(values))
        single[question] = values + 0.0  # a sum that starts at 0 has no -0
        scored = np.isfinite(single)
        return np.where(scored, single, np.nan), scored.astype(np.int64)
    columns = values.reshape(len(values), -1)
    sums, counts = sum_by(columns, question, size)
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    shape = (size, *values.shape[1:])
    return means.reshape(shape), counts.astype(np.int64).reshape(shape)
