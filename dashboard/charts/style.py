"""What all charts have in common: room, legend, and no dragging."""

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
    "Badge",
    "error_bars",
    "with_layout",
]

ROW = 30  # pixels a row of a horizontal chart
FRAME = 70
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0}


def with_layout(figure: go.Figure, height: int, **more: object) -> go.Figure:
    """Give a figure its height in pixels and the common margins."""
    figure.update_layout(height=height, margin={"l": 8, "r": 16, "t": 28, "b": 32}, dragmode=False, **more)
    return figure


def error_bars(
    middles: Sequence[float | None],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    scale: float = 1.0,
    **look: object,
) -> dict[str, object]:
    """Give the arms of intervals for an error bar; none where a value or an end is not known.

    Args:
        middles: the values.
        lows: lower ends.
        highs: upper ends.
        scale: what values and ends are multiplied by, 100 for percent.
        look: further settings of the bar.
    """
    up = [_arm(high, middle, scale) for middle, high in zip(middles, highs, strict=True)]
    down = [_arm(middle, low, scale) for middle, low in zip(middles, lows, strict=True)]
    return {
        "type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.3, **look,
    }  # fmt: skip


def _arm(outer: float | None, inner: float | None, scale: float) -> float:
    return 0.0 if outer is None or inner is None else scale * (outer - inner)


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
