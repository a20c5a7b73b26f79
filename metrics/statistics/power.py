"""How many questions and labels an evaluation needs, what n show, what no failure in n still allows."""

from __future__ import annotations

from math import ceil, isfinite, nan, sqrt

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.distributions import normal_quantile

_ROUNDING = 1e-9
_MOST = 1e9  # square root of the most units that are named


def questions_for_difference(deviation: float, difference: float, power: float = 0.8) -> int:
    """Return how many questions show a mean difference in a share of repetitions (two-sided, 5 %).

    n = ((z(0.975) + z(power)) * deviation / difference)^2, rounded up: 283 for a deviation of 0.3 and a
    difference of 0.05. Two independent groups of n each have the deviation sqrt(2) times that of one value.
    Source: Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", chapter 2, by the normal
    approximation.

    Args:
        deviation: standard deviation of a question's difference between two runs.
        difference: that is to be shown; above 0.
        power: share of repetitions in which it is shown.

    Raises:
        MetricsError: a value that makes no sense.
    """
    if not (deviation >= 0 and difference > 0 and 0 < power < 1):
        raise MetricsError(
            f"deviation {deviation!r}, difference {difference!r}, power {power!r}; accepted: a deviation "
            "from 0 up, a difference above 0, a power between 0 and 1"
        )
    reach = normal_quantile(0.975) + normal_quantile(power)
    return max(2, ceil((reach * deviation / difference) ** 2 - _ROUNDING))


def labels_for_share(half_width: float) -> int:
    """Return how many random labels put the 95 % interval of a share within +- half_width, at worst.

    n = (z(0.975) / half_width)^2 * 0.25, rounded up: 97 for 0.10, 385 for 0.05.
    Source: Cochran 1977, "Sampling Techniques", 3rd ed., section 4.4, with the share at 0.5.

    Raises:
        MetricsError: the width is not between 0 and 0.5.
    """
    if not 0 < half_width <= 0.5:
        raise MetricsError(f"half width {half_width!r}; accepted: a number above 0, at most 0.5")
    return ceil((normal_quantile(0.975) / half_width) ** 2 * 0.25 - _ROUNDING)


def still_possible(trials: int) -> float:
    """Return the highest failure rate that n trials without a failure do not rule out, about 3 / n.

    1 - 0.05 ** (1 / n), the exact one-sided 95 % bound: a system that fails more often would have shown no
    failure with a probability below 5 %.

    Args:
        trials: independent trials, all of them passed.

    Returns:
        The bound; 1 for no trial.

    Raises:
        MetricsError: trials are negative.

    Source: Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?", JAMA 249(13).
    """
    if trials < 0:
        raise MetricsError(f"{trials} trials; accepted: 0 or more")
    return 1.0 if trials == 0 else float(1 - (1 - 0.95) ** (1 / trials))


def questions_for_change(change: float, differing: float, power: float = 0.8) -> int:
    """Return how many questions show a change of a pass rate, both runs on the same ones (two-sided, 5 %).

    n = (z(0.975) sqrt(d) + z(power) sqrt(d - c^2))^2 / c^2 for a change c, where d is the share of questions
    on which two runs differ. Source: Connor 1987, "Sample size for testing differences in proportions for
    the paired-sample design", Biometrics 43(1).

    Args:
        change: of the pass rate; above 0, at most `differing`.
        differing: share of questions on which two runs differ, at most 1.
        power: share of repetitions in which the change is shown.

    Raises:
        MetricsError: a value that makes no sense.
    """
    if not (0 < change <= differing <= 1 and 0 < power < 1):
        raise MetricsError(
            f"change {change!r}, differing {differing!r}, power {power!r}; accepted: a change above 0 and at "
            "most the share of questions that differ, which is at most 1, and a power between 0 and 1"
        )
    reach = normal_quantile(0.975) * sqrt(differing) + normal_quantile(power) * sqrt(differing - change**2)
    return max(2, ceil((reach / change) ** 2 - _ROUNDING))


def smallest_change(questions: int, differing: float, power: float = 0.8) -> float:
    """Return the smallest change of a pass rate that so many questions show; see `questions_for_change`.

    Returns:
        The change, to a ten-thousandth; NaN where the questions are too few even if all that differ do so
        in one direction, or where no two runs differ.
    """
    if not 0 < differing <= 1 or questions < questions_for_change(differing, differing, power):
        return nan
    low, high = 0.0, differing
    while high - low > 1e-5:
        middle = (low + high) / 2
        if questions_for_change(middle, differing, power) <= questions:
            high = middle
        else:
            low = middle
    return min(differing, ceil(high * 10_000) / 10_000)


def units_per_arm(variances: tuple[float, float], difference: float, power: float = 0.8) -> int:
    """Return how many units each of two arms needs to show a difference (two-sided, 5 %).

    n = (z(0.975) + z(power))^2 (v1 + v2) / d^2, rounded up, at most 1e18; a rate p has the variance
    p (1 - p).
    Source: Fleiss, Levin and Paik 2003, "Statistical Methods for Rates and Proportions", section 4.2, without
    the correction for continuity.

    Args:
        variances: of one unit of each arm.
        difference: that is to be shown, in either direction; not 0.
        power: share of repetitions in which it is shown.

    Raises:
        MetricsError: a value that makes no sense.
    """
    if not (min(variances) >= 0 and difference != 0 and isfinite(difference) and 0 < power < 1):
        raise MetricsError(
            f"variances {variances!r}, difference {difference!r}, power {power!r}; accepted: variances from "
            "0 up, a difference other than 0, a power between 0 and 1"
        )
    reach = normal_quantile(0.975) + normal_quantile(power)
    ratio = min(reach * sqrt(sum(variances)) / abs(difference), _MOST)
    return max(2, ceil(ratio**2 - _ROUNDING))


def smallest_difference(variances: tuple[float, float], units: tuple[int, int], power: float = 0.8) -> float:
    """Return the smallest difference that two arms of so many units show; see `units_per_arm`.

    Raises:
        MetricsError: an arm has no unit.
    """
    if min(units) < 1:
        raise MetricsError(f"units {units!r}; accepted: 1 or more in each arm")
    reach = normal_quantile(0.975) + normal_quantile(power)
    return reach * sqrt(variances[0] / units[0] + variances[1] / units[1])
