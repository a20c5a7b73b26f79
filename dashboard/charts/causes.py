"""What costs quality: cases by context and faithfulness, the parts of F1, retrieval and generation error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import (
    BARE,
    BLUE,
    FRAME,
    GREEN,
    GREY,
    HOVER,
    ROW,
    VERMILION,
    Axis,
    Chart,
    ErrorBars,
    Note,
    ReferenceLine,
    Series,
    finite,
)
from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.diagnosis import GAP_PARTS, depth_of
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.comparison.oracle_gap import GapEstimate, GapKind, OracleGap
from ragtriage.metrics.diagnosis.f1_tree import F1Branch, F1Tree
from ragtriage.metrics.diagnosis.stages import Owner
from ragtriage.metrics.number_text import count, interval_text, number, signed

MAP_HEIGHT = 390
SMALLEST, LARGEST = 20, 32  # pixels across
_PLOT, _MARGINAL = (0.0, 0.84), (0.87, 1.0)  # of the figure's sides
BELOW = "↳ "  # before the name of a part, once for each part above it
FEWEST_SHOWN = 0.1  # the axis reaches at least so far
FILLS: Mapping[GapKind, tuple[str, str]] = {
    "retrieval": (BLUE, ""),
    "generation": (VERMILION, "/"),
    "context": (GREEN, "."),
}  # colour, and a pattern for those who do not see it


@dataclass(frozen=True)
class Bubble:
    """The cases of one cell of the map."""

    x: int  # x, y: cell along the context metric and along faithfulness, from 0 to 9
    y: int
    n: int
    owner: Owner | None  # the part of the pipeline at fault in most of its bad cases; "" where none is bad
    details: str  # what is shown on hover
    key: str  # the cohort that it opens


def case_bubbles(
    bubbles: Sequence[Bubble], thresholds: tuple[float, float], context_metric: str, tokens: Tokens
) -> go.Figure:
    """Draw cells of 0.1 as bubbles with their number of cases, their sums along both sides."""
    figure = go.Figure()
    most = max((bubble.n for bubble in bubbles), default=1)
    figure.add_scatter(
        x=[bubble.x / 10 + 0.05 for bubble in bubbles],
        y=[bubble.y / 10 + 0.05 for bubble in bubbles],
        mode="markers+text",
        text=[f"{bubble.n:,}" for bubble in bubbles],
        textfont={
            "size": 12,
            "color": [
                tokens.text if bubble.owner is None else tokens.on_stage[bubble.owner] for bubble in bubbles
            ],
        },
        marker={
            "size": [SMALLEST + (LARGEST - SMALLEST) * (bubble.n / most) ** 0.5 for bubble in bubbles],
            "color": [_fill(bubble.owner, tokens) for bubble in bubbles],
            "opacity": 1,
            "line": {"width": 1, "color": tokens.background},
        },
        customdata=[[bubble.key] for bubble in bubbles],
        hovertext=[chart_text(bubble.details) for bubble in bubbles],
        hovertemplate=HOVER,
        cliponaxis=False,
    )
    _zones(figure, thresholds, tokens)
    _marginals(figure, bubbles, tokens)
    ticks = {"tickvals": [0, 0.5, 1], "showgrid": False, "zeroline": False, "fixedrange": True}
    figure.update_layout(
        height=MAP_HEIGHT,
        margin={"l": 52, "r": 6, "t": 6, "b": 46},
        **BARE,
        font={"family": FONT, "size": 13, "color": tokens.text},
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


def f1_bars(tree: F1Tree) -> Chart:
    """Return what each perfect part would add to F1, as bars in the order of the tree."""
    branches = [branch for branch in tree.branches if branch.part.costs_f1]
    places = tuple(range(len(branches)))[::-1]  # the first part on top
    most = max([FEWEST_SHOWN, *(branch.gain.high for branch in branches)])
    bars = Series(
        "",
        finite(branch.gain.mean for branch in branches),
        places,
        BLUE,
        colours=tuple(BLUE if _side(branch, tree) == "recall" else VERMILION for branch in branches),
        patterns=tuple("" if _side(branch, tree) == "recall" else "/" for branch in branches),
        low=finite(branch.gain.low for branch in branches),
        high=finite(branch.gain.high for branch in branches),
        error_bars=ErrorBars(GREY, cap=5, thickness=1.5),
        n=tuple(branch.gain.n_scored for branch in branches),
        details=tuple(_details(branch) for branch in branches),
        keys=tuple((f"f1:{branch.part.key}" if branch.n_cases else "",) for branch in branches),
        in_legend=False,
    )
    names = tuple(f"{BELOW * depth_of(branch.part)}{branch.part.title}" for branch in branches[::-1])
    return Chart(
        "bars",
        (bars,),
        Axis(
            "F1 that a perfect part would add, at most; 95 % interval", low=0, high=1.3 * most, format=".2~f"
        ),
        Axis(names=names),
        FRAME + 30 + ROW * max(len(branches), 1),
        horizontal=True,
        lines=(ReferenceLine(0, True, GREY, "solid"),),
        notes=tuple(
            Note(
                f"{number(branch.bound)} at most · {count(branch.n_cases, 'case')}"
                if branch.n_cases
                else "0 in every case",
                max(branch.gain.mean, branch.gain.high),
                place,
            )
            for branch, place in zip(branches, places, strict=True)
        ),
        legend=False,
        clickable=True,
        bar_width=0.55,
    )


def _side(branch: F1Branch, tree: F1Tree) -> str:
    """Return whether a part belongs to precision or to recall."""
    parents = {other.part.key: other.part.parent for other in tree.branches}
    key = branch.part.key
    while parents[key]:
        key = parents[key]
    return key


def _details(branch: F1Branch) -> str:
    gain = f"{number(branch.gain.mean)} {interval_text(branch.gain.low, branch.gain.high)}"
    return f"{branch.part.title}, if perfect: + {gain}, n = {branch.gain.n_scored:,}"


def oracle_gap_bars(gap: OracleGap, cohorts: Mapping[GapKind, str], title: str) -> Chart:
    """Return the retrieval and the generation error as bars with their 95 % intervals."""
    parts = [part for part in gap.gaps if part.n]
    places = tuple(range(len(parts)))[::-1]  # the first part on top
    bars = Series(
        "",
        finite(part.value for part in parts),
        places,
        BLUE,
        colours=tuple(FILLS[part.key][0] for part in parts),
        patterns=tuple(FILLS[part.key][1] for part in parts),
        low=finite(part.low for part in parts),
        high=finite(part.high for part in parts),
        error_bars=ErrorBars(GREY, cap=6, thickness=2),
        n=tuple(part.n for part in parts),
        details=tuple(
            f"{GAP_PARTS[part.key]}: {_value(part)} {interval_text(part.low, part.high)}, n = {part.n:,}"
            for part in parts
        ),
        keys=tuple((cohorts.get(part.key, ""),) for part in parts),
        in_legend=False,
    )
    low, high = _range(parts)
    return Chart(
        "bars",
        (bars,),
        Axis(f"points of {title}, 95 % interval", low=low, high=high, format=".2~f"),
        Axis(names=tuple(GAP_PARTS[part.key] for part in parts[::-1])),
        FRAME + 30 + 2 * ROW * max(len(parts), 1),
        horizontal=True,
        lines=(ReferenceLine(0, True, GREY, "solid"),),
        notes=tuple(
            Note(f"{_value(part)}  n = {part.n:,}", max(part.value, part.high, 0.0), place)
            for part, place in zip(parts, places, strict=True)
        ),
        legend=False,
        clickable=True,
        bar_width=0.55,
    )


def _range(parts: Sequence[GapEstimate]) -> tuple[float, float]:
    """Return the range of the values with room for the numbers beside the bars."""
    low = min([0.0, *(min(part.value, part.low) for part in parts)])
    high = max([0.1, *(max(part.value, part.high) for part in parts)])
    return low - 0.03 * (high - low), high + 0.3 * (high - low)


def _value(part: GapEstimate) -> str:
    return signed(part.value) if part.key == "context" else number(part.value)
