"""How far raters agree: Krippendorff's alpha and Spearman's rank correlation."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from metrics.values import FloatArray, IntArray, MetricsError

__all__ = ["Level", "krippendorff_alpha", "spearman"]

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: FloatArray, level: Level) -> float:
    """Krippendorff's alpha: 1 - observed / expected disagreement of any number of raters, with gaps.

    Krippendorff 2011, "Computing Krippendorff's alpha-reliability". The sums over his coincidence matrix are
    taken in closed form, without the matrix, so that continuous values cost no more than categories: his
    ordinal difference is the squared difference of average ranks, hence the interval one on these.

    Args:
        ratings: (units, annotators) values or codes, NaN where missing; units with one rating do not count.
        level: "nominal" (codes differ or not), "ordinal" (their order counts), "interval" (their distance).

    Returns:
        Alpha, at most 1; NaN with fewer than two pairable ratings, or where these do not vary.

    Raises:
        MetricsError: for an unknown level.
    """
    if level not in get_args(Level):
        raise MetricsError(f"unknown level {level!r}; known: {', '.join(get_args(Level))}")
    known = np.isfinite(ratings)
    paired = known.sum(axis=1) >= 2
    unit = np.nonzero(known[paired])[0].astype(np.int64)
    values = ratings[paired][known[paired]]
    if not len(values) or values.min() == values.max():
        return np.nan
    if level == "nominal":
        within, total = (_differing(_codes(values), groups) for groups in (unit, np.zeros_like(unit)))
    else:
        scale = _average_ranks(_codes(values)) if level == "ordinal" else values
        within, total = (_squared(scale, groups) for groups in (unit, np.zeros_like(unit)))
    observed = float((within / (np.bincount(unit) - 1)).sum())
    return 1.0 - (len(values) - 1) * observed / float(total[0])


def spearman(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rank correlation, tied values sharing their average rank (Spearman 1904).

    Args:
        a: (n,) values; pairs with a NaN on either side are left out.
        b: (n,) values.

    Returns:
        Correlation in [-1, 1]; NaN where either side is constant or empty.

    Raises:
        MetricsError: where the lengths differ.
    """
    _same_length(a, b)
    known = ~(np.isnan(a) | np.isnan(b))
    middle = (np.count_nonzero(known) + 1) / 2
    x, y = (_average_ranks(_codes(side[known])) - middle for side in (a, b))
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread else np.nan


def _same_length(a: NDArray[np.generic], b: NDArray[np.generic]) -> None:
    if len(a) != len(b):
        raise MetricsError(f"arrays of agreement differ in length: {len(a)} and {len(b)}")


def _codes(values: NDArray[np.generic]) -> IntArray:
    """Codes 0..k-1 of the values, in their order."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def _average_ranks(codes: IntArray) -> FloatArray:
    counts = np.bincount(codes)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes], dtype=np.float64)


def _differing(codes: IntArray, groups: IntArray) -> FloatArray:
    """Ordered pairs of differing codes within each group."""
    many = int(codes.max()) + 1
    cells, counts = np.unique(groups * many + codes, return_counts=True)
    same = np.bincount(cells // many, weights=counts.astype(np.float64) ** 2)
    return np.asarray(np.bincount(groups).astype(np.float64) ** 2 - same, dtype=np.float64)


def _squared(values: FloatArray, groups: IntArray) -> FloatArray:
    """Squared differences summed over the ordered pairs within each group."""
    sizes = np.bincount(groups)
    means = np.bincount(groups, weights=values) / sizes
    return np.asarray(
        2 * sizes * np.bincount(groups, weights=(values - means[groups]) ** 2), dtype=np.float64
    )
