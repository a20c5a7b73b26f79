"""Agreement of a judge, or any metric, with human labels: rates, kappa, rank correlation, intervals."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS, Interval, Method, intervals

Level = Literal["nominal", "ordinal", "interval"]
TIE_DECIMALS = 12  # to which values that count as tied are equal


def krippendorff_alpha(ratings: FloatArray, level: Level) -> float:
    """Return Krippendorff's alpha: 1 - observed / expected disagreement of any number of annotators.

    Krippendorff 2011, "Computing Krippendorff's alpha-reliability". The sums over his coincidence matrix are
    taken in closed form, without the matrix, so that continuous values cost no more than categories. His
    ordinal difference is the squared difference of average ranks, so it is the interval one on these ranks.

    Args:
        ratings: (units, annotators) values or codes, NaN where missing; units with one rating do not count.
        level: "nominal" (codes differ or not), "ordinal" (their order counts), "interval" (their distance).

    Returns:
        Alpha, at most 1; NaN with fewer than two pairable ratings, or where these do not vary.

    Raises:
        MetricsError: for an unknown level.
    """
    if level not in get_args(Level):
        raise MetricsError(f"unknown level {level!r}; known: {', '.join(get_args(Level))}")
    scored = np.isfinite(ratings)
    paired = scored.sum(axis=1) >= 2
    unit = np.nonzero(scored[paired])[0].astype(np.int64)
    values = ratings[paired][scored[paired]]
    if not len(values) or values.min() == values.max():
        return np.nan
    if level == "nominal":
        within, total = (_differing(_codes(values), groups) for groups in (unit, np.zeros_like(unit)))
    else:
        # Alpha does not depend on the unit, and squares of tiny or huge values are 0 or infinite.
        unit_free = values / np.abs(values).max()
        scale = _average_ranks(_codes(values)) if level == "ordinal" else unit_free
        within, total = (_squared(scale, groups) for groups in (unit, np.zeros_like(unit)))
    observed = float((within / (np.bincount(unit) - 1)).sum())
    return 1.0 - (len(values) - 1) * observed / float(total[0])


def spearman(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's rank correlation; tied values share their average rank (Spearman 1904).

    Values count as tied up to the noise of floating point, which means over annotators differ by.

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
    middle = (np.count_nonzero(scored) + 1) / 2
    x, y = (_average_ranks(_codes(np.round(side[scored], TIE_DECIMALS))) - middle for side in (a, b))
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread else np.nan


def same_length(a: NDArray[np.generic], b: NDArray[np.generic]) -> None:
    """Raise MetricsError where two columns of pairs differ in length."""
    if len(a) != len(b):
        raise MetricsError(f"arrays of agreement differ in length: {len(a)} and {len(b)}")


def _codes(values: NDArray[np.generic]) -> IntArray:
    """Return codes 0..k-1 of the values, in their order."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def _average_ranks(codes: IntArray) -> FloatArray:
    counts = np.bincount(codes)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes], dtype=np.float64)


def _differing(codes: IntArray, groups: IntArray) -> FloatArray:
    """Count the ordered pairs of differing codes within each group."""
    many = int(codes.max()) + 1
    cells, counts = np.unique(groups * many + codes, return_counts=True)
    same = np.bincount(cells // many, weights=counts.astype(np.float64) ** 2)
    return np.asarray(np.bincount(groups).astype(np.float64) ** 2 - same, dtype=np.float64)


def _squared(values: FloatArray, groups: IntArray) -> FloatArray:
    """Sum the squared differences over the ordered pairs within each group."""
    sizes = np.bincount(groups)
    means = np.bincount(groups, weights=values) / sizes
    return np.asarray(
        2 * sizes * np.bincount(groups, weights=(values - means[groups]) ** 2), dtype=np.float64
    )


_ALPHA = 0.05


@dataclass(frozen=True)
class Confusion:
    """Counts of label pairs; positive is what humans passed."""

    tp: int  # both pass
    fp: int  # the judge passes what humans fail
    fn: int  # the judge fails what humans pass
    tn: int  # both fail

    @property
    def n(self) -> int:
        """Pairs of labels."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def true_positive_rate(self) -> float:
        """Share of what humans pass that the judge passes; NaN where they pass nothing."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def true_negative_rate(self) -> float:
        """Share of what humans fail that the judge fails; NaN where they fail nothing."""
        return _ratio(self.tn, self.tn + self.fp)

    @property
    def accuracy(self) -> float:
        """Share of pairs with the same label; NaN without pairs."""
        return _ratio(self.tp + self.tn, self.n)

    @property
    def kappa(self) -> float:
        """Cohen's kappa (1960): the share of the disagreement expected by chance that is avoided, at most 1.

        NaN where both give the same label throughout.
        """
        chance = (self.tp + self.fp) * (self.fp + self.tn) + (self.tp + self.fn) * (self.fn + self.tn)
        return _ratio(2 * (self.tp * self.tn - self.fp * self.fn), chance)


@dataclass(frozen=True)
class Agreement:
    """One statistic of agreement with its 95 % interval."""

    # "pearson", "spearman", "alpha", "kappa_linear", "kappa_quadratic", or a property of Confusion:
    # "true_positive_rate", "true_negative_rate", "kappa", "accuracy"
    name: str
    value: float  # the statistic; NaN where undefined
    low: float  # lower end; NaN where there is no interval
    high: float  # upper end; NaN as above
    n: int  # pairs behind the statistic (for the two rates: what humans passed, and what they failed)
    # how the interval was obtained; "none" where there is none, "no variance" where every resample
    # gives the same value, which says nothing about the uncertainty
    method: Method


def confusion(judge: BoolArray, human: BoolArray) -> Confusion:
    """Count the pairs of labels.

    Args:
        judge: (n,) whether the judge passes.
        human: (n,) whether humans pass.

    Raises:
        MetricsError: where the lengths differ.
    """
    same_length(judge, human)
    tp = int(np.count_nonzero(judge & human))
    fp, fn = int(np.count_nonzero(judge)) - tp, int(np.count_nonzero(human)) - tp
    return Confusion(tp, fp, fn, len(judge) - tp - fp - fn)


def rate_intervals(
    judge: BoolArray, human: BoolArray, clusters: IntArray | None = None
) -> tuple[Interval, Interval]:
    """Return the true positive and true negative rate with the 95 % intervals of pass rates.

    Wilson (1927); Clopper-Pearson with fewer than 10 clusters or labels that do not vary; the
    Dirichlet bound where a cluster contains several pairs. See
    ragtriage.metrics.statistics.intervals.intervals.

    Args:
        judge: (n,) whether the judge passes.
        human: (n,) whether humans pass.
        clusters: (n,) codes of the independent group of each pair; by default each is its own.

    Raises:
        MetricsError: where the lengths differ.
    """
    positive, negative, _ = _rates(judge, human, np.arange(len(judge)) if clusters is None else clusters)
    return positive, negative


def bootstrap_interval(
    statistic: Callable[..., float],
    columns: Sequence[NDArray[np.generic]],
    clusters: IntArray,
    seed: int = 0,
    draws: int = 1000,
) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap over clusters, drawn whole and with replacement (Efron 1979).

    Args:
        statistic: takes the resampled columns in their order; may return NaN; such draws are left out.
        columns: arrays of n rows each, such as (n,) labels or (n, annotators) ratings.
        clusters: (n,) codes of the independent group of each row.
        seed: of the draws.
        draws: number of resamples.

    Returns:
        Both ends; (NaN, NaN) with fewer than 10 clusters or where no draw gives a finite value.

    Raises:
        MetricsError: where a column and clusters differ in length.
    """
    for column in columns:
        same_length(column, clusters)
    codes = np.asarray(np.unique(clusters, return_inverse=True)[1], dtype=np.int64)
    if not len(codes) or int(codes.max()) + 1 < FEW_CLUSTERS:
        return np.nan, np.nan
    order = np.argsort(codes, kind="stable")
    ordered = [column[order] for column in columns]
    resamples = _resamples(codes[order], np.random.default_rng(seed), draws)
    draws_of_statistic = np.array([statistic(*(column[rows] for column in ordered)) for rows in resamples])
    finite = draws_of_statistic[np.isfinite(draws_of_statistic)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, [_ALPHA / 2, 1 - _ALPHA / 2])
    return float(low), float(high)


def agreement(
    judge: FloatArray, human: FloatArray, clusters: IntArray, thresholds: tuple[float, float] | None = None
) -> tuple[Agreement, ...]:
    """Return Spearman's correlation of two values and, with thresholds, the agreement of pass and fail.

    Args:
        judge: (n,) values of the judge; pairs with a NaN on either side are left out.
        human: (n,) values of the human labels.
        clusters: (n,) codes of the independent group of each pair.
        thresholds: least passing values of judge and humans; adds the rows of binary_agreement.

    Raises:
        MetricsError: where the lengths differ.
    """
    same_length(judge, human)
    same_length(judge, clusters)
    scored = ~(np.isnan(judge) | np.isnan(human))
    judge, human, clusters = judge[scored], human[scored], clusters[scored]
    ranked = bootstrapped("spearman", spearman, (judge, human), clusters)
    if thresholds is None:
        return (ranked,)
    return ranked, *binary_agreement(judge >= thresholds[0], human >= thresholds[1], clusters)


def binary_agreement(
    judge_pass: BoolArray, human_pass: BoolArray, clusters: IntArray
) -> tuple[Agreement, ...]:
    """Return true positive rate, true negative rate, kappa and accuracy of two binary labels.

    The rates and accuracy have the intervals of every pass rate (see rate_intervals), kappa a bootstrap one.

    Args:
        judge_pass: (n,) whether the judge passes.
        human_pass: (n,) whether humans pass.
        clusters: (n,) codes of the independent group of each pair.

    Raises:
        MetricsError: where the lengths differ.
    """
    positive, negative, same = _rates(judge_pass, human_pass, clusters)
    return (
        _rated("true_positive_rate", positive),
        _rated("true_negative_rate", negative),
        bootstrapped("kappa", _kappa, (judge_pass, human_pass), clusters),
        _rated("accuracy", same),
    )


LEAST_TRUE_NEGATIVE_RATE, CHANCE = 0.7, 0.5


def misses_bad(true_negative_rate: Agreement | Interval) -> bool:
    """Return whether a judge is in doubt because it passes what humans fail.

    It is where it fails less than 0.7 of that, or where the interval does not lie above one half: however
    well it ranks, a pass by such a judge says little.
    """
    rate = true_negative_rate
    value = rate.mean if isinstance(rate, Interval) else rate.value
    return not (value >= LEAST_TRUE_NEGATIVE_RATE and rate.low > CHANCE)


def accuracy(judge: IntArray, human: IntArray, clusters: IntArray) -> Agreement:
    """Return the share of pairs of one class, with the 95 % interval of a pass rate (see rate_intervals).

    Args:
        judge: (n,) codes of the judge's classes.
        human: (n,) codes of the human ones.
        clusters: (n,) codes of the independent group of each pair.
    """
    same = (judge == human).astype(np.float64)
    return _rated("accuracy", intervals(same[:, None], clusters, [len(same)], [True])[0])


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else np.nan


def _kappa(judge: BoolArray, human: BoolArray) -> float:
    return confusion(judge, human).kappa


def _resamples(codes: IntArray, rng: np.random.Generator, draws: int) -> Iterator[IntArray]:
    """Yield the row numbers of each resample; rows are sorted by cluster."""
    many, rows = int(codes[-1]) + 1, np.arange(len(codes))
    for _ in range(draws):
        times = np.bincount(rng.integers(many, size=many), minlength=many)
        yield np.repeat(rows, times[codes])


def _rates(judge: BoolArray, human: BoolArray, clusters: IntArray) -> list[Interval]:
    """True positive rate, true negative rate and accuracy."""
    same_length(judge, human)
    same_length(judge, clusters)
    same = (judge == human).astype(np.float64)
    matrix = np.stack([np.where(human, same, np.nan), np.where(human, np.nan, same), same], axis=1)
    passed = int(np.count_nonzero(human))
    return intervals(matrix, clusters, [passed, len(human) - passed, len(human)], [True] * 3)


def _rated(name: str, rate: Interval) -> Agreement:
    return Agreement(name, rate.mean, rate.low, rate.high, rate.n_scored, rate.method)


def bootstrapped(
    name: str,
    statistic: Callable[..., float],
    columns: tuple[NDArray[np.generic], NDArray[np.generic]],
    clusters: IntArray,
) -> Agreement:
    """Return a statistic of two columns with its 95 % bootstrap interval over clusters."""
    value = statistic(*columns)
    low, high = bootstrap_interval(statistic, columns, clusters)
    if low == high:
        return Agreement(name, value, np.nan, np.nan, len(clusters), "no variance")
    method: Method = "none" if np.isnan(low) else "bootstrap"
    return Agreement(name, value, low, high, len(clusters), method)
