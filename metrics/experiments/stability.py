"""Stability: whether a question gets one verdict however it is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, MetricsError
from ragtriage.metrics.statistics.intervals import Interval, interval


@dataclass(frozen=True)
class Flips:
    """Questions whose verdict depends on how they are asked."""

    rate: Interval  # share of questions with a pass and a fail among their variants
    # (q,) True for such a question; False also where fewer than two variants have a verdict
    flipped: BoolArray
    compared: int  # questions with two verdicts or more
    pass_rate: Interval  # mean over questions of the share of variants that pass
    always: int  # questions that pass in every variant
    never: int  # questions that fail in every one


def flips(values: FloatArray, threshold: float = 0.5) -> Flips:
    """Return how many questions get different verdicts for their variants.

    Args:
        values: (q, v) a metric's value for each variant of a question, higher is better, NaN where not
            measured.
        threshold: a value at or above it passes.

    Raises:
        MetricsError: the values are not a table.
    """
    if values.ndim != 2:
        raise MetricsError(f"flips takes one row a question and one column a variant, not {values.shape}")
    known: BoolArray = np.isfinite(values)
    passes = (known & (values >= threshold)).sum(axis=1)
    asked = known.sum(axis=1)
    compared: BoolArray = asked > 1
    flipped: BoolArray = compared & (passes > 0) & (passes < asked)
    # one variant alone cannot flip
    share = np.where(compared, passes / np.maximum(asked, 1), np.nan)
    clusters = np.arange(len(values))
    return Flips(
        rate=interval(
            np.where(compared, flipped.astype(np.float64), np.nan), clusters, int(compared.sum()), binary=True
        ),
        flipped=flipped,
        compared=int(compared.sum()),
        pass_rate=interval(share, clusters, int(compared.sum())),
        always=int((compared & (passes == asked)).sum()),
        never=int((compared & (passes == 0)).sum()),
    )
