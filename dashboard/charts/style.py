"""What all charts share: colours, margins, legend, error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import plotly.graph_objects as go

from metrics.diagnosis.stages import Owner

__all__ = [
    "FRAME",
    "GREY",
    "LEGEND",
    "OWNER_COLOURS",
    "ROW",
    "VERDICT_BADGES",
    "VERDICT_LABELS",
    "VERDICT_MARKERS",
    "Badge",
    "error_bars",
    "with_layout",
]

ROW = 30  # pixels of a row of a horizontal chart
FRAME = 70  # pixels around the rows
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0}


def with_layout(figure: go.Figure, height: int, **more: object) -> go.Figure:
    """Return the figure with a height in pixels, the common margins and no dragging."""
    figure.update_layout(height=height, margin={"l": 8, "r": 16, "t": 28, "b": 32}, dragmode=False, **more)
    return figure


def error_bars(
    values: Sequence[float | None],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    scale: float = 1.0,
    **style: object,
) -> dict[str, object]:
    """Return Plotly's error bars for intervals; of length 0 where a value or a bound is missing.

    Args:
        values: the values.
        lows: lower interval bounds.
        highs: upper interval bounds.
        scale: factor of values and bounds, 100 for percent.
        style: further settings of the error bars.
    """

    def lengths(starts: Sequence[float | None], ends: Sequence[float | None]) -> list[float]:
        return [
            0.0 if start is None or end is None else scale * (end - start)
            for start, end in zip(starts, ends, strict=True)
        ]

    return {
        "type": "data", "symmetric": False, "array": lengths(values, highs),
        "arrayminus": lengths(lows, values), "thickness": 1.3, **style,
    }  # fmt: skip


Badge = Literal["red", "orange", "green", "blue", "gray"]
BLUE, ORANGE, GREEN, VERMILION, PURPLE, GREY = (
    "#2b8cc4",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#8a949e",
)

OWNER_COLOURS: dict[Owner, str] = {
    "retrieval": BLUE,
    "reranking": "#56B4E9",
    "generation": VERMILION,
    "refusal": PURPLE,
    "format": ORANGE,
    "unexplained": GREY,
}
VERDICT_MARKERS = {
    "better": (GREEN, "triangle-up"),
    "worse": (VERMILION, "triangle-down"),
    "cannot tell": (GREY, "circle"),
    "unchanged": (GREY, "line-ew-open"),
}
VERDICT_LABELS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "cannot tell": "· cannot tell",
    "unchanged": "= unchanged",
}
VERDICT_BADGES: dict[str, Badge] = {
    "PASS": "green",
    "FAIL": "red",
    "INCONCLUSIVE": "orange",
    "UNMEASURED": "gray",
    "better": "green",
    "worse": "red",
    "cannot tell": "gray",
    "unchanged": "gray",
}
