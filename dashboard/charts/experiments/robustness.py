"""The charts of the experiments on injection, stability, languages and parsing, as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.charts.chart import Axis, Chart, ErrorBars, Heatmap, Series, finite
from ragtriage.dashboard.charts.style import BLUE, ORANGE
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.experiments.languages import LanguageFindings
from ragtriage.data.experiments.parsing import ParsingFindings
from ragtriage.data.experiments.stability import FlipsByChange
from ragtriage.metrics.number_text import interval_text, number, percent
from ragtriage.metrics.statistics.intervals import Interval

ROW, FRAME, LONGEST = 34, 110, 34
PARSER_SCORES = (("nid", "text (NID)", BLUE), ("cell_recall", "table cells", ORANGE))


def attack_dots(names: Sequence[str], success: Sequence[Interval], right: Sequence[Interval]) -> Chart:
    """Return attack success and right answers of each way to poison, on one axis, the first on top.

    Args:
        names: of the ways to poison.
        success: attack success rate of each.
        right: share of right answers of each.
    """
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
        Axis(names=tuple(shorten(name, LONGEST) for name in reversed(names)), unique=False),
        FRAME + ROW * max(len(names), 2),
        horizontal=True,
        legend=len(measured) > 1,
    )


def _row_series(
    name: str, values: Sequence[Interval], colour: str, places: Sequence[float], rows: Sequence[str]
) -> Series:
    return Series(
        name,
        finite(value.mean for value in values),
        tuple(places),
        colour,
        low=finite(value.low for value in values),
        high=finite(value.high for value in values),
        error_bars=ErrorBars(cap=4),
        n=tuple(value.n_scored for value in values),
        details=tuple(
            f"{row}, {name}: {percent(value.mean)} {interval_text(value.low, value.high)}, "
            f"n = {value.n_scored:,}"
            for row, value in zip(rows, values, strict=True)
        ),
        symbol="circle",
        size=10,
    )


def language_map(findings: LanguageFindings, title: str) -> Heatmap:
    """Return quality by the language of the question (row) and of the passages (column), with empty lists.

    Args:
        findings: with a matrix.
        title: of the quality.
    """
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
        FRAME + 20 + 46 * len(rows),
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
