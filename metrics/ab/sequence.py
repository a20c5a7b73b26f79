"""A band around an estimate that holds at every look: look as often as you like, stop when you like."""

from __future__ import annotations

from math import ceil

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.distributions import normal_quantile

MOST_UNITS = 10**18


def always_valid_reach(variances: FloatArray, worth: float, alpha: float = 0.05) -> FloatArray:
    """Return half the width of the normal-mixture confidence sequence at each look.

    sqrt(V (V + t^2) / t^2 (ln((V + t^2) / V) + 2 ln(1 / alpha))), where V is the variance of the estimate at
    a look and t the effect worth having. Over all looks together the band leaves the truth out in at most a
    share alpha of the tests, if t was fixed before the start: it only decides where the band is narrowest.
    Sources: Robbins 1970, "Statistical methods related to the law of the iterated logarithm"; Johari, Pekelis
    and Walsh 2015, "Always valid inference"; for estimated variances Waudby-Smith et al. 2021.

    Args:
        variances: (looks,) squared standard errors of the estimate; NaN where there is none yet.
        worth: the effect worth having, in the unit of the estimate; above 0.
        alpha: share of tests in which the band may leave out the truth at any look.

    Returns:
        (looks,) half widths; infinite for a variance of NaN.

    Raises:
        MetricsError: the effect is not above 0, alpha not between 0 and 1, or a variance negative.
    """
    if not (0 < worth < np.inf and 0 < alpha < 1) or bool(np.any(variances < 0)):
        raise MetricsError(
            f"effect worth having {worth!r}, alpha {alpha!r}; accepted: an effect above 0, an alpha between "
            "0 and 1, and variances from 0 up"
        )
    mixed = min(max(worth, 1e-100), 1e100) ** 2  # of a square that is neither 0 nor infinite
    known = np.where(variances > 0, variances, np.nan)
    log = np.log1p(mixed / known) + 2 * np.log(1 / alpha)
    reach = np.sqrt(known * (known + mixed) / mixed * log)
    return np.where(np.isnan(variances), np.inf, np.where(variances == 0, 0.0, reach))


def units_for_band(variances: tuple[float, float], worth: float, power: float = 0.8) -> int:
    """Return how many units each of two arms needs for the band to leave out 0 where the effect is there.

    The fewest n with reach(V) + z(power) sqrt(V) <= effect, V = (v1 + v2) / n: the band is left by the last
    look in a share of at least `power` of the tests, in most of them before it. At most 1e18.

    Args:
        variances: of one unit of each arm.
        worth: the effect worth having, for which the band is narrowest; above 0.
        power: share of tests in which the band leaves out 0.

    Raises:
        MetricsError: a value that makes no sense.
    """
    if not (min(variances) >= 0 and 0 < worth < np.inf and 0 < power < 1):
        raise MetricsError(
            f"variances {variances!r}, effect {worth!r}, power {power!r}; accepted: variances from 0 up, an "
            "effect above 0, and a power between 0 and 1"
        )

    def shows(units: int) -> bool:
        variance = sum(variances) / units
        reach = float(always_valid_reach(np.array([variance]), worth)[0])
        return bool(reach + normal_quantile(power) * variance**0.5 <= worth)

    low, high = 1, 2
    while not shows(high) and high < MOST_UNITS:
        low, high = high, 2 * high
    while high - low > 1:
        middle = ceil((low + high) / 2)
        low, high = (low, middle) if shows(middle) else (middle, high)
    return max(2, min(high, MOST_UNITS))
