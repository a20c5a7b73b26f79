"""The charts of the Alignment page as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from dashboard.chart_layout import FRAME, LEGEND, ROW, arms, laid_out
from dashboard.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION
from dashboard.text import chart_text, shorten
from data.alignments import ALERT, PUBLISHED, Group, Rate
from metrics.statistics import Interval

__all__ = [
    "ORIGIN_TITLES",
    "VersionRate",
    "group_bars",
    "k_lines",
    "place_points",
    "rank_bars",
    "version_rates",
]

ORIGIN_TITLES = {
    "judge": "judged",
    "claims": "from claim labels",
    "citation": "cited",
    "imported": "imported",
    "lexical": "estimated from words",
}
_LOOKS = {
    "judge": (GREEN, "circle"),
    "claims": (BLUE, "square"),
    "citation": (PURPLE, "diamond"),
    "imported": (ORANGE, "triangle-up"),
    "lexical": (GREY, "circle-open"),
}


@dataclass(frozen=True)
class VersionRate:
    """The rate of one version.

    Attributes:
        label: its name.
        run_id: its run.
        rate: the rate under one origin.
        current: whether it is the run on display.
    """

    label: str
    run_id: str
    rate: Rate
    current: bool


def version_rates(rates: Sequence[VersionRate]) -> go.Figure:
    """Draw the rate of ignored first documents of each version with its interval, one mark an origin.

    The published range has a row of its own below the versions, and no other row has it: it was measured in
    another way.
    """
    figure = go.Figure()
    names = list(dict.fromkeys(_row(one) for one in rates))
    published = f"published: {PUBLISHED.source}"
    for origin, title in ORIGIN_TITLES.items():
        mine = [one for one in rates if one.rate.origin == origin]
        if mine:
            colour, symbol = _LOOKS[origin]
            figure.add_scatter(
                x=[one.rate.value.mean for one in mine],
                y=[_row(one) for one in mine],
                mode="markers",
                name=title,
                marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}},
                error_x=_arms([one.rate.value for one in mine]),
                customdata=[[one.run_id, one.rate.value.n_scored, title] for one in mine],
                hovertemplate="%{y}: %{x:.0%}, n = %{customdata[1]:,}, %{customdata[2]}<extra></extra>",
            )
    figure.add_scatter(
        x=[PUBLISHED.low, PUBLISHED.high],
        y=[published, published],
        mode="lines+markers",
        name="published, not comparable",
        line={"color": GREY, "width": 3, "dash": "dot"},
        marker={"symbol": "line-ns-open", "size": 14, "color": GREY},
        hovertemplate=f"{PUBLISHED.low:.0%} to {PUBLISHED.high:.0%}, {PUBLISHED.caution}<extra></extra>",
    )
    figure.add_vline(
        x=ALERT,
        line_dash="dash",
        line_color=VERMILION,
        annotation_text=f"alert from {ALERT:.0%}",
        annotation_position="bottom right",
    )
    figure.update_yaxes(
        categoryorder="array", categoryarray=[published, *names[::-1]], automargin=True, ticksuffix="  "
    )
    figure.update_xaxes(
        title="answers that pass over the first document, 95 % interval",
        range=[-0.02, 1.02],
        tickformat=".0%",
        automargin=True,
    )
    return laid_out(figure, FRAME + 40 + ROW * (len(names) + 1), legend=LEGEND, clickmode="event+select")


def _row(one: VersionRate) -> str:
    mark = "▸ " if one.current else ""
    return chart_text(f"{mark}{shorten(one.label, 40)}")


def _arms(values: Sequence[Interval], **look: Any) -> dict[str, object]:
    lows, highs = [one.low for one in values], [one.high for one in values]
    return arms([one.mean for one in values], lows, highs, **look)


def group_bars(groups: Sequence[Group], mark: str, axis: str) -> go.Figure:
    """Draw the rate of ignored first documents by group; a bar carries the mark that leads to its cases."""
    figure = _bars(groups, mark, axis)
    figure.add_hline(y=ALERT, line_dash="dash", line_color=VERMILION)
    return figure.update_yaxes(title="pass over the first document")


def rank_bars(groups: Sequence[Group]) -> go.Figure:
    """Draw how often each rank is drawn on."""
    return _bars(groups, "used_rank", "rank").update_yaxes(title="answers that draw on it")


def _bars(groups: Sequence[Group], mark: str, axis: str) -> go.Figure:
    figure = go.Figure(
        go.Bar(
            x=[chart_text(shorten(one.label, 24)) for one in groups],
            y=[one.value.mean for one in groups],
            marker_color=BLUE,
            width=min(0.7, 0.2 * max(len(groups), 1)),
            error_y=_arms([one.value for one in groups], color=GREY),
            text=[f"{one.value.mean:.0%}" for one in groups],
            textposition="inside",
            insidetextanchor="start",
            customdata=[[f"{mark}:{one.key}", one.value.n_scored] for one in groups],
            hovertemplate="%{x}: %{y:.0%}, n = %{customdata[1]:,}<extra></extra>",
        )
    )
    figure.update_xaxes(title=axis, type="category", automargin=True)
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%", automargin=True)
    return laid_out(figure, 320, showlegend=False, clickmode="event+select", bargap=0.3)


def k_lines(by_metric: Mapping[str, Sequence[Group]], titles: Mapping[str, str], k: int) -> go.Figure:
    """Draw wasted context and deep reliance over k; the k in use is a vertical line."""
    figure = go.Figure()
    for (metric, groups), (colour, symbol) in zip(
        by_metric.items(), ((BLUE, "circle"), (VERMILION, "square")), strict=False
    ):
        figure.add_scatter(
            x=[int(one.key) for one in groups],
            y=[one.value.mean for one in groups],
            mode="lines+markers",
            name=titles[metric],
            line={"color": colour},
            marker={"symbol": symbol, "size": 8},
            error_y=_arms([one.value for one in groups], color=GREY),
            customdata=[[one.value.n_scored] for one in groups],
            hovertemplate=f"{titles[metric]}@%{{x}}: %{{y:.0%}}, n = %{{customdata[0]:,}}<extra></extra>",
        )
    figure.add_vline(
        x=k, line_dash="dot", line_color=GREY, annotation_text=f"k = {k}", annotation_position="top right"
    )
    figure.update_xaxes(title="k", tickformat="d", automargin=True)
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%", automargin=True)
    return laid_out(figure, 320, legend=LEGEND)


def place_points(groups: Sequence[Group], title: str) -> go.Figure:
    """Draw an answer metric by the rank of the first gold document, with intervals."""
    figure = go.Figure(
        go.Scatter(
            x=[one.label for one in groups],
            y=[one.value.mean for one in groups],
            mode="markers+lines",
            line={"color": GREY, "width": 1},
            marker={"color": BLUE, "size": 11},
            error_y=_arms([one.value for one in groups]),
            customdata=[[f"gold_place:{one.key}", one.value.n_scored] for one in groups],
            hovertemplate="gold at %{x}: %{y:.3f}, n = %{customdata[1]:,}<extra></extra>",
        )
    )
    figure.update_xaxes(title="rank of the first gold document", type="category", automargin=True)
    figure.update_yaxes(title=chart_text(title), rangemode="tozero", automargin=True)
    return laid_out(figure, 320, showlegend=False, clickmode="event+select")
