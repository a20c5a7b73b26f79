"""The Pareto front of quality against cost: what no other version beats on both."""

from __future__ import annotations

import numpy as np

from metrics.schema.scores import BoolArray, FloatArray, MetricsError

__all__ = ["pareto_front"]


def pareto_front(quality: FloatArray, cost: FloatArray) -> BoolArray:
    """Say which of n versions no other one dominates.

    One version dominates another when it is at least as good and at most as costly, and better in one of the
    two. Versions without one of the values are never on the front; equal ones are all on it.

    Args:
        quality: (n,) higher is better, NaN where not measured.
        cost: (n,) lower is better, NaN where not measured.

    Raises:
        MetricsError: the two differ in length.
    """
    if len(quality) != len(cost):
        raise MetricsError(f"one quality and one cost a version: {len(quality)} and {len(cost)} given")
    known = np.isfinite(quality) & np.isfinite(cost)
    front = known.copy()
    for at in np.flatnonzero(known):
        no_worse = known & (quality >= quality[at]) & (cost <= cost[at])
        better = (quality > quality[at]) | (cost < cost[at])
        front[at] = not bool((no_worse & better).any())
    return front
