"""Quantiles of distributions, without SciPy, and percentiles with intervals that assume no distribution."""

from __future__ import annotations

import math
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
