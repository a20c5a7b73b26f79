"""Interval ends of bounded means by Dirichlet weights and a value unseen at the near bound: no resampling.

The lower end is the quantile of a mean whose clusters have Dirichlet(1, ..., 1) weights (the Bayesian
bootstrap), with one more value at the lower bound of weight w; the upper end mirrors it. Weight 1 is Gaffke's
bound, which is Clopper and Pearson's for values of 0 and 1. The weights here are the smallest that keep the
misses on either side at most at 4 % from ten clusters on (`benchmarks/interval_coverage.py`).

Sources: Rubin 1981, "The Bayesian Bootstrap"; Gaffke 2005; Lugannani and Rice 1980, whose saddlepoint
approximation gives the quantile; Owen 1988 for means of clusters of unequal size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray

MEAN_WEIGHT = 0.7  # of the unseen value, for means
DIFFERENCE_WEIGHT = 0.4  # for paired differences
_LEAST_ROOT = 1e-4  # below this signed root the quantile is the mean
_SMALLEST, _LARGEST = np.log(1e-9), np.log(1e6)  # of the tilt
_SAME = 1e-12
_STEPS = 60


@dataclass(frozen=True)
class BoundedClusters:
    """The clusters of one bounded mean."""

    sums: FloatArray  # (c,) summed values of each cluster
    sizes: FloatArray  # (c,) number of values of each cluster
    bounds: tuple[float, float]  # least and greatest value; finite


def dirichlet_ends(
    columns: Sequence[BoundedClusters], weight: float, z: Sequence[float]
) -> list[tuple[float, float]]:
    """Return both ends of the mean of each column.

    Args:
        columns: the means, solved together.
        weight: of the value unseen at the near bound; MEAN_WEIGHT or DIFFERENCE_WEIGHT.
        z: normal quantile of the ends of each column: 1.96 for 95 % between both, 1.645 for 95 % beyond one.
    """
    if not columns:
        return []
    sides = [_rescaled(column, mirrored) for mirrored in (False, True) for column in columns]
    # Rounded, so that a mean has the same ends alone and among others.
    below, above = np.round(_lower_ends(sides, weight, np.tile(z, 2)), 9).reshape(2, -1)
    least, greatest = np.array([column.bounds for column in columns]).T
    reach = greatest - least
    return list(zip((least + reach * below).tolist(), (greatest - reach * above).tolist(), strict=True))


def _rescaled(column: BoundedClusters, mirrored: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums within 0 and 1 for each value, sizes around 1, and how often each pair of them occurs."""
    low, high = column.bounds
    moved = high * column.sizes - column.sums if mirrored else column.sums - low * column.sizes
    sums, sizes = moved / (high - low), column.sizes
    if sizes.max() == sizes.min():
        values, counts = np.unique(sums / sizes, return_counts=True)
        return values, np.ones(len(values)), counts.astype(np.float64)
    mean_size = sizes.mean()
    return sums / mean_size, sizes / mean_size, np.ones(len(sums))


def _lower_ends(
    rescaled: Sequence[tuple[FloatArray, FloatArray, FloatArray]], weight: float, z: FloatArray
) -> FloatArray:
    """Return the lower end of each column, on the scale from 0 to 1."""
    longest = max(len(sums) for sums, _, _ in rescaled)
    # First the unseen value at 0, then the clusters; padding has no weight.
    sums, sizes, weights = (np.zeros((len(rescaled), longest + 1)) for _ in range(3))
    sizes[:, 0], weights[:, 0] = 1.0, weight
    for at, (column, size, count) in enumerate(rescaled):
        sums[at, 1 : len(column) + 1], sizes[at, 1 : len(column) + 1] = column, size
        weights[at, 1 : len(column) + 1] = count
    ends = np.zeros(len(rescaled))
    varied = sums.max(axis=1) > _SAME
    equal = np.where(weights > 0, sizes == 1.0, True).all(axis=1)
    for chosen, solve in ((varied & equal, _of_values), (varied & ~equal, _of_clusters)):
        if chosen.any():
            ends[chosen] = solve(sums[chosen], sizes[chosen], weights[chosen], z[chosen])
    return ends


def _of_values(points: FloatArray, _sizes: FloatArray, weights: FloatArray, z: FloatArray) -> FloatArray:
    """Return the quantile where all clusters are of one size: the tilt c has a mean in closed form."""
    total = weights.sum(axis=1)

    def tilted(log_c: FloatArray) -> tuple[FloatArray, FloatArray]:
        c = np.exp(log_c)
        inverse = 1.0 / (points + c[:, None])
        mean_inverse = (weights * inverse).sum(axis=1) / total
        ratios = inverse / mean_inverse[:, None]
        return _signed_root(weights, np.log(ratios), ratios), 1.0 / mean_inverse - c

    start, stop = np.full(len(points), _SMALLEST), np.full(len(points), _LARGEST)
    root = _root(lambda log_c: tilted(log_c)[0] - z, start, stop)
    return np.where(tilted(start)[0] <= z, 0.0, tilted(root)[1])


def _of_clusters(sums: FloatArray, sizes: FloatArray, weights: FloatArray, z: FloatArray) -> FloatArray:
    """Return the quantile of a ratio of sums to sizes: for each mean the tilt is solved for in turn."""

    def roots(log_mean: FloatArray) -> FloatArray:
        residuals = sums - np.exp(log_mean)[:, None] * sizes
        most = -1.0 / residuals.min(axis=1)

        def balance(share: FloatArray) -> FloatArray:
            tilted = 1.0 + (share * most)[:, None] * residuals
            # Times 1 - share: without the pole at the largest tilt.
            slope: FloatArray = (weights * residuals / tilted).sum(axis=1)
            return (1.0 - share) * slope

        share = _root(balance, np.zeros(len(sums)), np.full(len(sums), 1.0 - 1e-12))
        ratios = 1.0 / (1.0 + (share * most)[:, None] * residuals)
        return _signed_root(weights, np.log(ratios), ratios)

    start = np.full(len(sums), _SMALLEST)
    stop = np.log((weights * sums).sum(axis=1) / (weights * sizes).sum(axis=1)) - 1e-9
    root = _root(lambda log_mean: roots(log_mean) - z, start, stop)
    return np.where(roots(start) <= z, 0.0, np.exp(root))


def _signed_root(weights: FloatArray, logs: FloatArray, ratios: FloatArray) -> FloatArray:
    """Return Lugannani and Rice's root for the tilted weights: the normal quantile of a mean."""
    total = weights.sum(axis=1)
    root = np.sqrt(np.maximum(-2.0 * (weights * logs).sum(axis=1), 0.0))
    spread = np.sqrt(np.maximum((weights * ratios**2).sum(axis=1) - total, 0.0))
    usable = (root >= _LEAST_ROOT) & (spread > 0)
    safe, scale = np.where(usable, root, 1.0), np.where(usable, spread, 1.0)
    return np.where(usable, safe + np.log(scale / safe) / safe, 0.0)


def _root(
    function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, tolerance: float = 1e-12
) -> FloatArray:
    """Return where each falling function crosses 0 between two ends, by Ridders' method (1979)."""
    at_low, at_high = function(low), function(high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        at_middle = function(middle)
        reach = np.sqrt(np.maximum(at_middle**2 - at_low * at_high, 1e-300))
        guess = np.clip(middle + (middle - low) * at_middle / reach, low, high)
        at_guess = function(guess)
        first, last = np.minimum(middle, guess), np.maximum(middle, guess)
        at_first = np.where(middle <= guess, at_middle, at_guess)
        at_last = np.where(middle <= guess, at_guess, at_middle)
        # The four points are in order: the bracket is where the sign changes.
        low, at_low, high, at_high = (
            np.where(at_last > 0, last, np.where(at_first > 0, first, low)),
            np.where(at_last > 0, at_last, np.where(at_first > 0, at_first, at_low)),
            np.where(at_first <= 0, first, np.where(at_last <= 0, last, high)),
            np.where(at_first <= 0, at_first, np.where(at_last <= 0, at_last, at_high)),
        )
        if np.all((high - low <= tolerance) | (np.minimum(np.abs(at_low), np.abs(at_high)) < tolerance)):
            break
    return np.where(np.abs(at_low) < np.abs(at_high), low, high)
