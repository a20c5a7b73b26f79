"""The charts of experiments: quality by place, noise and arm; attacks, flips, languages, parsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.charts.chart import (
    Axis,
    Chart,
    ErrorBars,
    Heatmap,
    ReferenceLine,
    Series,
    finite,
    interval_series,
)
from ragtriage.dashboard.charts.style import BLUE, GREY, ORANGE, PURPLE
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.experiments.languages import LanguageFindings
from ragtriage.data.experiments.parsing import ParsingFindings
from ragtriage.data.experiments.position import PublishedCurves
from ragtriage.data.experiments.stability import FlipsByChange
from ragtriage.data.experiments.summary import ArmResult
from ragtriage.metrics.experiments.noise import NoiseEffect
from ragtriage.metrics.experiments.position import PositionEffect
from ragtriage.metrics.number_text import interval_text, number, percent
from ragtriage.metrics.statistics.intervals import Interval

HEIGHT, ROW, FRAME = 360, 34, 80
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
        FRAME + ROW * len(names),
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
        FRAME + ROW * max(len(listed), 2),
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
