"""A paired difference held against a margin: better, worse, no worse than the margin, equal within it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import Literal

from ragtriage.metrics.statistics.paired import MARGIN, SIGNIFICANCE, PairedDifference, drop_of

Outcome = Literal["better", "worse", "no worse", "equal", "cannot tell"]
_ROUNDING = 1e-9
_MOST_TIMES = 100  # the questions there are: a larger sample is no advice


@dataclass(frozen=True)
class MarginTest:
    """What a paired difference says about a margin.

    Attributes:
        outcome: "worse" where the loss is at least the margin and a one-sided exact test says worse; "better"
            where the two-sided test says so; "equal" and "no worse" where the one-sided 95 % bounds on both
            sides, or on the side of a loss, are inside the margin; else "cannot tell".
        drop: by how much the mean got worse; negative where it got better.
        largest_loss: one-sided 95 % bound: the loss is smaller; NaN where there is none.
        needed: questions that would settle it, were they like these; None where it is settled, or no
            practical number would.
    """

    outcome: Outcome
    drop: float
    largest_loss: float
    needed: int | None


def margin_test(difference: PairedDifference, higher_is_better: bool, margin: float = MARGIN) -> MarginTest:
    """Hold a difference against the largest loss that is tolerated, on the metric's own scale.

    Source: Blackwelder 1982, "Proving the null hypothesis in clinical trials" (non-inferiority); Schuirmann
    1987 (two one-sided tests of equivalence).
    """
    drop = drop_of(difference, higher_is_better)
    loss, gain = (
        (-difference.low_bound, difference.high_bound)
        if higher_is_better
        else (difference.high_bound, -difference.low_bound)
    )
    p_worse = difference.p_fall if higher_is_better else difference.p_rise
    outcome: Outcome = "cannot tell"
    if drop >= margin - _ROUNDING and p_worse < SIGNIFICANCE:
        outcome = "worse"
    elif drop < 0 and difference.p < SIGNIFICANCE:
        outcome = "better"
    elif loss <= margin + _ROUNDING:
        outcome = "equal" if gain <= margin + _ROUNDING else "no worse"
    needed = _needed(difference.n_pairs, drop, loss, margin) if outcome == "cannot tell" else None
    return MarginTest(outcome, drop, loss, needed)


def _needed(n: int, drop: float, loss: float, margin: float) -> int | None:
    """Return how many questions bring the bound inside the margin or, beyond it, the drop clear of 0."""
    distance = drop if drop >= margin else margin - drop
    if not isfinite(loss) or distance <= _ROUNDING:
        return None
    needed = ceil(n * ((loss - drop) / distance) ** 2)
    return max(needed, n + 1) if needed <= _MOST_TIMES * n else None
