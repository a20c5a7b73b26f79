"""The charts of the Chunking page as pure functions."""

from collections.abc import Mapping, Sequence
from math import isfinite
from textwrap import wrap

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import HOVER, ORANGE, Axis, Dash, Frame, Heatmap, finite, with_tokens
from ragtriage.dashboard.charts.tokens import Tokens, text_on
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.chunking.grids import Grid, GridRanking, MarginalEffect, TrialValue
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.number_text import interval_text, number, signed

OUTCOME_SYMBOLS = {
    "best": "★",
    "same": "≈",
    "worse": "",
    "equal": "=",
    "no direction": "",
    "mean alone": "",
    "not measured": "",
}
ROW_PIXELS = 46
FRAMES: Mapping[str, tuple[float, Dash]] = {"best": (3.5, "solid"), "same": (2, "dot")}  # width and dashes


def heatmap(grid: Grid, ranking: GridRanking, title: str) -> Heatmap:
    """Return a metric over size and overlap; configurations that were not run stay blank.

    ★ marks the best one, ≈ those that a paired test cannot tell from it, which are outlined too.
    """
    rows = [[_with_value(ranking.at(size, overlap)) for overlap in grid.overlaps] for size in grid.sizes]
    unit = f" ({grid.unit})" if grid.unit else ""
    return Heatmap(
        title,
        Axis(f"overlap{unit}", names=tuple(str(overlap) for overlap in grid.overlaps)),
        Axis(f"size{unit}", names=tuple(str(size) for size in grid.sizes)),
        tuple(finite(entry.value.mean if entry and entry.value else None for entry in row) for row in rows),
        tuple(tuple(_label(entry) for entry in row) for row in rows),
        120 + ROW_PIXELS * len(rows),
        scale=((0.0, "#e4eff7"), (0.5, "#7fb6d9"), (1.0, "#0b5e94")),
        details=tuple(tuple(_details(entry) for entry in row) for row in rows),
        keys=tuple(tuple((entry.trial.run.run_id,) if entry else None for entry in row) for row in rows),
        frames=tuple(
            Frame(row, column, ORANGE, *FRAMES[entry.outcome])
            for row, entries in enumerate(rows)
            for column, entry in enumerate(entries)
            if entry is not None and entry.outcome in FRAMES
        ),
    )


def _with_value(entry: TrialValue | None) -> TrialValue | None:
    return None if entry is None or entry.value is None else entry


def _label(entry: TrialValue | None) -> str:
    if entry is None or entry.value is None:
        return ""
    return f"{number(entry.value.mean, 3)} {OUTCOME_SYMBOLS[entry.outcome]}".strip()


def _details(entry: TrialValue | None) -> str:
    if entry is None or entry.value is None:
        return ""
    value, to_the_best = entry.value, ""
    if entry.outcome == "mean alone":
        mean = f"{number(value.mean, 3)}, a mean alone, without samples"
        return f"size {entry.trial.size}, overlap {entry.trial.overlap}\n{mean}"
    by_itself = f"{number(value.mean, 3)} {interval_text(value.low, value.high, 3)} by itself"
    if entry.difference is not None and entry.test is not None:
        gap = interval_text(entry.test.low, entry.test.high, 3)
        to_the_best = f": {signed(entry.difference.difference, 3)} {gap} to the best"
    return (
        f"size {entry.trial.size}, overlap {entry.trial.overlap}\n"
        f"{by_itself}, n = {value.n_scored:,}\n"
        f"{entry.outcome}{to_the_best}"
    )


HERO_HEIGHT = 390  # pixels
MOST_OTHERS, APART = 2, 0.15  # columns beside the map, and their distance from it in columns
CHEAPEST = "◆"
MOST_INTERVALS = 5  # columns of a map that leave room for an interval in each cell
LARGE, SMALL, CELL = 16, 12, 60  # pixels: of a number, of its interval, of what takes a click
MAP_END, MARGIN_START = 0.8, 0.87  # shares of the width and the height


def grid_map(grid: Grid, ranking: GridRanking, cheapest: str, tokens: Tokens) -> go.Figure:
    """Draw a metric over size and overlap, with the mean over the other of the two at its edges.

    ★ marks the best configuration, ≈ those that a paired test cannot tell from it, ◆ the cheapest of these.
    The best of those that split in another way stand beside the map, each a cell of its full height.
    """
    intervals = len(grid.sizes) <= MOST_INTERVALS and not grid.means_alone
    figure = _cells(grid, ranking, cheapest, tokens, LARGE, intervals)
    for effect in ranking.marginal_effects:
        _add_margin(figure, grid, effect, tokens)
    unit = f" ({grid.unit})" if grid.unit else ""
    with_tokens(
        figure, tokens, HERO_HEIGHT, clickmode="event+select", margin={"l": 8, "r": 8, "t": 8, "b": 8}
    )
    for axis, title in ((figure.layout.xaxis, "chunk size"), (figure.layout.yaxis, "overlap")):
        named = {"text": chart_text(f"{title}{unit}"), "font": {"size": 13}}
        axis.update(title=named, domain=[0, MAP_END if ranking.marginal_effects else 1.0])
    return figure


def _cells(
    grid: Grid, ranking: GridRanking, cheapest: str, tokens: Tokens, size: int, intervals: bool
) -> go.Figure:
    """Draw the cells with their numbers; each takes a click that names its run."""
    others = others_of(ranking)
    middle, first = (len(grid.overlaps) - 1) / 2, len(grid.sizes) + APART
    places: list[tuple[float, float, TrialValue]] = [
        *(
            (column, row, entry)
            for column, chunk_size in enumerate(grid.sizes)
            for row, overlap in enumerate(grid.overlaps)
            if (entry := _with_value(ranking.at(chunk_size, overlap))) is not None
        ),
        *((first + at, middle, entry) for at, entry in enumerate(others)),
    ]
    steps = [round(share * (len(tokens.sequential) - 1)) for share in _goodness(ranking.metric, places)]
    z: list[list[int | None]] = [[None] * len(grid.sizes) for _ in grid.overlaps]
    for (column, row, _), step in zip(places[: len(places) - len(others)], steps, strict=False):
        z[int(row)][int(column)] = step
    last = len(tokens.sequential) - 1
    figure = go.Figure(
        go.Heatmap(
            x=list(range(len(grid.sizes))), y=list(range(len(grid.overlaps))), z=z, zmin=0, zmax=last,
            colorscale=[[at / last, colour] for at, colour in enumerate(tokens.sequential)],
            showscale=False, xgap=3, ygap=3, hoverinfo="skip",
        )
    )  # fmt: skip
    figure.add_scatter(
        x=[column for column, *_ in places], y=[row for _, row, _ in places], mode="markers+text",
        marker={"symbol": "square", "size": CELL if intervals else CELL // 2, "color": "rgba(0,0,0,0)"},
        text=[_cell_text(entry, cheapest, intervals) for *_, entry in places],
        textfont={"size": size, "color": [text_on(tokens.sequential[step]) for step in steps]},
        customdata=[[entry.trial.run.run_id] for *_, entry in places],
        hovertext=[chart_text(_details(entry)).replace("\n", "<br>") for *_, entry in places],
        hovertemplate=HOVER,
    )  # fmt: skip
    for (column, row, entry), step in zip(places, steps, strict=True):
        up = 0.47 + (middle if column >= first else 0)
        box = {"type": "rect", "x0": column - 0.48, "x1": column + 0.48, "y0": row - up, "y1": row + up}
        if column >= first:
            figure.add_shape(**box, fillcolor=tokens.sequential[step], line={"width": 0}, layer="below")
        if entry.outcome == "best":
            figure.add_shape(**box, line={"color": tokens.stages["format"], "width": 4})
    titles: list[tuple[float, str]] = [(at, f"{size:,}") for at, size in enumerate(grid.sizes)]
    titles += [
        (first + at, "<br>".join(map(chart_text, wrap(shorten(entry.trial.run.name, 54), 18))))
        for at, entry in enumerate(others)
    ]
    end = first + len(others) if others else len(grid.sizes)
    for axis, ticks, reach in (
        (figure.layout.xaxis, titles, end),
        (figure.layout.yaxis, [(at, f"{overlap:,}") for at, overlap in enumerate(grid.overlaps)], None),
    ):
        axis.update(
            tickvals=[at for at, _ in ticks], ticktext=[title for _, title in ticks],
            range=[-0.5, (len(ticks) if reach is None else reach) - 0.5], showgrid=False, zeroline=False,
        )  # fmt: skip
    return figure


def others_of(ranking: GridRanking) -> list[TrialValue]:
    """Return the configurations beside the map, which split in another way, the best first."""
    values = [
        entry for entry in ranking.values if entry.value and entry.trial.run.run_id not in ranking.heatmap
    ]
    declaration = declared(ranking.metric)
    sign = 1.0 if declaration is not None and declaration.higher_is_better is False else -1.0
    return sorted(values, key=lambda entry: sign * entry.value.mean if entry.value else 0.0)[:MOST_OTHERS]


def _goodness(metric: str, places: Sequence[tuple[float, float, TrialValue]]) -> list[float]:
    """Return how dark each cell is, from 0 to 1: the better the value, the darker."""
    shares = shares_of([entry.value.mean if entry.value else 0.0 for *_, entry in places])
    declaration = declared(metric)
    lower_is_better = declaration is not None and declaration.higher_is_better is False
    return [1.0 - share for share in shares] if lower_is_better else shares


def shares_of(values: Sequence[float]) -> list[float]:
    """Return where values lie between the least and the greatest, 0.5 where all are equal or not finite."""
    known = [value for value in values if isfinite(value)]
    low, high = min(known, default=0.0) / 2, max(known, default=0.0) / 2  # halves, whose difference is finite
    return [(value / 2 - low) / (high - low) if isfinite(value) and high > low else 0.5 for value in values]


def _cell_text(entry: TrialValue, cheapest: str, intervals: bool) -> str:
    if entry.value is None:
        return ""
    symbol = OUTCOME_SYMBOLS[entry.outcome]
    before = ["★"] if entry.outcome == "best" else []
    before += [CHEAPEST] if cheapest and entry.trial.run.run_id == cheapest else []
    after = [symbol] if symbol and entry.outcome != "best" else []
    text = f"<b>{' '.join([*before, number(entry.value.mean, 3), *after])}</b>"
    if not intervals:
        return text
    low, high = number(entry.value.low), number(entry.value.high)
    return f"{text}<br><span style='font-size:{SMALL}px'>{low} to {high}</span>"


def _add_margin(figure: go.Figure, grid: Grid, effect: MarginalEffect, tokens: Tokens) -> None:
    """Draw the mean over the other axis at an edge of the map: above it by size, at its right by overlap."""
    by_size = effect.axis == "size"
    names = grid.sizes if by_size else grid.overlaps
    at = [names.index(value) for value, _ in effect.points]
    means = [interval.mean for _, interval in effect.points]
    shares = shares_of(means)
    n = [interval.n_scored for _, interval in effect.points]
    over = ", ".join(f"{value:,}" for value in effect.over)
    other = "overlap" if by_size else "size"
    hover = [
        f"{effect.axis} {value:,}: {number(interval.mean, 3)} "
        f"{interval_text(interval.low, interval.high, 3)}, n = {scored:,}<br>mean over {other} {over}"
        for (value, interval), scored in zip(effect.points, n, strict=True)
    ]
    figure.add_scatter(
        x=at if by_size else shares, y=shares if by_size else at,
        xaxis="x" if by_size else "x2", yaxis="y2" if by_size else "y",
        mode="lines+markers+text", text=[number(mean, 3) for mean in means],
        textposition="top center" if by_size else "middle right",
        textfont={"size": 13, "color": tokens.text},
        line={"color": tokens.primary, "width": 2}, marker={"color": tokens.primary, "size": 8},
        hovertext=hover, hovertemplate=HOVER, cliponaxis=False,
    )  # fmt: skip
    hidden = {"visible": False, "fixedrange": True, "domain": [MARGIN_START, 1]}
    if by_size:
        figure.update_layout(yaxis2={**hidden, "anchor": "x", "range": [-0.2, 1.9]})
    else:
        figure.update_layout(xaxis2={**hidden, "anchor": "y", "range": [-0.2, 3.4]})
