"""The charts of the Retrieval page as pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import (
    Axis,
    Band,
    Chart,
    ErrorBars,
    ReferenceLine,
    Series,
    count_step,
    finite,
)
from ragtriage.dashboard.charts.style import (
    BLUE,
    FRAME,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    ROW,
    VERMILION,
    with_layout,
)
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.analysis.multi_hop import HopTally
from ragtriage.data.analysis.question_types import TypeCurve
from ragtriage.data.analysis.retrieval_curves import HOPS, Curve
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import interval_text, number

MARKERS = (
    (BLUE, "circle"),
    (VERMILION, "square"),
    (GREEN, "diamond"),
    (PURPLE, "triangle-up"),
    (ORANGE, "cross"),
)
Bar = tuple[str, int, str]  # title, number of cases, cohort that it leads to


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
        Axis("mean over questions", low=0, high=1.02),
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
    return _over_k(series, k, longest, 340)


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
