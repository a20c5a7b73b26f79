"""What all charts share: colours, margins, legend, error bars."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import TYPE_CHECKING

from ragtriage.dashboard.charts.chart import WithInterval
from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.escaping import chart_text, shorten

if TYPE_CHECKING:  # what checks say is printed without Plotly too
    import plotly.graph_objects as go

ROW = 30  # pixels of a row of a horizontal chart
FRAME = 70  # pixels around the rows
MOST_TICKS = 20  # names below an axis; with more places, every second or third is named
LONGEST_TICK = 22
HOVER = "%{hovertext}<extra></extra>"
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0}


def with_layout(figure: go.Figure, height: int, **more: object) -> go.Figure:
    """Return the figure with a height in pixels, the common margins and no dragging."""
    figure.update_layout(height=height, margin={"l": 8, "r": 16, "t": 28, "b": 32}, dragmode=False, **more)
    return figure


def with_tokens(figure: go.Figure, tokens: Tokens, height: int, **more: object) -> go.Figure:
    """Return the figure in the colours and the font of a theme, without grid, legend, dragging or zoom."""
    layout: dict[str, object] = {
        "height": height, "dragmode": False, "showlegend": False, "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 13, "color": tokens.text},
        "margin": {"l": 8, "r": 16, "t": 28, "b": 32},
        "hoverlabel": {"font": {"family": FONT, "size": 13}, "align": "left"},
        "hovermode": "closest", **more,
    }  # fmt: skip
    axis = {"fixedrange": True, "automargin": True, "title_font_size": 13}
    return figure.update_xaxes(axis).update_yaxes(axis).update_layout(layout)


def error_bars(
    values: Sequence[float | None],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    scale: float = 1.0,
    **style: object,
) -> dict[str, object]:
    """Return Plotly's error bars for intervals; of length 0 where a value or a bound is missing."""

    def lengths(starts: Sequence[float | None], ends: Sequence[float | None]) -> list[float]:
        return [
            0.0 if start is None or end is None or not isfinite(end - start) else scale * (end - start)
            for start, end in zip(starts, ends, strict=True)
        ]

    return {
        "type": "data", "symmetric": False, "array": lengths(values, highs),
        "arrayminus": lengths(lows, values), "thickness": 1.3, **style,
    }  # fmt: skip


def interval_bars(
    values: Sequence[WithInterval | None], scale: float = 1.0, **style: object
) -> dict[str, object]:
    """Return Plotly's error bars of means with intervals, as `error_bars`; None for one that is not there."""
    ends = [(None, None, None) if value is None else (value.mean, value.low, value.high) for value in values]
    means, lows, highs = zip(*ends, strict=True) if ends else ((), (), ())
    return error_bars(means, lows, highs, scale, **style)


def set_places(figure: go.Figure, labels: Sequence[str]) -> None:
    """Make things in order places 0, 1, 2, ... of the x axis, named below it as far as there is room.

    Names are not the places themselves: two that are cut to the same text would fall together.
    """
    step = max(1, ceil(len(labels) / MOST_TICKS))
    padding = max(0.6, len(labels) / 50)  # so that the ring around the last point is whole
    named = range(len(labels) - 1, -1, -step)  # from the newest back
    figure.update_xaxes(
        tickvals=list(named),
        ticktext=[chart_text(shorten(labels[at], LONGEST_TICK)) for at in named],
        range=[-padding, len(labels) - 1 + padding],
        tickangle=-35 if len(labels) > 6 else 0,
        automargin=True,
    )


BLUE, ORANGE, GREEN, VERMILION, PURPLE, GREY = (
    "#2b8cc4",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#8a949e",
)
