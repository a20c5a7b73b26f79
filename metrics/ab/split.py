"""Whether the units of a test were split as planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.repeated_measures import chi_square_tail

BROKEN_BELOW = 0.001


@dataclass(frozen=True)
class SampleRatio:
    """The units of each arm against the planned shares."""

    counts: tuple[int, ...]  # units of each arm
    shares: tuple[float, ...]  # planned share of each arm; they add up to 1
    p: float  # probability of counts at least as far from the plan

    @property
    def broken(self) -> bool:
        """Whether the split is not the planned one: no difference between the arms counts then."""
        return self.p < BROKEN_BELOW


def sample_ratio(counts: Sequence[int], shares: Sequence[float]) -> SampleRatio:
    """Test the units of each arm against the planned shares by Pearson's chi-square.

    sum (counts - expected)^2 / expected with arms - 1 degrees of freedom; below p = 0.001 it is broken.
    Source: Fabijan et al. 2019, "Diagnosing Sample Ratio Mismatch in Online Controlled Experiments", KDD.

    Args:
        counts: units of each of two or more arms.
        shares: planned share of each arm, in any unit (50 and 50, or 0.9 and 0.1); above 0.

    Raises:
        MetricsError: fewer than two arms, unequal lengths, no units, a negative count, or a share that is
            not above 0.
    """
    known = len(counts) == len(shares) > 1 and all(count >= 0 for count in counts) and sum(counts) > 0
    if not known or not all(np.isfinite(share) and share > 0 for share in shares):
        raise MetricsError(
            f"counts {list(counts)}, shares {list(shares)}; accepted: a count from 0 up and a share above 0 "
            "for each of two or more arms"
        )
    planned = np.asarray(shares, dtype=np.float64) / sum(shares)
    expected = planned * sum(counts)
    statistic = float(((np.asarray(counts) - expected) ** 2 / expected).sum())
    p = chi_square_tail(statistic, len(counts) - 1)
    return SampleRatio(tuple(counts), tuple(planned.tolist()), p)
