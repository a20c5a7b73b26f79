"""The charts of the Retrieval page: the rank of the gold, and metrics over k."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import (
    BARE,
    BLUE,
    FRAME,
    GREEN,
    GREY,
    HOVER,
    ORANGE,
    PURPLE,
    ROW,
    VERMILION,
    Axis,
    Band,
    Chart,
    ErrorBars,
    ReferenceLine,
    Series,
    count_step,
    finite,
    with_layout,
)
from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.analysis.retrieval_curves import HOPS, Curve, HopTally, TypeCurve
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import interval_text, number, percent

MARKERS = (
    (BLUE, "circle"),
    (VERMILION, "square"),
    (GREEN, "diamond"),
    (PURPLE, "triangle-up"),
    (ORANGE, "cross"),
)
Bar = tuple[str, int, str]  # title, number of cases, cohort that it leads to
CURVES_HEIGHT, ROW_HEIGHT, TOP, BOTTOM = 160, 104, 8, 40
LABEL_GAP = 15  # pixels
MOST_LABELLED = 20  # ranks whose number of cases is written on the bar


def k_curves(
    ours: Sequence[Curve], base: Sequence[Curve], k: int, base_name: str, ends_from: int = 0
) -> Chart:
    """Return metrics over k; the k in use is a vertical line, the baseline dashed.

    Args:
        ours: of the run on display; their intervals are drawn at k.
        base: of the baseline.
        k: the rank in use.
        base_name: name of the baseline.
        ends_from: length of the shortest list; larger k are shaded, since some lists have ended there.
    """
    by_metric = {curve.metric: curve for curve in base}
    series = []
    for (colour, symbol), curve in zip(MARKERS, ours, strict=False):
        series.append(_curve(curve, colour, symbol, _title(curve.metric), k))
        if curve.metric in by_metric:
            series.append(_baseline(by_metric[curve.metric], colour, shorten(base_name, 40)))
    longest = max((curve.longest for curve in [*ours, *base]), default=1)
    bands = []
    if 0 < ends_from < max((curve.longest for curve in ours), default=0):
        bands.append(Band(ends_from + 0.5, longest + 0.5, GREY, "some lists have ended"))
    return replace(_over_k(series, k, longest, 400), bands=tuple(bands))


def _over_k(series: Sequence[Series], k: int, longest: int, height: int) -> Chart:
    """Return a chart over k with a line at the k in use."""
    position = "bottom right" if k < 0.9 * longest else "bottom left"
    line = ReferenceLine(k, True, GREY, "dot", f"k = {k}", position)
    return Chart(
        "points",
        tuple(series),
        Axis(
            "k: documents from the top",
            low=0.5,
            high=max(longest, 2) + 0.5,
            format="d",
            step=1 if longest <= 15 else 5,
        ),
        Axis("mean over questions", low=0, high=1.06),
        height,
        lines=(line,) if k <= longest else (),
    )


def _curve(curve: Curve, colour: str, symbol: str, title: str, k: int, line_width: float = 2) -> Series:
    """Return a curve up to the longest list, with its interval at k."""
    points = curve.points[: curve.longest]
    return Series(
        title,
        tuple(curve.ks[: curve.longest]),
        finite(point.mean for point in points),
        colour,
        low=finite(point.low if at == k else None for at, point in enumerate(points, 1)),
        high=finite(point.high if at == k else None for at, point in enumerate(points, 1)),
        error_bars=ErrorBars(cap=5),
        n=tuple(point.n_scored for point in points),
        details=tuple(
            f"{title}, k = {at}: {number(point.mean, 3)} {interval_text(point.low, point.high, 3)}, "
            f"n = {point.n_scored:,}"
            for at, point in enumerate(points, 1)
        ),
        line="solid",
        line_width=line_width,
        symbol=symbol,
        size=7 if len(points) <= 20 else 4,
    )


def _baseline(curve: Curve, colour: str, name: str) -> Series:
    title, points = _title(curve.metric), curve.points[: curve.longest]
    return Series(
        f"{title}, {name}",
        tuple(curve.ks[: curve.longest]),
        finite(point.mean for point in points),
        colour,
        details=tuple(
            f"{title}, k = {at}, of {name}: {number(point.mean, 3)}" for at, point in enumerate(points, 1)
        ),
        line="dash",
        line_width=1.5,
        symbol="",
        in_legend=False,
    )


def type_lines(types: Sequence[TypeCurve], k: int) -> Chart:
    """Return the primary metric of each type of question over k; a ring stands at the suggested k."""
    series = []
    measured = [kind for kind in types if kind.curve is not None][: len(MARKERS)]
    for (colour, symbol), kind in zip(MARKERS, measured, strict=False):
        assert kind.curve is not None  # noqa: S101 -- those without are left out above
        title = f"{shorten(kind.name, 30)}: {_title(kind.curve.metric)}"
        series.append(_curve(kind.curve, colour, symbol, title, k))
        if kind.suggested is not None:
            series.append(
                Series(
                    "",
                    (kind.suggested,),
                    finite([kind.curve.at(kind.suggested).mean]),
                    colour,
                    details=(f"{title}: suggested k = {kind.suggested}",),
                    symbol="circle-open",
                    size=18,
                    in_legend=False,
                )
            )
    longest = max((kind.curve.longest for kind in measured if kind.curve), default=1)
    return _over_k(series, k, longest, 320)


def hop_lines(curves: Sequence[Curve], k: int) -> Chart:
    """Return how many questions have each hop, and all of them, in the top k."""
    markers = [*MARKERS[1 : len(curves)], MARKERS[0]]  # all hops together in the first colour, heaviest
    series = []
    for (colour, symbol), curve in zip(markers, curves, strict=False):
        title = "all hops" if curve.metric == HOPS else shorten(curve.metric, 30)
        last = curve is curves[-1]
        series.append(_curve(curve, colour, symbol, title, k, line_width=3 if last else 2))
    longest = max((curve.longest for curve in curves), default=1)
    chart = _over_k(series, k, longest, 320)
    return replace(chart, y=replace(chart.y, title="share of questions", format=".0%"))


def _title(metric: str) -> str:
    return "MRR" if metric == "mrr" else title_of(f"{metric}@5").removesuffix("@5")


def move_bars(bars: Sequence[Bar]) -> go.Figure:
    """Draw what happened to gold between first pass and final list, in cases."""
    return _bars(bars, (GREY, GREEN, VERMILION, ORANGE, PURPLE), ("", ".", "/", "x", "\\"))


def hop_bars(tallies: Sequence[HopTally]) -> go.Figure:
    """Draw how the multi-hop cases ended."""
    bars = [(tally.title, tally.n, tally.cohort) for tally in tallies]
    colours = [GREEN, *([VERMILION] * (len(bars) - 2)), ORANGE]
    patterns = ["", *(["/"] * (len(bars) - 2)), "x"]
    return _bars(bars, colours, patterns)


def _bars(bars: Sequence[Bar], colours: Sequence[str], patterns: Sequence[str]) -> go.Figure:
    figure = go.Figure(
        go.Bar(
            y=[chart_text(title) for title, _, _ in bars],
            x=[n for _, n, _ in bars],
            orientation="h",
            marker_color=list(colours[: len(bars)]),
            marker_pattern_shape=list(patterns[: len(bars)]),
            text=[f"{n:,}" for _, n, _ in bars],
            textposition="outside",
            cliponaxis=False,
            customdata=[[cohort] for _, _, cohort in bars],
            hovertemplate="%{y}: %{x:,} cases<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", automargin=True, ticksuffix="  ")
    # tick settings for an axis of counts: whole numbers, also where all are small
    figure.update_xaxes(
        title="cases",
        rangemode="tozero",
        automargin=True,
        **{"tickformat": ",d", "dtick": count_step([n for _, n, _ in bars])},
    )
    return with_layout(
        figure, FRAME + ROW * max(len(bars), 2), showlegend=False, clickmode="event+select", bargap=0.35
    )


@dataclass(frozen=True)
class GoldRow:
    """One row of bars: a hop, or the first gold document."""

    title: str
    counts: tuple[int, ...]  # cases by rank, from 1
    deeper: int  # cases whose gold is below the last of these ranks
    candidates: int | None  # cases that have it only among the candidates; None where none are recorded
    nowhere: int  # cases that have it in no list
    keys: tuple[str, ...]  # the cohorts of the bars: of each rank, deeper, candidates, nowhere


def gold_height(rows: int) -> int:
    """Return the height of the figure in pixels."""
    return TOP + CURVES_HEIGHT + ROW_HEIGHT * rows + BOTTOM


def gold_figure(
    curves: Sequence[tuple[str, Curve]], base: Curve | None, rows: Sequence[GoldRow], k: int, tokens: Tokens
) -> go.Figure:
    """Draw shares over k above bars by rank; the k in use is the green ground."""
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
    outside = [depth + 1.8, depth + 3.8, depth + 5.8]
    for at, row in enumerate(rows):
        top = 1 - (CURVES_HEIGHT + ROW_HEIGHT * at + 12) / plot
        low = max(0.0, 1 - (CURVES_HEIGHT + ROW_HEIGHT * (at + 1)) / plot)
        most = _add_bars(figure, row, f"y{at + 2}", k, outside, tokens)
        axes[f"yaxis{at + 2}"] = {
            "domain": [low, top],
            "range": [0, 1.65 * most],
            "visible": False,
            "fixedrange": True,
        }
    figure.add_shape(
        type="rect", x0=0.4, x1=k + 0.5, y0=0, y1=1, yref="paper", fillcolor=tokens.good.tint,
        line_width=0, layer="below",
    )  # fmt: skip
    ticks = [*range(1, depth + 1)] if depth <= 12 else [1, *range(5, depth + 1, 5)]
    names = ["lower", "candidates<br>only", "in no<br>list"]
    figure.update_layout(
        height=height,
        margin={"l": 44, "r": 8, "t": TOP, "b": BOTTOM},
        **BARE,
        font={"family": FONT, "size": 12, "color": tokens.text},
        clickmode="event+select",
        bargap=0.2,
        xaxis={
            "range": [0.4, depth + 6.8],
            "tickangle": 0,
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
        red, green, blue = (int(tokens.primary[at : at + 2], 16) for at in (1, 3, 5))
        figure.add_scatter(
            x=[*ks, *ks[::-1]],
            y=[*(point.high for point in points), *(point.low for point in points[::-1])],
            fill="toself", mode="lines", line={"width": 0}, fillcolor=f"rgba({red},{green},{blue},0.2)",
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
        hovertemplate=HOVER,
    )  # fmt: skip


def _label_ends(figure: go.Figure, curves: Sequence[tuple[str, Curve]], depth: int, tokens: Tokens) -> None:
    """Write title and last value beside each curve, one above the other where they end close together."""
    pixels = (CURVES_HEIGHT - 18) / 1.04
    ends = []
    for at, (title, curve) in enumerate(curves):
        points = curve.points[: min(depth, curve.longest)]
        if points and isfinite(points[-1].mean):
            ends.append((points[-1].mean, len(points), title, at == len(curves) - 1))
    ends.sort()
    places, lowest, highest = [0.0] * len(ends), -inf, pixels
    for at, (mean, *_) in enumerate(ends):
        places[at] = lowest = max(mean * pixels, lowest + LABEL_GAP)
    for at in reversed(range(len(ends))):
        places[at] = highest = min(places[at], highest)
        highest -= LABEL_GAP
    for place, (mean, length, title, decides) in zip(places, ends, strict=True):
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
        hovertemplate=HOVER,
    )


def _add_bars(
    figure: go.Figure, row: GoldRow, axis: str, k: int, outside: Sequence[float], tokens: Tokens
) -> int:
    """Draw the bars of a row with its title, and return the most cases that a bar has, at least 1."""
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
        hovertemplate=HOVER,
    )  # fmt: skip
    if row.candidates is None:
        figure.add_annotation(
            x=outside[1], y=0, yref=axis, text="not<br>measured", showarrow=False, yanchor="bottom",
            font={"size": 12, "color": tokens.muted}, bordercolor=tokens.muted, borderpad=2,
        )  # fmt: skip
    most = max([*row.counts, row.deeper, row.candidates or 0, row.nowhere, 1])
    figure.add_annotation(
        x=0.45, y=1.62 * most, yref=axis, text=f"<b>{chart_text(shorten(row.title, 40))}</b>",
        showarrow=False, xanchor="left", yanchor="top", font={"size": 12, "color": tokens.text},
    )  # fmt: skip
    return most
