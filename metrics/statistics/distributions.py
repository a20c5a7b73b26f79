"""Quantiles for the intervals and tests, without SciPy: regularised beta, beta, Student's t, normal."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

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
