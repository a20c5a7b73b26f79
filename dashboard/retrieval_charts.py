"""The charts of the Retrieval page as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboard.chart_layout import FRAME, LEGEND, ROW, laid_out
from dashboard.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION
from dashboard.text import chart_text, shorten
from data.retrieval_curves import Curve, HopTally
from data.summaries import title_of

__all__ = ["first_gold_bars", "hop_bars", "k_curves", "move_bars"]

LOOKS = (
    (BLUE, "circle"),
    (VERMILION, "square"),
    (GREEN, "diamond"),
    (PURPLE, "triangle-up"),
    (ORANGE, "cross"),
)
Bar = tuple[str, int, str]  # what it says, how many, the mark it leads to


def k_curves(ours: Sequence[Curve], base: Sequence[Curve], k: int, base_name: str) -> go.Figure:
    """Draw metrics over the rank cut-off; the k in use is a vertical line, the baseline dashed."""
    figure = go.Figure()
    by_metric = {curve.metric: curve for curve in base}
    for (colour, symbol), curve in zip(LOOKS, ours, strict=False):
        title = _title(curve.metric)
        figure.add_scatter(
            x=curve.ks,
            y=[point.mean for point in curve.points],
            mode="lines+markers",
            name=title,
            line={"color": colour},
            marker={"symbol": symbol, "size": 7},
            customdata=[[point.low, point.high, point.n_scored] for point in curve.points],
            hovertemplate=f"{title}@%{{x}}: %{{y:.3f}} [%{{customdata[0]:.3f}}, %{{customdata[1]:.3f}}], "
            "n = %{customdata[2]:,}<extra></extra>",
        )
        if curve.metric in by_metric:
            other = by_metric[curve.metric]
            named = chart_text(shorten(base_name, 40))
            figure.add_scatter(
                x=other.ks,
                y=[point.mean for point in other.points],
                mode="lines",
                name=f"{title}, {named}",
                line={"color": colour, "dash": "dash", "width": 1.5},
                showlegend=False,
                hovertemplate=f"{title}@%{{x}} of {named}: %{{y:.3f}}<extra></extra>",
            )
    figure.add_vline(
        x=k, line_color=GREY, line_dash="dot", annotation_text=f"k = {k}", annotation_position="bottom right"
    )
    figure.update_xaxes(title="k: documents from the top", automargin=True, tickformat="d")
    figure.update_yaxes(title="mean over questions", range=[0, 1.02], automargin=True)
    return laid_out(figure, 400, legend=LEGEND)


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
    figure.update_yaxes(title="cases", tickformat=",d", rangemode="tozero", automargin=True)
    return laid_out(figure, 300, showlegend=False, clickmode="event+select", bargap=0.3)


def move_bars(bars: Sequence[Bar]) -> go.Figure:
    """Draw what became of the gold between first pass and final list, in cases."""
    return _bars(bars, (GREY, GREEN, VERMILION, ORANGE, PURPLE), ("", "", "/", "", "x"))


def hop_bars(tallies: Sequence[HopTally]) -> go.Figure:
    """Draw how the multi-hop cases ended."""
    bars = [(one.title, one.n, one.mark) for one in tallies]
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
    figure.update_xaxes(title="cases", tickformat=",d", rangemode="tozero", automargin=True)
    return laid_out(
        figure, FRAME + ROW * max(len(bars), 2), showlegend=False, clickmode="event+select", bargap=0.35
    )
