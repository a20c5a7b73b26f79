"""The chart of the stage losses as a pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboard.charts.style import BLUE, FRAME, GREEN, GREY, ROW, VERMILION, error_bars, laid_out
from dashboard.wording.escaping import chart_text
from dashboard.wording.formatting import interval_text, number, signed
from data.comparison.oracle_gap import GapEstimate, GapKind, OracleGap

__all__ = ["PARTS", "oracle_gap_bars"]

PARTS: Mapping[GapKind, str] = {
    "retrieval": "Lost in retrieval",
    "generation": "Lost in generation",
    "context": "Added by the context",
}
_LOOKS: Mapping[GapKind, tuple[str, str]] = {
    "retrieval": (BLUE, ""),
    "generation": (VERMILION, "/"),
    "context": (GREEN, "."),
}  # colour, and a pattern for those who do not see it


def oracle_gap_bars(found: OracleGap, marks: Mapping[GapKind, str], title: str) -> go.Figure:
    """Draw what each stage loses as bars with their 95 % intervals.

    Args:
        found: the losses.
        marks: what the bar of a part leads to; parts without one lead nowhere.
        title: of the quality.
    """
    figure = go.Figure()
    known = [one for one in found.gaps if one.n]
    _add_bars(figure, known, marks)
    for one in known:
        figure.add_annotation(
            x=max(one.value, one.high, 0.0),
            y=PARTS[one.key],
            text=f"{_told(one)[0]}  n = {one.n:,}",
            showarrow=False,
            xanchor="left",
            xshift=8,
        )
    figure.add_vline(x=0, line_width=1, line_color=GREY)
    figure.update_yaxes(autorange="reversed", automargin=True, ticksuffix="  ")
    span = _span(known)
    figure.update_xaxes(
        title=f"points of {chart_text(title)}, 95 % interval", range=span, automargin=True, tickformat=".2~f"
    )
    return laid_out(figure, FRAME + 30 + 2 * ROW * max(len(known), 1), clickmode="event+select")


def _add_bars(figure: go.Figure, known: Sequence[GapEstimate], marks: Mapping[GapKind, str]) -> None:
    """Add the bars of the losses that are known."""
    figure.add_bar(
        x=[one.value for one in known],
        y=[PARTS[one.key] for one in known],
        orientation="h",
        width=0.55,
        marker={
            "color": [_LOOKS[one.key][0] for one in known],
            "pattern": {
                "shape": [_LOOKS[one.key][1] for one in known],
                "fillmode": "overlay",
                "fgcolor": "rgba(255, 255, 255, 0.5)",
                "size": 7,
                "solidity": 0.2,
            },
        },
        error_x=error_bars(
            [one.value for one in known],
            [one.low for one in known],
            [one.high for one in known],
            width=6,
            thickness=2,
            color=GREY,
        ),
        customdata=[[marks.get(one.key, ""), *_told(one)] for one in known],
        hovertemplate="%{y}: %{customdata[1]} %{customdata[2]}, n = %{customdata[3]}<extra></extra>",
        showlegend=False,
    )


def _span(known: list[GapEstimate]) -> list[float]:
    """Leave room for the figures beside the bars."""
    low = min([0.0, *(min(one.value, one.low) for one in known)])
    high = max([0.1, *(max(one.value, one.high) for one in known)])
    return [low - 0.03 * (high - low), high + 0.3 * (high - low)]


def _told(one: GapEstimate) -> list[str]:
    value = signed(one.value) if one.key == "context" else number(one.value).replace("-", "−")
    return [value, interval_text(one.low, one.high), f"{one.n:,}"]
