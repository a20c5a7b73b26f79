"""The difference of two means of different calls, from their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ragtriage.metrics.statistics.intervals import Interval, reaches


@dataclass(frozen=True)
class Difference:
    """What changed between two times, with its 95 % interval."""

    value: float  # after less before
    low: float
    high: float

    @property
    def is_change(self) -> bool:
        """Whether it is beyond chance."""
        return self.low > 0 or self.high < 0


def difference_between(before: Interval | None, after: Interval) -> Difference | None:
    """Return the difference of two independent means; None where one of them has no interval.

    Their intervals are combined as `reaches` does.
    """
    if before is None or not all(
        isfinite(value) for each in (before, after) for value in (each.mean, each.low, each.high)
    ):
        return None
    value = after.mean - before.mean
    below, above = reaches(before, after)
    return Difference(value, value - below, value + above)
