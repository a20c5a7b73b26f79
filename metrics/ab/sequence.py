"""A band around an estimate that holds at every look: look as often as you like, stop when you like."""

from __future__ import annotations

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError


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
