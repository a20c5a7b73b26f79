"""Whether items stand in the order that a key declares: Kendall's tau-b, and the first inversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError


@dataclass(frozen=True)
class Ordering:
    """The order of returned items, held against a key."""

    n: int  # items that have a key
    tau: float  # Kendall's tau-b of place and key, 1 in order, -1 reversed; NaN below two different keys
    # 1-based place of the first item that should stand before one above it; None in order
    first_inversion: int | None

    @property
    def in_order(self) -> bool:
        """Whether no item should stand before one above it; ties may stand in any order."""
        return self.first_inversion is None


def ordering_of(keys: Sequence[float], descending: bool = False) -> Ordering:
    """Return how far items stand in the order of their keys.

    Args:
        keys: (n,) finite key of each item, in the order in which the items were returned.
        descending: whether the largest key comes first.
    """
    values = np.asarray(keys, dtype=np.float64) * (-1.0 if descending else 1.0)
    places = np.arange(len(values), dtype=np.float64)
    before = np.maximum.accumulate(values)
    inverted = np.flatnonzero(values < before)
    first = int(inverted[0]) + 1 if len(inverted) else None
    return Ordering(len(values), kendall_tau_b(places, values), first)


def kendall_tau_b(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's tau-b, the correlation of two rankings with ties; NaN where one is constant.

    (concordant - discordant) / sqrt((pairs - ties in first) (pairs - ties in second)), over all n (n - 1) / 2
    pairs. Source: Kendall 1945, "The treatment of ties in ranking problems", Biometrika 33.

    Args:
        first: (n,) finite values.
        second: (n,) finite values.

    Raises:
        MetricsError: the two differ in length, or hold a value that is not finite.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise MetricsError(f"shapes {first.shape} and {second.shape}; accepted: two of one shape (n,)")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise MetricsError("a value that is not finite; accepted: finite values")
    total, ties_first, ties_second = 0, 0, 0
    for at in range(len(first) - 1):  # a row of pairs at a time: memory stays linear in n
        first_sign, other = np.sign(first[at + 1 :] - first[at]), np.sign(second[at + 1 :] - second[at])
        total += int((first_sign * other).sum())
        ties_first += int((first_sign == 0).sum())
        ties_second += int((other == 0).sum())
    pairs = len(first) * (len(first) - 1) // 2
    scale = float((pairs - ties_first) * (pairs - ties_second))
    return float(total / np.sqrt(scale)) if scale > 0 else float("nan")
