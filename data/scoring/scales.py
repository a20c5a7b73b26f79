"""Imported scores on the scale of their metric: what lies outside is not scored, never clipped or passed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.errors import DataError
from ragtriage.metrics.metric_registry import REGISTRY, known_name
from ragtriage.metrics.schema.scores import FloatArray, Status

SCALES = "score_scales"  # setting of a run: metric -> [least, greatest] of the tool that scored it
SLIGHT = 0.05  # of the scale: a cosine just below 0 is no other scale
MOST_STRAY = 0.05  # share of values outside from which on the whole column is on another scale


def declared_scales(config: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the scales that the settings of a run declare, without what is no pair of numbers in order."""
    scales = config.get(SCALES)
    found = {}
    for name, ends in scales.items() if isinstance(scales, Mapping) else ():
        if (
            isinstance(ends, list | tuple)
            and len(ends) == 2
            and all(isinstance(end, int | float) for end in ends)
        ):
            low, high = float(ends[0]), float(ends[1])
            if np.isfinite([low, high]).all() and low < high:
                found[str(name)] = (low, high)
    return found


def parsed_scale(text: str) -> tuple[str, list[float]]:
    """Return the metric and the ends of a scale, as in faithfulness=1..5.

    Raises:
        DataError: the text is none.
    """
    name, _, ends = text.partition("=")
    try:
        low, high = (float(end) for end in ends.split("..", 1))
    except ValueError:
        low = high = 0.0
    if not name.strip() or not np.isfinite([low, high]).all() or low >= high:
        accepted = "NAME=LEAST..GREATEST, as in faithfulness=1..5"
        raise DataError(f"--scale {text[:80]!r}: accepted: {accepted}")
    return known_name(name.strip()), [low, high]


def on_scale(
    metric: str, values: FloatArray, status: NDArray[np.int8], config: Mapping[str, Any]
) -> tuple[FloatArray, NDArray[np.int8]]:
    """Return an imported column with what is out of scale not scored.

    A declared scale is converted to that of the metric. Without one, a column of which more than a twentieth
    lies outside is on a scale that nobody named: none of it is scored, as 1 of 5 would read as perfect.

    Args:
        metric: its full name.
        values: (n,) as imported, NaN where not scored.
        status: (n,) codes of Status.
        config: settings of the run.
    """
    declaration = REGISTRY.get(metric) or REGISTRY.get(f"{metric.partition('@')[0]}@k")
    bounds = (0.0, 1.0) if declaration is None else declaration.bounds
    declared = declared_scales(config).get(metric)
    if declared is None and (declaration is None or not np.isfinite(bounds).all()):
        return values, status
    low, high = declared or bounds
    slack = SLIGHT * (high - low)
    outside = (values < low - slack) | (values > high + slack)
    if declared is None and outside.sum() > MOST_STRAY * np.isfinite(values).sum():
        outside = np.isfinite(values)
    elif declared is not None:
        values = bounds[0] + (values - low) / (high - low) * (bounds[1] - bounds[0])
    if not outside.any():
        return values, status
    return np.where(outside, np.nan, values), np.where(outside, np.int8(Status.FAILED), status)
