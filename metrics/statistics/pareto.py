"""The Pareto front of quality and cost: the versions that no other beats on both."""

import numpy as np

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, MetricsError


def pareto_front(quality: FloatArray, cost: FloatArray) -> BoolArray:
    """Return which of n versions no other one dominates.

    One version dominates another when it is at least as good and at most as costly, and better in one of the
    two. Versions without one of the values are never on the front; equal ones are all on it.

    Args:
        quality: (n,) higher is better, NaN where not measured.
        cost: (n,) lower is better, NaN where not measured.

    Raises:
        MetricsError: the two differ in length.
    """
    if len(quality) != len(cost):
        raise MetricsError(
            f"pareto_front needs one quality and one cost per version, not {len(quality)} and {len(cost)}"
        )
    finite = np.isfinite(quality) & np.isfinite(cost)
    front = finite.copy()
    for at in np.flatnonzero(finite):
        no_worse = finite & (quality >= quality[at]) & (cost <= cost[at])
        better = (quality > quality[at]) | (cost < cost[at])
        front[at] = not bool((no_worse & better).any())
    return front
