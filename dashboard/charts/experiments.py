"""The charts of experiments, factors and costs: quality by place, noise and arm; attacks, flips, parsers."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import (
    BLUE,
    FRAME,
    GREY,
    LEGEND,
    ORANGE,
    PURPLE,
    Axis,
    Chart,
    ErrorBars,
    Heatmap,
    ReferenceLine,
    Series,
    error_bars,
    finite,
    interval_bars,
    interval_series,
    with_tokens,
)
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.wording.comparisons import effect_label
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.comparison.ablation import Effect
from ragtriage.data.comparison.leaderboard import CostPoint
from ragtriage.data.experiments.languages import LanguageFindings
from ragtriage.data.experiments.parsing import ParsingFindings
from ragtriage.data.experiments.position import PublishedCurves
from ragtriage.data.experiments.registry import ArmResult
from ragtriage.data.experiments.stability import FlipsByChange
from ragtriage.metrics.experiments.contexts import NoiseEffect, PositionEffect
from ragtriage.metrics.number_text import interval_text, number, percent
from ragtriage.metrics.statistics.intervals import Interval

HEIGHT, ROW, PLAIN_FRAME = 360, 34, 80
PUBLISHED = (("dash", "square-open"), ("dot", "diamond-open"), ("dash", "triangle-up-open"))
LONGEST_NAME = 44
WIDE_FRAME, LONGEST_ROW = 110, 34
PARSER_SCORES = (("nid", "text (NID)", BLUE), ("cell_recall", "table cells", ORANGE))


def position_curve(
    effect: PositionEffect,
    documents: int,
    title: str,
    floor: Interval | None,
    ceiling: Interval | None,
    published: PublishedCurves | None,
) -> Chart:
    """Return quality by the place of the gold document, from the first (0 %) to the last (100 %).

    Args:
        effect: of the place.
        documents: in a context.
        title: of the quality.
        floor: closed book; None where not asked.
        ceiling: the gold document alone.
        published: curves of another data set, drawn dashed in grey; None for none.
    """
    series = [_curve(title, [_place(rank, documents) for rank in effect.ranks], effect.means, effect.ranks)]
    for (dash, symbol), curve in zip(PUBLISHED, published.curves if published else (), strict=False):
        assert published is not None  # noqa: S101 -- its curves are listed
        series.append(
            Series(
                f"{curve.name}, published, other data",
                tuple(_place(rank, published.documents) for rank in published.ranks),
                finite(curve.quality),
                GREY,
                details=tuple(
                    f"{curve.name}, rank {rank} of {published.documents}: {percent(value)} (published)"
                    for rank, value in zip(published.ranks, curve.quality, strict=True)
                ),
                line="dash" if dash == "dash" else "dot",
                line_width=1.5,
                symbol=symbol,
                size=7,
            )
        )
    lines = [_line(floor, "closed book", "top left"), _line(ceiling, "gold alone", "top left")]
    return Chart(
        "points",
        tuple(series),
        Axis("place of the gold document, first to last", low=-0.03, high=1.03, step=0.25, format=".0%"),
        Axis(title, low=0, high=1.03, format=".0%"),
        HEIGHT,
        lines=tuple(line for line in lines if line is not None),
    )


def _place(rank: int, documents: int) -> float:
    return (rank - 1) / max(documents - 1, 1)


def _line(value: Interval | None, name: str, position: str) -> ReferenceLine | None:
    if value is None or not value.n_scored:
        return None
    return ReferenceLine(value.mean, False, ORANGE, "dot", f"{name} {percent(value.mean)}", position)


def _curve(name: str, x: Sequence[float], means: Sequence[Interval], labels: Sequence[object]) -> Series:
    return interval_series(
        name,
        means,
        x,
        BLUE,
        error_bars=ErrorBars(cap=5),
        details=tuple(
            f"{label}: {number(mean.mean, 3)} {interval_text(mean.low, mean.high, 3)}, n = {mean.n_scored:,}"
            for label, mean in zip(labels, means, strict=True)
        ),
        line="solid",
        line_width=2.5,
        symbol="circle",
        size=9,
    )


def noise_curve(effect: NoiseEffect, title: str) -> Chart:
    """Return quality by the share of noise in the context."""
    labels = [f"{percent(level)} noise" for level in effect.levels]
    return Chart(
        "points",
        (_curve(title, effect.levels, effect.means, labels),),
        Axis("share of noise in the context", low=-0.03, high=1.0, step=0.2, format=".0%"),
        Axis(title, low=0, high=1.03, format=".0%"),
        HEIGHT,
        legend=False,
    )


def outcome_bars(shares: Mapping[str, Interval]) -> Chart:
    """Return what answers from an altered document follow, as shares with intervals."""
    names = list(shares)[::-1]
    means = [shares[name] for name in names]
    series = interval_series(
        "",
        means,
        map(float, range(len(names))),
        PURPLE,
        horizontal=True,
        error_bars=ErrorBars(cap=5),
        details=tuple(
            f"{name}: {percent(mean.mean)} {interval_text(mean.low, mean.high)}, n = {mean.n_scored:,}"
            for name, mean in zip(names, means, strict=True)
        ),
        in_legend=False,
    )
    return Chart(
        "bars",
        (series,),
        Axis("share of answers", low=0, high=1.0, format=".0%"),
        Axis(names=tuple(names)),
        PLAIN_FRAME + ROW * len(names),
        horizontal=True,
        legend=False,
    )


def arm_dots(arms: Sequence[ArmResult], title: str) -> Chart:
    """Return the quality of each arm with its interval, the first on top."""
    listed = list(reversed(arms))
    series = interval_series(
        title,
        [arm.quality for arm in listed],
        map(float, range(len(listed))),
        BLUE,
        horizontal=True,
        error_bars=ErrorBars(cap=5),
        symbol="circle",
        size=10,
        in_legend=False,
    )
    return Chart(
        "points",
        (series,),
        Axis(title, low=0, high=1.03),
        Axis(names=tuple(shorten(arm.arm.title, LONGEST_NAME) for arm in listed), unique=False),
        PLAIN_FRAME + ROW * max(len(listed), 2),
        horizontal=True,
        legend=False,
    )


def attack_dots(names: Sequence[str], success: Sequence[Interval], right: Sequence[Interval]) -> Chart:
    """Return attack success and right answers of each way to poison, on one axis, the first on top."""
    return _dots(
        names, (("attack success", success, ORANGE), ("right answers", right, BLUE)), "share of cases"
    )


def flip_dots(changes: Sequence[FlipsByChange]) -> Chart:
    """Return the share of questions that flip by kind of change, the first on top."""
    rates = [each.flips.rate for each in changes]
    return _dots(
        [each.change for each in changes], (("questions that flip", rates, ORANGE),), "share of questions"
    )


def parser_dots(findings: ParsingFindings) -> Chart:
    """Return text similarity and table cells found of each parser, the first on top."""
    parsers = list(findings.parsers.values())
    series = [
        (name, [parser.means[score] for parser in parsers], colour)
        for score, name, colour in PARSER_SCORES
        if all(score in parser.means for parser in parsers)
    ]
    return _dots(list(findings.parsers), series, "mean over pages")


def _dots(names: Sequence[str], measured: Sequence[tuple[str, Sequence[Interval], str]], title: str) -> Chart:
    step = 0.22
    first = -step * (len(measured) - 1) / 2
    places = range(len(names) - 1, -1, -1)
    series = [
        _row_series(name, values, colour, [place - first - step * at for place in places], names)
        for at, (name, values, colour) in enumerate(measured)
    ]
    return Chart(
        "points",
        tuple(series),
        Axis(title, low=-0.02, high=1.03, format=".0%"),
        Axis(names=tuple(shorten(name, LONGEST_ROW) for name in reversed(names)), unique=False),
        WIDE_FRAME + ROW * max(len(names), 2),
        horizontal=True,
        legend=len(measured) > 1,
    )


def _row_series(
    name: str, values: Sequence[Interval], colour: str, places: Sequence[float], rows: Sequence[str]
) -> Series:
    return interval_series(
        name,
        values,
        places,
        colour,
        horizontal=True,
        error_bars=ErrorBars(cap=4),
        details=tuple(
            f"{row}, {name}: {percent(value.mean)} {interval_text(value.low, value.high)}, "
            f"n = {value.n_scored:,}"
            for row, value in zip(rows, values, strict=True)
        ),
        symbol="circle",
        size=10,
    )


def language_map(findings: LanguageFindings, title: str) -> Heatmap:
    """Return quality by the language of the question (row) and of the passages (column), with empty lists."""
    columns = [
        name for name in findings.languages if any(cell.passage_language == name for cell in findings.cells)
    ]
    rows = [
        name for name in findings.languages if any(cell.question_language == name for cell in findings.cells)
    ]
    cells = {(cell.question_language, cell.passage_language): cell for cell in findings.cells}
    bottom_up = rows[::-1]
    grid = [[cells.get((row, column)) for column in columns] for row in bottom_up]
    return Heatmap(
        "",
        Axis("language of the passages", names=tuple(columns)),
        Axis("language of the questions", names=tuple(bottom_up)),
        tuple(finite(None if cell is None else cell.quality.mean for cell in row) for row in grid),
        tuple(
            tuple(
                "" if cell is None else f"{number(cell.quality.mean)}\n{_empty(cell.empty)}" for cell in row
            )
            for row in grid
        ),
        WIDE_FRAME + 20 + 46 * len(rows),
        details=tuple(
            tuple(
                ""
                if cell is None
                else f"questions in {cell.question_language}, passages in {cell.passage_language}\n{title} "
                f"{number(cell.quality.mean, 3)} {interval_text(cell.quality.low, cell.quality.high, 3)}\n"
                f"MRR@10 {number(cell.mrr.mean, 3)}\n{cell.empty:,} of {cell.n:,} lists are empty"
                for cell in row
            )
            for row in grid
        ),
        keys=tuple(
            tuple(None if cell is None else (cell.question_language, cell.passage_language) for cell in row)
            for row in grid
        ),
    )


def _empty(empty: int) -> str:
    return f"{empty:,} empty" if empty else ""


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
