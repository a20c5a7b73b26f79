"""The charts of factors and costs as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from ragtriage.dashboard.charts.style import FRAME, LEGEND, error_bars, interval_bars, with_tokens
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.wording.comparisons import effect_label
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.comparison.ablation import Effect
from ragtriage.data.comparison.leaderboard import CostPoint
from ragtriage.metrics.number_text import interval_text

MARGIN = {"l": 8, "r": 16, "t": 40, "b": 44}


def effect_forest(effects: Sequence[Effect], title: str, tokens: Tokens) -> go.Figure:
    """Draw each change with the interval that its verdict rests on; its plain interval is on hover."""
    figure = go.Figure()
    labels = [chart_text(effect_label(effect)) for effect in effects]
    looks = {
        "better": (tokens.good.text, "triangle-up"),
        "worse": (tokens.bad.text, "triangle-down"),
        "cannot tell": (tokens.muted, "circle-open"),
        "unchanged": (tokens.muted, "line-ew-open"),
        "no direction": (tokens.primary, "circle-open"),
    }
    for name, (colour, symbol) in looks.items():
        rows = [
            (label, effect) for label, effect in zip(labels, effects, strict=True) if effect.verdict == name
        ]
        if rows:
            gaps = [effect.difference for _, effect in rows]
            figure.add_scatter(
                x=[gap.difference for gap in gaps],
                y=[label for label, _ in rows],
                mode="markers",
                name=name,
                marker={"color": colour, "symbol": symbol, "size": 11},
                error_x=error_bars(
                    [gap.difference for gap in gaps],
                    [effect.low for _, effect in rows],
                    [effect.high for _, effect in rows],
                ),
                customdata=[
                    [gap.n_pairs, len(effect.pairs), interval_text(gap.low, gap.high, 3)]
                    for (_, effect), gap in zip(rows, gaps, strict=True)
                ],
                hovertemplate="%{y}: %{x:+.3f}, unadjusted %{customdata[2]}, %{customdata[0]:,} questions, "
                "%{customdata[1]} pairs of runs<extra></extra>",
            )
    figure.add_vline(x=0, line_dash="dot", line_color=tokens.text)
    figure.update_yaxes(categoryorder="array", categoryarray=labels[::-1], ticksuffix="  ", showgrid=False)
    figure.update_xaxes(
        title=f"change of {chart_text(title)}, interval that the verdict uses",
        gridcolor=tokens.border,
        zeroline=False,
    )
    height = FRAME + 30 * max(len(labels), 2)
    return with_tokens(figure, tokens, height, legend=LEGEND, showlegend=True, margin=MARGIN)


def cost_map(
    points: Sequence[CostPoint],
    names: Sequence[str],
    axes: tuple[str, str],
    higher: bool | None,
    tokens: Tokens,
) -> go.Figure:
    """Draw quality against cost with both intervals; the front is a stepped line, its versions are diamonds.

    Args:
        points: versions; those without one of the two values are left out.
        names: their names, in the same order.
        axes: titles of cost and quality.
        higher: direction of the quality metric.
        tokens: colours of the theme.
    """
    known = [
        (point, name)
        for point, name in zip(points, names, strict=True)
        if point.cost is not None and point.quality is not None and point.quality.mean is not None
    ]
    figure = go.Figure()
    _front(figure, [point for point, _ in known if point.front], tokens)
    for front, colour, symbol, title in (
        (True, tokens.primary, "diamond", "on the Pareto front"),
        (False, tokens.muted, "circle-open", "beaten on both"),
    ):
        of_front = [(point, name) for point, name in known if point.front == front]
        if of_front:
            _versions(figure, of_front, colour, symbol, title)
    if higher is False:
        figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(
        title=chart_text(axes[0]), rangemode="tozero", gridcolor=tokens.border, zeroline=False
    )
    figure.update_yaxes(title=chart_text(axes[1]), gridcolor=tokens.border, zeroline=False)
    return with_tokens(figure, tokens, 430, legend=LEGEND, showlegend=True, margin=MARGIN)


def _versions(
    figure: go.Figure, mine: Sequence[tuple[CostPoint, str]], colour: str, symbol: str, title: str
) -> None:
    costs = [point.cost for point, _ in mine if point.cost is not None]
    quality = [point.quality for point, _ in mine if point.quality is not None]
    means = [value.mean or 0.0 for value in quality]
    # put names above and below in turn along the cost axis, so that neighbours do not cover each other
    x = np.array([cost.mean for cost in costs])
    turns = ("top right", "bottom right", "top left", "bottom left")
    places = [""] * len(x)
    for turn, at in enumerate(np.lexsort((np.array(means), x))):
        places[at] = turns[turn % len(turns)]
    figure.add_scatter(
        x=[cost.mean for cost in costs],
        y=means,
        mode="markers+text",
        name=title,
        text=[chart_text(shorten(name, 24)) for _, name in mine],
        textposition=places,
        marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2}},
        error_x=interval_bars(costs, thickness=0.8, color=colour),
        error_y=interval_bars(quality, thickness=0.8, color=colour),
        customdata=[[cost.n_scored, value.n_scored] for cost, value in zip(costs, quality, strict=True)],
        hovertemplate="%{text}: %{x:,.4g} (n = %{customdata[0]:,}), %{y:.3f} (n = %{customdata[1]:,})"
        "<extra></extra>",
    )


def _front(figure: go.Figure, points: Sequence[CostPoint], tokens: Tokens) -> None:
    """Draw the front as steps from the cheapest to the best."""
    spots = sorted(
        (point.cost.mean, point.quality.mean)
        for point in points
        if point.cost is not None and point.quality is not None and point.quality.mean is not None
    )
    if len(spots) > 1:
        figure.add_scatter(
            x=[cost for cost, _ in spots],
            y=[quality for _, quality in spots],
            mode="lines",
            line={"color": tokens.primary, "dash": "dot", "shape": "hv"},
            hoverinfo="skip",
            showlegend=False,
            name="front",
        )
