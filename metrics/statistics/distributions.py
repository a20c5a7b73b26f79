"""Quantiles of distributions, without SciPy; intervals of percentiles and ends of those of bounded means.

The ends of bounded means are by Dirichlet weights and a value unseen at the near bound: no resampling.
The lower end is the quantile of a mean whose clusters have Dirichlet(1, ..., 1) weights (the Bayesian
bootstrap), with one more value at the lower bound of weight w; the upper end mirrors it. Weight 1 is Gaffke's
bound, which is Clopper and Pearson's for values of 0 and 1. The weights here are the smallest that keep the
misses on either side at most at 4 % from ten clusters on (`benchmarks/interval_coverage.py`).

Sources: Rubin 1981, "The Bayesian Bootstrap"; Gaffke 2005; Lugannani and Rice 1980, whose saddlepoint
approximation gives the quantile; Owen 1988 for means of clusters of unequal size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log
from statistics import NormalDist

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError

_TINY = 1e-300
_TERMS = 3000  # the fraction needs about sqrt(max(a, b)) terms; this serves shapes into the millions
_BISECTIONS = 100


def regularised_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), the distribution function of Beta(a, b).

    Continued fraction evaluated by Lentz's method (Numerical Recipes, 6.4); shapes a and b are above 0.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - regularised_beta(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _continued_fraction(a, b, x) / a


def _continued_fraction(a: float, b: float, x: float) -> float:
    # Lentz: c and d are the ratios of successive numerators and denominators, so neither can overflow.
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    total = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            total *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return total


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


@lru_cache(maxsize=4096)
def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the p quantile of Beta(a, b), by bisection to machine precision."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if regularised_beta(a, b, middle) < p:
            low = middle
        else:
            high = middle
        if high - low < 1e-15 * high:
            break
    return (low + high) / 2


def t_quantile(p: float, freedom: float) -> float:
    """Return the quantile of Student's t with the given degrees of freedom (above 0), for 0 < p < 1."""
    if p == 0.5:
        return 0.0
    tail = 2 * min(p, 1 - p)
    x = beta_quantile(tail, freedom / 2, 0.5)
    size = math.sqrt(freedom * (1 - x) / x)
    return size if p > 0.5 else -size


def welch_freedom(parts: Sequence[float], sizes: Sequence[int]) -> float:
    """Return the degrees of freedom of a difference of two means with unequal variances.

    Source: Welch 1947, "The generalization of Student's problem when several different population variances
    are involved", Biometrika 34.

    Args:
        parts: squared standard error of each mean.
        sizes: values behind each mean; 2 or more.
    """
    terms = sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return sum(parts) ** 2 / terms if terms else float(sum(sizes) - len(sizes))


def normal_quantile(p: float) -> float:
    """Return the quantile of the standard normal distribution, for 0 < p < 1."""
    return NormalDist().inv_cdf(p)


def normal_tail(z: float) -> float:
    """Return the probability that a standard normal variable exceeds z."""
    return 0.5 * math.erfc(z / math.sqrt(2))


_ALPHA = 0.05


@dataclass(frozen=True)
class QuantileInterval:
    """A percentile of measured values with its 95 % interval."""

    value: float | None  # interpolated between the two nearest values; None without any
    low: float | None  # lower end, one of the values; None where there are too few
    high: float | None  # upper end
    n: int  # values
    independent: int  # values that count as independent; fewer where several belong to one cluster


def fewest_values(share: float) -> int:
    """Return how many independent values the interval of a quantile needs to have both ends.

    The upper end exists where p ** n <= 0.025, the lower one where (1 - p) ** n <= 0.025: 72 values for the
    95th percentile, 368 for the 99th, 6 for the median. Source: as for quantile_ranks.

    Raises:
        MetricsError: the share is not between 0 and 1.
    """
    _require_share(share)
    return ceil(log(_ALPHA / 2) / log(max(share, 1 - share)))


def quantile_ranks(n: int, share: float) -> tuple[int | None, int | None]:
    """Return the ranks (from 1, ascending) of the values that enclose a quantile with 95 % confidence.

    The number of values below the quantile is B ~ Binomial(n, share). The lower rank is the greatest l with
    P(B < l) <= 0.025, the upper one the smallest u with P(B >= u) <= 0.025, so each end errs in at most
    2.5 % of samples, whatever the distribution; ties only make it safer.
    Source: Conover 1999, "Practical Nonparametric Statistics", 3rd ed., section 3.2.

    Args:
        n: independent values.
        share: of the quantile, 0.95 for the 95th percentile.

    Returns:
        The two ranks; None where no value is low, or high, enough.

    Raises:
        MetricsError: the share is not between 0 and 1.
    """
    _require_share(share)
    counts = np.arange(n + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    log_ways = log_factorial[n] - log_factorial - log_factorial[::-1]
    probability = np.exp(log_ways + counts * np.log(share) + (n - counts) * np.log(1 - share))
    below = int((np.cumsum(probability) <= _ALPHA / 2).sum())
    above = int((np.cumsum(probability[::-1]) <= _ALPHA / 2).sum())
    return below or None, n + 1 - above if above else None


def quantile_interval(values: FloatArray, share: float, independent: int | None = None) -> QuantileInterval:
    """Return a quantile of the values that are finite, with its 95 % interval of order statistics.

    Where values depend on each other (repeats of one question), the ranks are those of as many values as
    there are independent clusters, spread over all values: right where a cluster says one thing, and too
    wide where it does not.

    Args:
        values: (n,) values, NaN where there is none.
        share: of the quantile, 0.95 for the 95th percentile.
        independent: clusters among the finite values; every value by itself when left out.

    Raises:
        MetricsError: the share is not between 0 and 1.
    """
    finite = np.sort(values[np.isfinite(values)])
    n = len(finite)
    clusters = n if independent is None else min(independent, n)
    lower, upper = quantile_ranks(clusters, share)
    if not n:
        return QuantileInterval(None, None, None, 0, 0)
    low = None if lower is None else float(finite[(lower - 1) * n // clusters])
    high = None if upper is None else float(finite[-(-upper * n // clusters) - 1])
    return QuantileInterval(float(np.quantile(finite, share)), low, high, n, clusters)


def _require_share(share: float) -> None:
    if not 0 < share < 1:
        raise MetricsError(f"share {share!r}; accepted: a number between 0 and 1, both excluded")


MEAN_WEIGHT = 0.7  # of the unseen value, for means
DIFFERENCE_WEIGHT = 0.4  # for paired differences
_LEAST_ROOT = 1e-4  # below this signed root the quantile is the mean
_SMALLEST, _LARGEST = np.log(1e-9), np.log(1e6)  # of the tilt
_SAME = 1e-12
_STEPS = 60


@dataclass(frozen=True)
class BoundedClusters:
    """The clusters of one bounded mean."""

    sums: FloatArray  # (c,) summed values of each cluster
    sizes: FloatArray  # (c,) number of values of each cluster
    bounds: tuple[float, float]  # least and greatest value; finite
    weighted: bool = False  # whether the sizes are weights, among which few may count most


def dirichlet_ends(
    columns: Sequence[BoundedClusters], weight: float, z: Sequence[float]
) -> list[tuple[float, float]]:
    """Return both ends of the mean of each column.

    Args:
        columns: the means, solved together.
        weight: of the value unseen at the near bound; MEAN_WEIGHT or DIFFERENCE_WEIGHT.
        z: normal quantile of the ends of each column: 1.96 for 95 % between both, 1.645 for 95 % beyond one.
    """
    if not columns:
        return []
    sides = [_rescaled(column, mirrored) for mirrored in (False, True) for column in columns]
    # Rounded, so that a mean has the same ends alone and among others.
    below, above = np.round(_lower_ends(sides, weight, np.tile(z, 2)), 9).reshape(2, -1)
    least, greatest = np.array([column.bounds for column in columns]).T
    reach = greatest - least
    return list(zip((least + reach * below).tolist(), (greatest - reach * above).tolist(), strict=True))


def _rescaled(column: BoundedClusters, mirrored: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums within 0 and 1 for each value, sizes around 1, and how often each pair of them occurs."""
    low, high = column.bounds
    moved = high * column.sizes - column.sums if mirrored else column.sums - low * column.sizes
    sums, sizes = moved / (high - low), column.sizes
    if sizes.max() == sizes.min():
        values, counts = np.unique(sums / sizes, return_counts=True)
        return values, np.ones(len(values)), counts.astype(np.float64)
    unit = (sizes**2).sum() / sizes.sum() if column.weighted else sizes.mean()  # of one effective cluster
    return sums / unit, sizes / unit, np.ones(len(sums))


def _lower_ends(
    rescaled: Sequence[tuple[FloatArray, FloatArray, FloatArray]], weight: float, z: FloatArray
) -> FloatArray:
    """Return the lower end of each column, on the scale from 0 to 1."""
    longest = max(len(sums) for sums, _, _ in rescaled)
    # First the unseen value at 0, then the clusters; padding has no weight.
    sums, sizes, weights = (np.zeros((len(rescaled), longest + 1)) for _ in range(3))
    sizes[:, 0], weights[:, 0] = 1.0, weight
    for at, (column, size, count) in enumerate(rescaled):
        sums[at, 1 : len(column) + 1], sizes[at, 1 : len(column) + 1] = column, size
        weights[at, 1 : len(column) + 1] = count
    ends = np.zeros(len(rescaled))
    varied = sums.max(axis=1) > _SAME
    equal = np.where(weights > 0, sizes == 1.0, True).all(axis=1)
    for chosen, solve in ((varied & equal, _of_values), (varied & ~equal, _of_clusters)):
        if chosen.any():
            ends[chosen] = solve(sums[chosen], sizes[chosen], weights[chosen], z[chosen])
    return ends


def _of_values(points: FloatArray, _sizes: FloatArray, weights: FloatArray, z: FloatArray) -> FloatArray:
    """Return the quantile where all clusters are of one size: the tilt c has a mean in closed form."""
    total = weights.sum(axis=1)

    def tilted(log_c: FloatArray) -> tuple[FloatArray, FloatArray]:
        c = np.exp(log_c)
        inverse = 1.0 / (points + c[:, None])
        mean_inverse = (weights * inverse).sum(axis=1) / total
        ratios = inverse / mean_inverse[:, None]
        return _signed_root(weights, np.log(ratios), ratios), 1.0 / mean_inverse - c

    start, stop = np.full(len(points), _SMALLEST), np.full(len(points), _LARGEST)
    root = _root(lambda log_c: tilted(log_c)[0] - z, start, stop)
    return np.where(tilted(start)[0] <= z, 0.0, tilted(root)[1])


def _of_clusters(sums: FloatArray, sizes: FloatArray, weights: FloatArray, z: FloatArray) -> FloatArray:
    """Return the quantile of a ratio of sums to sizes: for each mean the tilt is solved for in turn."""

    def roots(log_mean: FloatArray) -> FloatArray:
        residuals = sums - np.exp(log_mean)[:, None] * sizes
        most = -1.0 / residuals.min(axis=1)

        def balance(share: FloatArray) -> FloatArray:
            tilted = 1.0 + (share * most)[:, None] * residuals
            # Times 1 - share: without the pole at the largest tilt.
            slope: FloatArray = (weights * residuals / tilted).sum(axis=1)
            return (1.0 - share) * slope

        share = _root(balance, np.zeros(len(sums)), np.full(len(sums), 1.0 - 1e-12))
        ratios = 1.0 / (1.0 + (share * most)[:, None] * residuals)
        return _signed_root(weights, np.log(ratios), ratios)

    start = np.full(len(sums), _SMALLEST)
    stop = np.log((weights * sums).sum(axis=1) / (weights * sizes).sum(axis=1)) - 1e-9
    root = _root(lambda log_mean: roots(log_mean) - z, start, stop)
    return np.where(roots(start) <= z, 0.0, np.exp(root))


def _signed_root(weights: FloatArray, logs: FloatArray, ratios: FloatArray) -> FloatArray:
    """Return Lugannani and Rice's root for the tilted weights: the normal quantile of a mean."""
    total = weights.sum(axis=1)
    root = np.sqrt(np.maximum(-2.0 * (weights * logs).sum(axis=1), 0.0))
    spread = np.sqrt(np.maximum((weights * ratios**2).sum(axis=1) - total, 0.0))
    usable = (root >= _LEAST_ROOT) & (spread > 0)
    safe, scale = np.where(usable, root, 1.0), np.where(usable, spread, 1.0)
    return np.where(usable, safe + np.log(scale / safe) / safe, 0.0)


def _root(
    function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, tolerance: float = 1e-12
) -> FloatArray:
    """Return where each falling function crosses 0 between two ends, by Ridders' method (1979)."""
    at_low, at_high = function(low), function(high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        at_middle = function(middle)
        reach = np.sqrt(np.maximum(at_middle**2 - at_low * at_high, 1e-300))
        guess = np.clip(middle + (middle - low) * at_middle / reach, low, high)
        at_guess = function(guess)
        first, last = np.minimum(middle, guess), np.maximum(middle, guess)
        at_first = np.where(middle <= guess, at_middle, at_guess)
        at_last = np.where(middle <= guess, at_guess, at_middle)
        # The four points are in order: the bracket is where the sign changes.
        low, at_low, high, at_high = (
            np.where(at_last > 0, last, np.where(at_first > 0, first, low)),
            np.where(at_last > 0, at_last, np.where(at_first > 0, at_first, at_low)),
            np.where(at_first <= 0, first, np.where(at_last <= 0, last, high)),
            np.where(at_first <= 0, at_first, np.where(at_last <= 0, at_last, at_high)),
        )
        if np.all((high - low <= tolerance) | (np.minimum(np.abs(at_low), np.abs(at_high)) < tolerance)):
            break
    return np.where(np.abs(at_low) < np.abs(at_high), low, high)
