"""What counts as a regression: a drop that is larger than a limit and also real."""

from __future__ import annotations

from typing import Literal

from metrics.comparison import SIGNIFICANCE, PairedDifference, verdict

__all__ = ["MOST_DROP", "RegressionVerdict", "drop_of", "is_regression", "regression_verdict"]

RegressionVerdict = Literal["regression", "worse", "better", "cannot tell", "unchanged"]
MOST_DROP = 0.05  # on a scale from 0 to 1; more than that is a regression where it is also real
_ROUNDING = 1e-9


def drop_of(difference: PairedDifference, higher_is_better: bool | None) -> float:
    """Give by how much the mean got worse, in the metric's own direction; negative where it got better.

    NaN without pairs, and for a metric that has no direction.
    """
    if higher_is_better is None or not difference.n_pairs:
        return float("nan")
    return -difference.difference if higher_is_better else difference.difference


def is_regression(
    difference: PairedDifference, adjusted_p: float, higher_is_better: bool | None, most: float = MOST_DROP
) -> bool:
    """Whether a mean dropped by more than is let pass, and beyond what chance explains.

    Args:
        difference: other minus baseline, paired on question.
        adjusted_p: p of its test after the correction over the family that is looked at.
        higher_is_better: direction of the metric; without one nothing is a regression.
        most: drop that is let pass, on the metric's own scale.
    """
    return bool(drop_of(difference, higher_is_better) > most + _ROUNDING and adjusted_p < SIGNIFICANCE)


def regression_verdict(
    difference: PairedDifference,
    adjusted_p: float,
    higher_is_better: bool | None,
    most: float | None = MOST_DROP,
) -> RegressionVerdict:
    """Judge a paired difference to the baseline: one word.

    A real drop that is let pass is "worse". What chance explains is "cannot tell", however large it is;
    "unchanged" is said only where no question changed.

    Args:
        difference: other minus baseline, paired on question.
        adjusted_p: p of its test after the correction over the family that is looked at.
        higher_is_better: direction of the metric; without one nothing is better or worse.
        most: drop that is let pass, on the metric's own scale; None where no drop is called a regression.
    """
    if most is not None and is_regression(difference, adjusted_p, higher_is_better, most):
        return "regression"
    return verdict(difference, adjusted_p, higher_is_better)
