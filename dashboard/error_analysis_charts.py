"""The chart of failure labels as a pure function."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.chart_layout import FRAME, ROW, laid_out
from dashboard.palette import BLUE
from dashboard.text import chart_text, shorten
from data.taxonomy import LabelCount

__all__ = ["MOST_BARS", "label_bars"]

MOST_BARS = 20
_LONGEST = 44


def label_bars(counts: Sequence[LabelCount], run_id: str) -> go.Figure:
    """Draw the cases of a run by failure label, the most frequent on top; a bar carries its label."""
    shown = [one for one in counts if one.by_run.get(run_id)]
    shown = sorted(shown, key=lambda one: -one.by_run[run_id])[:MOST_BARS]
    places = list(range(len(shown)))
    cases = [one.by_run[run_id] for one in shown]
    figure = go.Figure(
        go.Bar(
            y=places,
            x=cases,
            orientation="h",
            marker_color=BLUE,
            text=[f"{n:,}" for n in cases],
            textposition="outside",
            cliponaxis=False,
            customdata=[[one.label, chart_text(shorten(one.label, 200))] for one in shown],
            hovertemplate="%{customdata[1]}: %{x:,} cases<extra></extra>",
        )
    )
    figure.update_yaxes(
        tickvals=places,
        ticktext=[chart_text(shorten(one.label, _LONGEST)) for one in shown],
        range=[len(shown) - 0.4, -0.6],
        automargin=True,
        ticksuffix="  ",
    )
    figure.update_xaxes(
        title="cases that people gave the label",
        range=[0, 1.12 * max(cases, default=1)],
        automargin=True,
        tickformat=",d",
        nticks=min(max(cases, default=1) + 1, 8),
    )
    return laid_out(
        figure,
        FRAME + ROW * max(len(shown), 2),
        showlegend=False,
        clickmode="event+select",
        bargap=0.35,
    )
