"""Retrieval metrics over the rank cut-off, and the cut-off from which more documents hardly add."""

from __future__ import annotations

import numpy as np

from metrics.values import FloatArray, MetricsError

__all__ = ["LEAST_GAIN", "suggested_k"]

LEAST_GAIN = 0.01  # what each further document must add on average to be worth its place


def suggested_k(curve: FloatArray, least_gain: float = LEAST_GAIN) -> int:
    """Give the smallest k behind which no longer list adds as much as `least_gain` a document on average.

    Args:
        curve: (K,) mean of a metric that does not fall with k, at k = 1..K; NaN where not measured.
        least_gain: per document, on the metric's scale.

    Raises:
        MetricsError: the curve is empty or not measured.
    """
    if not len(curve) or np.isnan(curve).any():
        raise MetricsError("a suggested k needs a curve without gaps")
    for k in range(1, len(curve)):
        gains = (curve[k:] - curve[k - 1]) / np.arange(1, len(curve) - k + 1)
        if gains.max() < least_gain:
            return k
    return len(curve)
