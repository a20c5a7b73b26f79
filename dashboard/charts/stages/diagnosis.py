"""The map of the Diagnosis page: where the cases lie by context metric and faithfulness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.metrics.diagnosis.stages import Owner

MAP_HEIGHT = 390
SMALLEST, LARGEST = 20, 46  # pixels across
_PLOT, _MARGINAL = (0.0, 0.84), (0.87, 1.0)  # of the figure's sides


@dataclass(frozen=True)
class Bubble:
    """The cases of one cell of the map.

    Attributes:
        x, y: cell along the context metric and along faithfulness, from 0 to 9.
        n: number of cases.
        owner: the part of the pipeline at fault in most of its bad cases; "" where none is bad.
        details: what is shown on hover.
        key: the cohort that it opens.
    """

    x: int
    y: int
    n: int
    owner: Owner | None
    details: str
    key: str


def case_bubbles(
    bubbles: Sequence[Bubble], thresholds: tuple[float, float], context_metric: str, tokens: Tokens
) -> go.Figure:
    """Draw cells of 0.1 as bubbles with their number of cases, their sums along both sides.

    Args:
        bubbles: the cells that have cases.
        thresholds: of the context metric and of faithfulness, dashed.
        context_metric: its title.
        tokens: colours of the theme.
    """
    figure = go.Figure()
    most = max((bubble.n for bubble in bubbles), default=1)
    figure.add_scatter(
        x=[bubble.x / 10 + 0.05 for bubble in bubbles],
        y=[bubble.y / 10 + 0.05 for bubble in bubbles],
        mode="markers+text",
        text=[f"{bubble.n:,}" for bubble in bubbles],
        textfont={"size": 12, "color": [_on(bubble.owner, tokens) for bubble in bubbles]},
        marker={
            "size": [SMALLEST + (LARGEST - SMALLEST) * (bubble.n / most) ** 0.5 for bubble in bubbles],
            "color": [_fill(bubble.owner, tokens) for bubble in bubbles],
            "opacity": 1,
            "line": {"width": 1, "color": tokens.background},
        },
        customdata=[[bubble.key] for bubble in bubbles],
        hovertext=[chart_text(bubble.details) for bubble in bubbles],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )
    _zones(figure, thresholds, tokens)
    _marginals(figure, bubbles, tokens)
    ticks = {"tickvals": [0, 0.5, 1], "showgrid": False, "zeroline": False, "fixedrange": True}
    figure.update_layout(
        height=MAP_HEIGHT,
        margin={"l": 52, "r": 6, "t": 6, "b": 46},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": tokens.text},
        showlegend=False,
        dragmode=False,
        clickmode="event+select",
        bargap=0.25,
        xaxis={**ticks, "range": [0, 1], "domain": _PLOT, "title": chart_text(shorten(context_metric, 44))},
        yaxis={**ticks, "range": [0, 1], "domain": _PLOT, "title": "Faithfulness"},
        xaxis2={"domain": _MARGINAL, "visible": False, "fixedrange": True, "rangemode": "tozero"},
        yaxis2={"domain": _MARGINAL, "visible": False, "fixedrange": True, "rangemode": "tozero"},
    )
    return figure


def _fill(owner: Owner | None, tokens: Tokens) -> str:
    return tokens.alive if owner is None else tokens.stages[owner]


def _on(owner: Owner | None, tokens: Tokens) -> str:
    return tokens.text if owner is None else tokens.on_stage[owner]


def _zones(figure: go.Figure, thresholds: tuple[float, float], tokens: Tokens) -> None:
    """Draw the zones that the thresholds part: context too low, unfaithful, both high."""
    context, faithfulness = thresholds
    for x0, x1, y0, y1, colour in (
        (0.0, context, 0.0, 1.0, tokens.flow),
        (context, 1.0, 0.0, faithfulness, tokens.bad.tint),
        (context, 1.0, faithfulness, 1.0, tokens.good.tint),
    ):
        figure.add_shape(
            type="rect", x0=x0, x1=x1, y0=y0, y1=y1, fillcolor=colour, line_width=0, layer="below"
        )
    dashed = {"dash": "dash", "color": tokens.text, "width": 1.2}
    figure.add_shape(type="line", x0=context, x1=context, y0=0, y1=1, line=dashed)
    figure.add_shape(type="line", x0=0, x1=1, y0=faithfulness, y1=faithfulness, line=dashed)


def _marginals(figure: go.Figure, bubbles: Sequence[Bubble], tokens: Tokens) -> None:
    middles = [at / 10 + 0.05 for at in range(10)]
    by_x = [sum(bubble.n for bubble in bubbles if bubble.x == at) for at in range(10)]
    by_y = [sum(bubble.n for bubble in bubbles if bubble.y == at) for at in range(10)]
    style = {
        "marker_color": tokens.alive,
        "hovertemplate": "%{text} cases<extra></extra>",
        "textposition": "none",
    }
    figure.add_bar(x=middles, y=by_x, yaxis="y2", text=by_x, **style)
    figure.add_bar(x=by_y, y=middles, xaxis="x2", orientation="h", text=by_y, **style)
