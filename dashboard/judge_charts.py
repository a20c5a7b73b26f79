"""Charts of the Judge page."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from dashboard.chart_layout import FRAME, ROW, laid_out
from dashboard.palette import BLUE, GREY, ORANGE
from data.judge_marks import WORDS

__all__ = ["status_chart"]


def status_chart(counts: Mapping[str, int]) -> go.Figure:
    """Draw samples by what became of their judging, one bar a state."""
    words = list(counts)
    total = sum(counts.values())
    colours = {"scored": BLUE, "not_applicable": GREY, "not run": GREY}
    figure = go.Figure(
        go.Bar(
            x=[counts[word] for word in words],
            y=[WORDS[word] for word in words],
            orientation="h",
            marker_color=[colours.get(word, ORANGE) for word in words],
            text=[f"{counts[word]:,} ({100 * counts[word] / total:.0f} %)" for word in words],
            textposition="auto",
            hovertemplate="%{y}: %{x:,}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_xaxes(title="samples", rangemode="tozero")
    return laid_out(figure, FRAME + ROW * len(words))
