"""Drift of a series: an exponentially weighted moving average with control limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, MetricsError


@dataclass(frozen=True)
class Drift:
    """A series against the limits that its first points set; NaN limits where these do not vary."""

    centre: float  # mean of the baseline
    spread: float  # sample standard deviation of the baseline
    average: FloatArray  # (n,) moving average
    low: FloatArray  # (n,) lower limit
    high: FloatArray  # (n,) upper limit

    @property
    def beyond(self) -> BoolArray:
        """(n,) True where the moving average is outside its limits."""
        return (self.average < self.low) | (self.average > self.high)


def ewma(series: FloatArray, baseline: int, lam: float = 0.2, width: float = 3.0) -> Drift:
    """Return the moving average z_i = lam x_i + (1 - lam) z_(i-1), from z_0 = mu, with its limits.

    Limits: mu +- width s sqrt(lam (1 - (1 - lam)^(2 i)) / (2 - lam)), with mu and s of the first points.
    A short baseline, or one of a time unlike the rest, raises false alarms: s itself is then an estimate.
    Source: Roberts 1959, "Control Chart Tests Based on Geometric Moving Averages", Technometrics 1(3).

    Args:
        series: (n,) values in their order; NaN where there is none: the average stays as it was.
        baseline: how many of the first values that are not NaN set mu and s; at least 2.
        lam: weight of the newest value, above 0 and at most 1.
        width: limits in standard deviations of the average.

    Raises:
        MetricsError: fewer values than the baseline takes, or an argument out of its range.
    """
    known = np.isfinite(series)
    if not (0 < lam <= 1 and 0 < width < np.inf and 2 <= baseline <= int(known.sum())):
        raise MetricsError(
            f"baseline {baseline}, lam {lam:g}, width {width:g} over {int(known.sum())} values; accepted: a "
            "baseline from 2 up to the number of values, lam above 0 and at most 1, a width above 0"
        )
    first = series[known][:baseline]
    centre, spread = float(first.mean()), float(first.std(ddof=1))
    average = np.empty(len(series))
    last = centre
    for at, value in enumerate(series):
        last = lam * float(value) + (1 - lam) * last if known[at] else last
        average[at] = last
    steps = np.cumsum(known)
    reach = width * spread * np.sqrt(lam * (1 - (1 - lam) ** (2 * steps)) / (2 - lam))
    reach = reach if spread > 1e-12 * max(abs(centre), 1e-300) else np.full(len(series), np.nan)
    return Drift(centre, spread, average, centre - reach, centre + reach)
