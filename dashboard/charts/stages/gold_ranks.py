"""Where gold stands: the share found over k, and below it every gold document by its rank, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

import plotly.graph_objects as go

from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.analysis.retrieval_curves import Curve
from ragtriage.metrics.number_text import percent

CURVES_HEIGHT, ROW_HEIGHT, TOP, BOTTOM = 190, 104, 8, 48
LABEL_GAP = 15  # pixels
MOST_LABELLED = 20  # ranks whose number of cases is written on the bar


@dataclass(frozen=True)
class GoldRow:
    """One row of bars: a hop, or the first gold document.

    Attributes:
        title: of the row.
        counts: cases by rank, from 1.
        deeper: cases whose gold is below the last of these ranks.
        candidates: cases that have it only among the candidates; None where none are recorded.
        nowhere: cases that have it in no list.
        keys: the cohorts of the bars: of each rank, deeper, candidates, nowhere.
    """

    title: str
    counts: tuple[int, ...]
    deeper: int
    candidates: int | None
    nowhere: int
    keys: tuple[str, ...]


def gold_height(rows: int) -> int:
    """Return the height of the figure in pixels."""
    return TOP + CURVES_HEIGHT + ROW_HEIGHT * rows + BOTTOM


def gold_figure(
    curves: Sequence[tuple[str, Curve]],
    base: Curve | None,
    rows: Sequence[GoldRow],
    k: int,
    tokens: Tokens,
) -> go.Figure:
    """Draw shares over k above bars by rank; the k in use is the green ground.

    Args:
        curves: title and curve, the one that decides last; its band is its interval.
        base: the deciding curve of the baseline, dotted.
        rows: the bars.
        k: the rank in use.
        tokens: colours of the theme.
    """
    figure, depth = go.Figure(), len(rows[0].counts)
    height = gold_height(len(rows))
    plot = height - TOP - BOTTOM
    curve_floor = 1 - (CURVES_HEIGHT - 18) / plot
    for at, (title, curve) in enumerate(curves):
        _add_curve(figure, title, curve, depth, k, at == len(curves) - 1, tokens)
    _label_ends(figure, curves, depth, tokens)
    if base is not None:
        _add_base(figure, base, depth, tokens)
    axes: dict[str, object] = {}
    outside = [depth + 1.6, depth + 2.8, depth + 4.0]
    for at, row in enumerate(rows):
        axis = f"y{at + 2}"
        _add_bars(figure, row, axis, k, outside, tokens)
        top = 1 - (CURVES_HEIGHT + ROW_HEIGHT * at + 12) / plot
        low = max(0.0, 1 - (CURVES_HEIGHT + ROW_HEIGHT * (at + 1)) / plot)
        most = max([*row.counts, row.deeper, row.candidates or 0, row.nowhere, 1])
        axes[f"yaxis{at + 2}"] = {
            "domain": [low, top],
            "range": [0, 1.4 * most],
            "visible": False,
            "fixedrange": True,
        }
        figure.add_annotation(
            x=depth + 0.45, y=1.36 * most, yref=axis, text=f"<b>{chart_text(shorten(row.title, 40))}</b>",
            showarrow=False, xanchor="right", yanchor="top", font={"size": 12, "color": tokens.text},
        )  # fmt: skip
    figure.add_shape(
        type="rect", x0=0.4, x1=k + 0.5, y0=0, y1=1, yref="paper", fillcolor=tokens.good.tint,
        line_width=0, layer="below",
    )  # fmt: skip
    ticks = [*range(1, depth + 1)] if depth <= 12 else [1, *range(5, depth + 1, 5)]
    names = ["lower", "candidates<br>only", "in no<br>list"]
    figure.update_layout(
        height=height,
        margin={"l": 44, "r": 96, "t": TOP, "b": BOTTOM},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 12, "color": tokens.text},
        showlegend=False,
        dragmode=False,
        clickmode="event+select",
        bargap=0.2,
        xaxis={
            "range": [0.4, depth + 4.6],
            "tickvals": [*ticks, *outside],
            "ticktext": [*(f"<b>{at}</b>" if at == k else str(at) for at in ticks), *names],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
            "anchor": "free",
            "position": 0,
        },
        yaxis={
            "domain": [curve_floor, 1],
            "range": [0, 1.04],
            "tickvals": [0, 0.5, 1],
            "tickformat": ".0%",
            "gridcolor": tokens.track,
            "zeroline": False,
            "fixedrange": True,
        },
        **axes,
    )
    return figure


def _add_curve(
    figure: go.Figure, title: str, curve: Curve, depth: int, k: int, decides: bool, tokens: Tokens
) -> None:
    points = curve.points[: min(depth, curve.longest)]
    ks = list(range(1, len(points) + 1))
    means = [point.mean for point in points]
    colour = tokens.primary if decides else tokens.muted
    if decides:
        figure.add_scatter(
            x=[*ks, *ks[::-1]],
            y=[*(point.high for point in points), *(point.low for point in points[::-1])],
            fill="toself", mode="lines", line={"width": 0}, fillcolor=_faint(tokens.primary),
            hoverinfo="skip",
        )  # fmt: skip
    figure.add_scatter(
        x=ks,
        y=means,
        mode="lines+markers",
        name=chart_text(title),
        line={"color": colour, "width": 3 if decides else 1.5},
        marker={"size": [10 if at == k else 5 for at in ks], "color": colour},
        error_y={
            "type": "data", "symmetric": False, "color": colour, "thickness": 1.3, "width": 0,
            "array": [(point.high - point.mean) * (at == k) for at, point in enumerate(points, 1)],
            "arrayminus": [(point.mean - point.low) * (at == k) for at, point in enumerate(points, 1)],
        },
        hovertext=[
            f"{chart_text(title)}, k = {at}: {percent(point.mean)} [{percent(point.low)}, "
            f"{percent(point.high)}], n = {point.n_scored:,}"
            for at, point in zip(ks, points, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip


def _label_ends(figure: go.Figure, curves: Sequence[tuple[str, Curve]], depth: int, tokens: Tokens) -> None:
    """Write title and last value beside each curve, one above the other where they end close together."""
    pixels = (CURVES_HEIGHT - 18) / 1.04
    ends = []
    for at, (title, curve) in enumerate(curves):
        points = curve.points[: min(depth, curve.longest)]
        if points and isfinite(points[-1].mean):
            ends.append((points[-1].mean, len(points), title, at == len(curves) - 1))
    place = -inf
    for mean, length, title, decides in sorted(ends):
        place = max(mean * pixels, place + LABEL_GAP)
        figure.add_annotation(
            x=length + 0.2, y=mean, text=f"{chart_text(shorten(title, 22))} {percent(mean)}",
            showarrow=False, xanchor="left", yshift=place - mean * pixels,
            font={"size": 12, "color": tokens.primary if decides else tokens.muted},
        )  # fmt: skip


def _add_base(figure: go.Figure, base: Curve, depth: int, tokens: Tokens) -> None:
    points = base.points[: min(depth, base.longest)]
    figure.add_scatter(
        x=list(range(1, len(points) + 1)),
        y=[point.mean for point in points],
        mode="lines",
        line={"color": tokens.muted, "width": 1.5, "dash": "dot"},
        hovertext=[f"baseline, k = {at}: {percent(point.mean)}" for at, point in enumerate(points, 1)],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _add_bars(
    figure: go.Figure, row: GoldRow, axis: str, k: int, outside: Sequence[float], tokens: Tokens
) -> None:
    ranks = list(range(1, len(row.counts) + 1))
    counts = [*row.counts, row.deeper, row.candidates, row.nowhere]
    colours = [
        *(tokens.good_mark if rank <= k else tokens.alive for rank in ranks),
        tokens.alive,
        tokens.stages["reranking"],
        tokens.stages["retrieval"],
    ]
    names = [*(f"rank {rank}" for rank in ranks), f"below rank {ranks[-1]}", "candidates only", "in no list"]
    figure.add_bar(
        x=[*ranks, *outside],
        y=counts,
        yaxis=axis,
        marker={"color": colours, "line": {"color": tokens.muted, "width": 0.5}},
        text=["" if n is None else f"{n:,}" for n in counts] if len(ranks) <= MOST_LABELLED else None,
        textposition="outside",
        textfont={"size": 12, "color": tokens.text},
        cliponaxis=False,
        customdata=[[key] for key in row.keys],
        hovertext=[
            f"{chart_text(row.title)}, {name}: {'not measured' if n is None else f'{n:,} cases'}"
            for name, n in zip(names, counts, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip
    if row.candidates is None:
        figure.add_annotation(
            x=outside[1], y=0, yref=axis, text="not<br>measured", showarrow=False, yanchor="bottom",
            font={"size": 12, "color": tokens.muted}, bordercolor=tokens.muted, borderpad=2,
        )  # fmt: skip


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"
