"""The charts of the Retrieval page as pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import plotly.graph_objects as go

from dashboard.charts.style import BLUE, FRAME, GREEN, GREY, LEGEND, ORANGE, PURPLE, ROW, VERMILION, laid_out
from dashboard.wording.escaping import chart_text, shorten
from data.analysis.multi_hop import HopTally
from data.analysis.question_types import TypeCurve
from data.analysis.retrieval_curves import HOPS, Curve
from metrics.metric_registry import title_of

__all__ = ["first_gold_bars", "hop_bars", "hop_lines", "k_curves", "move_bars", "type_lines"]

LOOKS = (
    (BLUE, "circle"),
    (VERMILION, "square"),
    (GREEN, "diamond"),
    (PURPLE, "triangle-up"),
    (ORANGE, "cross"),
)
Bar = tuple[str, int, str]  # what it says, how many, the mark it leads to


def k_curves(
    ours: Sequence[Curve], base: Sequence[Curve], k: int, base_name: str, ends_from: int = 0
) -> go.Figure:
    """Draw metrics over the rank cut-off; the k in use is a vertical line, the baseline dashed.

    Args:
        ours: of the run on display; their intervals are drawn at k.
        base: of the baseline.
        k: the cut-off in use.
        base_name: name of the baseline.
        ends_from: length of the shortest list; behind it the ground is shaded, since lists have ended.
    """
    figure = go.Figure()
    by_metric = {curve.metric: curve for curve in base}
    named = chart_text(shorten(base_name, 40))
    for look, curve in zip(LOOKS, ours, strict=False):
        _add_curve(figure, curve, look, _title(curve.metric), k)
        if curve.metric in by_metric:
            _add_baseline(figure, by_metric[curve.metric], look[0], named)
    longest = max((curve.longest for curve in [*ours, *base]), default=1)
    if 0 < ends_from < max((curve.longest for curve in ours), default=0):
        figure.add_vrect(
            x0=ends_from + 0.5,
            x1=longest + 0.5,
            fillcolor=GREY,
            opacity=0.1,
            line_width=0,
            layer="below",
            annotation_text="some lists have ended",
            annotation_position="bottom right",
        )
    return _over_k(figure, k, longest, 400)


def _over_k(figure: go.Figure, k: int, longest: int, height: int) -> go.Figure:
    """Give a figure over k its axes, and a line at the k in use."""
    if k <= longest:
        figure.add_vline(
            x=k,
            line_color=GREY,
            line_dash="dot",
            annotation_text=f"k = {k}",
            annotation_position="bottom right" if k < 0.9 * longest else "bottom left",
        )
    figure.update_xaxes(
        title="k: documents from the top",
        range=[0.5, max(longest, 2) + 0.5],
        automargin=True,
        tickformat="d",
        dtick=1 if longest <= 15 else 5,
    )
    figure.update_yaxes(title="mean over questions", range=[0, 1.02], automargin=True)
    return laid_out(figure, height, legend=LEGEND)


def _add_curve(figure: go.Figure, curve: Curve, look: tuple[str, str], title: str, k: int) -> None:
    """Add a curve up to the longest list, its interval drawn at k."""
    points = curve.points[: curve.longest]
    up = [point.high - point.mean if at == k else None for at, point in enumerate(points, 1)]
    down = [point.mean - point.low if at == k else None for at, point in enumerate(points, 1)]
    figure.add_scatter(
        x=curve.ks[: curve.longest],
        y=[point.mean for point in points],
        mode="lines+markers",
        name=title,
        line={"color": look[0]},
        marker={"symbol": look[1], "size": 7 if len(points) <= 20 else 4},
        error_y={"type": "data", "symmetric": False, "array": up, "arrayminus": down, "width": 5},
        customdata=[[point.low, point.high, point.n_scored] for point in points],
        hovertemplate=f"{title}, k = %{{x}}: %{{y:.3f}} [%{{customdata[0]:.3f}}, %{{customdata[1]:.3f}}], "
        "n = %{customdata[2]:,}<extra></extra>",
    )


def _add_baseline(figure: go.Figure, curve: Curve, colour: str, named: str) -> None:
    title = _title(curve.metric)
    figure.add_scatter(
        x=curve.ks[: curve.longest],
        y=[point.mean for point in curve.points[: curve.longest]],
        mode="lines",
        name=f"{title}, {named}",
        line={"color": colour, "dash": "dash", "width": 1.5},
        showlegend=False,
        hovertemplate=f"{title}, k = %{{x}}, of {named}: %{{y:.3f}}<extra></extra>",
    )


def type_lines(types: Sequence[TypeCurve], k: int) -> go.Figure:
    """Draw the primary metric of each type of question over k; a ring stands at the suggested k."""
    figure = go.Figure()
    measured = [one for one in types if one.curve is not None][: len(LOOKS)]
    for (colour, symbol), one in zip(LOOKS, measured, strict=False):
        assert one.curve is not None  # noqa: S101 -- those without are left out above
        title = chart_text(f"{shorten(one.name, 30)}: {_title(one.curve.metric)}")
        _add_curve(figure, one.curve, (colour, symbol), title, k)
        if one.suggested is not None:
            figure.add_scatter(
                x=[one.suggested],
                y=[one.curve.at(one.suggested).mean],
                mode="markers",
                showlegend=False,
                marker={"symbol": "circle-open", "size": 18, "color": colour, "line": {"width": 2}},
                hovertemplate=f"{title}: suggested k = {one.suggested}<extra></extra>",
            )
    longest = max((one.curve.longest for one in measured if one.curve), default=1)
    return _over_k(figure, k, longest, 340)


def hop_lines(curves: Sequence[Curve], k: int) -> go.Figure:
    """Draw how many questions have each hop, and all of them, in the top k."""
    figure = go.Figure()
    looks = [*LOOKS[1 : len(curves)], LOOKS[0]]  # all hops together in the first colour, heaviest
    for look, curve in zip(looks, curves, strict=False):
        title = "all hops" if curve.metric == HOPS else chart_text(shorten(curve.metric, 30))
        _add_curve(figure, curve, look, title, k)
    figure.data[-1].line.width = 3
    longest = max((curve.longest for curve in curves), default=1)
    return _over_k(figure, k, longest, 320).update_yaxes(title="share of questions", tickformat=".0%")


def _title(metric: str) -> str:
    return "MRR" if metric == "mrr" else title_of(f"{metric}@5").removesuffix("@5")


def first_gold_bars(counts: Mapping[str, int]) -> go.Figure:
    """Draw at which rank the first gold document stands; the last bar is for those without any."""
    marks = {rank: f"gold_at:{rank}" for rank in counts if rank.isdecimal()}
    deepest = max((int(rank) for rank in marks), default=0)
    marks |= {"deeper": f"gold_below:{deepest}", "not found": "gold_missed"}
    figure = go.Figure(
        go.Bar(
            x=list(counts),
            y=list(counts.values()),
            marker_color=[VERMILION if rank == "not found" else BLUE for rank in counts],
            marker_pattern_shape=["/" if rank == "not found" else "" for rank in counts],
            text=[f"{n:,}" if n else "" for n in counts.values()],
            textposition="outside",
            cliponaxis=False,
            customdata=[[marks[rank]] for rank in counts],
            hovertemplate="%{x}: %{y:,} cases<extra></extra>",
        )
    )
    figure.update_xaxes(title="rank of the first gold document", type="category", automargin=True)
    figure.update_yaxes(title="cases", rangemode="tozero", automargin=True, **_whole(counts.values()))
    return laid_out(figure, 300, showlegend=False, clickmode="event+select", bargap=0.3)


def move_bars(bars: Sequence[Bar]) -> go.Figure:
    """Draw what became of the gold between first pass and final list, in cases."""
    return _bars(bars, (GREY, GREEN, VERMILION, ORANGE, PURPLE), ("", ".", "/", "x", "\\"))


def _whole(counts: Iterable[int]) -> dict[str, object]:
    """Tick an axis of counts at whole numbers, also where all are small."""
    return {"tickformat": ",d", "dtick": 1 if max(counts, default=0) <= 5 else None}


def hop_bars(tallies: Sequence[HopTally]) -> go.Figure:
    """Draw how the multi-hop cases ended."""
    bars = [(one.title, one.n, one.cohort) for one in tallies]
    colours = [GREEN, *([VERMILION] * (len(bars) - 2)), ORANGE]
    shapes = ["", *(["/"] * (len(bars) - 2)), "x"]
    return _bars(bars, colours, shapes)


def _bars(bars: Sequence[Bar], colours: Sequence[str], shapes: Sequence[str]) -> go.Figure:
    figure = go.Figure(
        go.Bar(
            y=[chart_text(title) for title, _, _ in bars],
            x=[n for _, n, _ in bars],
            orientation="h",
            marker_color=list(colours[: len(bars)]),
            marker_pattern_shape=list(shapes[: len(bars)]),
            text=[f"{n:,}" for _, n, _ in bars],
            textposition="outside",
            cliponaxis=False,
            customdata=[[mark] for _, _, mark in bars],
            hovertemplate="%{y}: %{x:,} cases<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", automargin=True, ticksuffix="  ")
    figure.update_xaxes(title="cases", rangemode="tozero", automargin=True, **_whole([n for _, n, _ in bars]))
    return laid_out(
        figure, FRAME + ROW * max(len(bars), 2), showlegend=False, clickmode="event+select", bargap=0.35
    )
