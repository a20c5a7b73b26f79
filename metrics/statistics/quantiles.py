"""Percentiles with intervals that assume nothing about the distribution."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError

_ALPHA = 0.05


@dataclass(frozen=True)
class QuantileInterval:
    """A percentile of measured values with its 95 % interval.

    Attributes:
        value: interpolated between the two nearest values; None without any.
        low: lower end, one of the values; None where there are too few.
        high: upper end.
        n: values.
        independent: values that count as independent; fewer where several belong to one cluster.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    independent: int


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
