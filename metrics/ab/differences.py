"""The difference between two arms: of rates, of means, and of ratios whose values come several a user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import erfc, sqrt
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.distributions import (
    normal_quantile,
    regularised_beta,
    t_quantile,
    welch_freedom,
)
from ragtriage.metrics.statistics.intervals import wilson

Z = normal_quantile(0.975)
FARTHEST = 1e100  # standard errors; the square of more is no number
FEW_EVENTS = 5  # below, a rate's own variance says too little about the next values
Scale = Literal["share", "score", "number"]  # 0 or 1; a balance with two ends, such as an NPS; any number


@dataclass(frozen=True)
class ArmTotals:
    """The values of one metric in one arm, summed over each independent unit: a user, or else a row."""

    sums: FloatArray  # (units,) sum of the values of each unit
    counts: FloatArray  # (units,) how many values each unit has; at least 1

    @property
    def units(self) -> int:
        """How many independent units have a value."""
        return len(self.sums)

    @property
    def values(self) -> int:
        """How many values there are."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean over all values; NaN without any."""
        return float(self.sums.sum() / self.counts.sum()) if self.units else float("nan")

    @property
    def plain(self) -> bool:
        """Whether each unit has one value."""
        return bool((self.counts == 1).all())


@dataclass(frozen=True)
class Difference:
    """Arm minus base, with what it rests on. Shares are from 0 to 1; other values in their own unit."""

    base: float  # mean of the base
    arm: float  # mean of the other arm
    difference: float  # arm - base
    error: float  # standard error of the difference
    low: float  # lower end of its 95 % interval, for one single look
    high: float  # upper end
    p: float  # two-sided
    base_variance: float  # of one unit of the base: n units have a mean with this variance / n
    arm_variance: float  # of one unit of the arm
    base_units: int  # users, or rows without users
    arm_units: int
    method: str  # how the interval was obtained


def arm_totals(values: FloatArray, units: np.ndarray) -> ArmTotals:
    """Sum the values of each unit; values that are not measured (NaN) and units without any are left out.

    Args:
        values: (n,) values.
        units: (n,) codes of the unit of each value, from 0 up.

    Raises:
        MetricsError: the two differ in length.
    """
    if len(values) != len(units):
        raise MetricsError(f"{len(values)} values and {len(units)} units; accepted: a unit for each value")
    measured = np.isfinite(values)
    codes = np.unique(units[measured], return_inverse=True)[1]
    sums = np.bincount(codes, weights=values[measured]).astype(np.float64)
    return ArmTotals(sums, np.bincount(codes).astype(np.float64))


@dataclass(frozen=True)
class ArmLevel:
    """The mean of one arm with its 95 % interval."""

    mean: float  # NaN without units
    low: float
    high: float
    units: int


def arm_level(totals: ArmTotals, scale: Scale) -> ArmLevel:
    """Return the mean of an arm with its 95 % interval, by the same errors as the difference.

    Wilson's interval for a share with one value a unit, the normal one for a score with one, else that of the
    delta method with n - 1 degrees of freedom.
    """
    mean, units = totals.mean, totals.units
    if units < 2:
        return ArmLevel(mean, float("nan"), float("nan"), units)
    if scale == "share" and totals.plain:
        return ArmLevel(mean, *wilson(mean, units), units)
    spread = delta_residuals(totals)
    if scale == "score" and totals.plain:
        reach = Z * float(spread.std()) / sqrt(units)
    else:
        reach = t_quantile(0.975, units - 1) * float(spread.std(ddof=1)) / sqrt(units)
    return ArmLevel(mean, mean - reach, mean + reach, units)


def delta_residuals(totals: ArmTotals) -> FloatArray:
    """Return what each unit adds to the error of a ratio of sums, (units,): n (x - r y) / sum y.

    Their mean is 0, and their variance over n units, divided by n, is that of the ratio r = sum x / sum y:
    the delta method, SE = sqrt(n / (n - 1) sum e^2) / sum y with e = x - r y.
    Source: Deng, Knoblich and Lu 2018, "Applying the Delta Method in Metric Analytics", KDD.
    """
    residuals = totals.sums - totals.mean * totals.counts
    scaled: FloatArray = residuals * (totals.units / totals.counts.sum())
    return scaled


def newcombe(base: int, base_n: int, arm: int, arm_n: int) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two independent rates, arm - base.

    Each rate has its Wilson interval; the ends are combined by squares, which stays within -1 and 1 and
    works for rates of 0 and 1. Source: Newcombe 1998, Statistics in Medicine 17, method 10.

    Raises:
        MetricsError: no trials, or more successes than trials.
    """
    if not (0 <= base <= base_n and 0 <= arm <= arm_n and base_n and arm_n):
        raise MetricsError(
            f"{base} of {base_n} and {arm} of {arm_n}; accepted: successes of 1 or more trials"
        )
    first, second = base / base_n, arm / arm_n
    (low_1, high_1), (low_2, high_2) = wilson(first, base_n), wilson(second, arm_n)
    difference = second - first
    below = sqrt((second - low_2) ** 2 + (high_1 - first) ** 2)
    above = sqrt((high_2 - second) ** 2 + (first - low_1) ** 2)
    return difference - below, difference + above


def difference(base: ArmTotals, arm: ArmTotals, scale: Scale) -> Difference | None:
    """Return the difference between two arms with its 95 % interval; None with fewer than two units in one.

    - shares of units with one value each: Newcombe's interval, the pooled z test;
    - a score from -100 to 100 with one value a unit, such as an NPS: the normal interval of
      100 sqrt((p + d - (p - d)^2) / n) for each arm;
    - everything else: the delta method by unit with Welch's degrees of freedom, which for one value a unit is
      Welch's t. Source: Welch 1947, Biometrika 34.

    Args:
        base: totals of the base.
        arm: totals of the other arm.
        scale: what the values are; of a share 0 or 1.
    """
    if min(base.units, arm.units) < 2:
        return None
    shared = scale == "share" and base.plain and arm.plain
    scored = scale == "score" and base.plain and arm.plain
    variances = [
        float(np.mean(delta_residuals(side) ** 2))
        * (1 if shared or scored else side.units / (side.units - 1))
        for side in (base, arm)
    ]
    parts = [variance / side.units for variance, side in zip(variances, (base, arm), strict=True)]
    change, error = arm.mean - base.mean, sqrt(sum(parts))
    if shared:
        counts = [round(side.sums.sum()) for side in (base, arm)]
        low, high = newcombe(counts[0], base.units, counts[1], arm.units)
        p, method = _pooled_p(counts, (base.units, arm.units)), "Newcombe"
    elif scored:
        low, high = change - Z * error, change + Z * error
        p, method = _normal_p(change, error), "normal"
    else:
        freedom = welch_freedom(parts, (base.units, arm.units))
        reach = t_quantile(0.975, freedom) * error if error else 0.0
        low, high, p = change - reach, change + reach, _t_p(change, error, freedom)
        method = "Welch" if base.plain and arm.plain else "delta method by user"
    return Difference(
        base.mean,
        arm.mean,
        change,
        error,
        low,
        high,
        p,
        variances[0],
        variances[1],
        base.units,
        arm.units,
        method,
    )


def variance_for_band(result: Difference, base: ArmTotals, arm: ArmTotals, scale: Scale) -> float:
    """Return the variance of a difference for a band; of a rate with few events by (k + 1) / (n + 2).

    Ten users without a click have a variance of 0, and a band of no width would leave the truth out.
    """
    if scale != "share":
        return result.error**2
    total = 0.0
    for side, variance in ((base, result.base_variance), (arm, result.arm_variance)):
        events = side.mean * side.units
        if min(events, side.units - events) < FEW_EVENTS:
            rate = (events + 1) / (side.units + 2)
            variance = max(variance, rate * (1 - rate))
        total += variance / side.units
    return total


@dataclass(frozen=True)
class Adjusted:
    """A difference adjusted for what the units were like before the test."""

    result: Difference  # the adjusted difference
    saving: float  # share of the variance that the adjustment takes away; below 0 where it adds
    theta: float  # change of the metric for each unit of the covariate


def cuped(
    raw: Difference,
    base: tuple[ArmTotals, FloatArray],
    arm: tuple[ArmTotals, FloatArray],
) -> Adjusted | None:
    """Adjust a difference for a covariate from before the test (CUPED); None where it does not vary.

    y - theta (x - mean x) with theta = cov(y, x) / var(x) over the units of both arms, each about its own
    mean; y are the contributions of the delta method. The covariate must not be touched by the test.
    Source: Deng, Xu, Kohavi and Walker 2013, "Improving the Sensitivity of Online Controlled Experiments by
    Utilizing Pre-Experiment Data", WSDM.

    Args:
        raw: the difference without it.
        base: totals of the base, and (units,) covariate of its units.
        arm: the same of the other arm.

    Raises:
        MetricsError: an arm has not one covariate for each unit.
    """
    sides = (base, arm)
    for totals, covariate in sides:
        if len(covariate) != totals.units:
            raise MetricsError(
                f"{len(covariate)} covariates for {totals.units} units; accepted: one for each unit"
            )
    centred = [covariate - covariate.mean() for _, covariate in sides]
    residuals = [delta_residuals(totals) for totals, _ in sides]
    spread = sum(float(x @ x) for x in centred)
    if spread <= 0:
        return None
    theta = sum(float(x @ y) for x, y in zip(centred, residuals, strict=True)) / spread
    change = raw.difference - theta * float(arm[1].mean() - base[1].mean())
    variances = [
        float(np.sum((y - theta * x) ** 2)) / (len(y) - 1) for x, y in zip(centred, residuals, strict=True)
    ]
    parts = [variance / totals.units for variance, (totals, _) in zip(variances, sides, strict=True)]
    error = sqrt(sum(parts))
    freedom = welch_freedom(parts, (raw.base_units, raw.arm_units))
    reach = t_quantile(0.975, freedom) * error if error else 0.0
    result = replace(
        raw,
        difference=change,
        error=error,
        low=change - reach,
        high=change + reach,
        p=_t_p(change, error, freedom),
        base_variance=variances[0],
        arm_variance=variances[1],
        method=f"{raw.method}, CUPED",
    )
    return Adjusted(result, 1 - error**2 / raw.error**2 if raw.error else 0.0, theta)


def _pooled_p(successes: list[int], trials: tuple[int, int]) -> float:
    """Return the two-sided p of equal rates by the pooled z test."""
    rate = sum(successes) / sum(trials)
    error = sqrt(rate * (1 - rate) * (1 / trials[0] + 1 / trials[1]))
    return _normal_p(successes[1] / trials[1] - successes[0] / trials[0], error)


def _normal_p(change: float, error: float) -> float:
    if not error:
        return 1.0 if change == 0 else 0.0
    return erfc(abs(change) / error / sqrt(2))


def _t_p(change: float, error: float, freedom: float) -> float:
    if not error:
        return 1.0 if change == 0 else 0.0
    size = min(abs(change / error), FARTHEST)
    return regularised_beta(freedom / 2, 0.5, freedom / (freedom + size**2))
