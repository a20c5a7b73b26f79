"""A paired difference against a margin: better, worse, no worse than the margin, equal within it, or open."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, nan
from typing import Literal

from ragtriage.metrics.statistics.max_t import FamilyTest
from ragtriage.metrics.statistics.paired import MARGIN, SIGNIFICANCE, PairedDifference, drop_of

Outcome = Literal["better", "worse", "no worse", "equal", "cannot tell", "no direction", "estimated"]
_ROUNDING = 1e-9
_MOST_TIMES = 100  # the questions there are: a larger sample is not advice


@dataclass(frozen=True)
class MarginTest:
    """The verdict of a paired difference on a margin."""

    # "worse" where the loss is at least the margin and a one-sided exact test says worse; "better"
    # where the two-sided test says so; "equal" and "no worse" where the one-sided 95 % bounds on both
    # sides, or on the side of a loss, are inside the margin; else "cannot tell". "no direction" where
    # more of the metric is neither better nor worse; "estimated" is said of values estimated from words
    outcome: Outcome
    drop: float  # by how much the mean got worse; negative where it got better
    # one-sided 95 % bound: the loss is smaller; NaN where there is none. In a family the end of its
    # interval
    largest_loss: float
    # questions that would settle it, were they like these; None where it is settled, or no practical
    # number would
    needed: int | None
    # the loss that is tolerated, on the metric's own scale; None where every loss counts
    margin: float | None = MARGIN


def margin_test(
    difference: PairedDifference,
    higher_is_better: bool | None,
    margin: float | None = MARGIN,
    family: FamilyTest | None = None,
) -> MarginTest:
    """Hold a difference against the largest loss that is tolerated, on the metric's own scale.

    Args:
        difference: other minus base.
        higher_is_better: direction of the metric; None where it has none.
        margin: None for a scale on which no loss is tolerated: any loss beyond chance is "worse", and "equal"
            is where no question changed.
        family: the difference after the correction over its family: its p and interval decide then.

    Source: Blackwelder 1982, "Proving the null hypothesis in clinical trials" (non-inferiority); Schuirmann
    1987 (two one-sided tests of equivalence).
    """
    if higher_is_better is None:
        return MarginTest("no direction", nan, nan, None, margin)
    drop = drop_of(difference, higher_is_better)
    low, high, p, p_worse = (
        (difference.low_bound, difference.high_bound, difference.p, difference.p_fall)
        if family is None
        else (family.low, family.high, family.p, family.p)
    )
    loss, gain = (-low, high) if higher_is_better else (high, -low)
    if family is None and not higher_is_better:
        p_worse = difference.p_rise
    outcome: Outcome = "cannot tell"
    # estimate and test decide on a loss, the bound on its absence: a loss beyond the margin that is no chance
    # is one however wide the interval
    if drop > 0 and drop >= (margin or 0.0) - _ROUNDING and p_worse < SIGNIFICANCE:
        outcome = "worse"
    elif drop < 0 and p < SIGNIFICANCE:
        outcome = "better"
    elif margin is None:
        outcome = "equal" if 0 < difference.n_pairs == difference.same else "cannot tell"
    elif loss <= margin + _ROUNDING:
        outcome = "equal" if gain <= margin + _ROUNDING else "no worse"
    is_open = outcome == "cannot tell" and margin is not None
    needed = _needed(difference.n_pairs, drop, loss, margin or 0.0) if is_open else None
    return MarginTest(outcome, drop, loss, needed, margin)


def _needed(n: int, drop: float, loss: float, margin: float) -> int | None:
    """Return how many questions bring the bound inside the margin or, beyond it, the drop clear of 0."""
    distance = drop if drop >= margin else margin - drop
    if not isfinite(loss) or distance <= _ROUNDING:
        return None
    # from the drop to its bound it is a multiple of the standard error, which shrinks with the root of n
    needed = ceil(n * ((loss - drop) / distance) ** 2)
    return max(needed, n + 1) if needed <= _MOST_TIMES * n else None
