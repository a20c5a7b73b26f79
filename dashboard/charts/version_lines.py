"""A metric over the runs of a project: large for the Trend page, small, and for reports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import floor, isfinite, log10

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import (
    BLUE,
    GREY,
    HOVER,
    Axis,
    Chart,
    ErrorBars,
    ReferenceLine,
    Series,
    error_bars,
    finite,
    set_places,
    with_tokens,
)
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.comparison.trend import Level
from ragtriage.metrics.number_text import interval_text, number

LONGEST_RELEASE = 24
RELEASE_SHIFT = 9  # pixels between the name of a release and its line, which interval and marker cover
RING = 21  # pixels
HEIGHT, SMALL_HEIGHT = 430, 110
MOST_VALUES = 12  # versions that leave room for the value beside each point
LARGEST = 1e15  # greater values are drawn in units of a power of ten
NOT_COMPARABLE = "not fully comparable with the baseline"
LOOKS = {  # colour token, symbol, pixels
    "worse": ("bad", "triangle-down", 13),
    "better": ("good", "triangle-up", 12),
    "no worse": ("muted", "triangle-up-open", 11),
    "equal": ("muted", "line-ew-open", 13),
    "cannot tell": ("muted", "circle-open", 10),
    "no direction": ("muted", "circle-open-dot", 10),
    "estimated": ("muted", "circle-dot", 9),
    "no shared question": ("muted", "x", 10),
    "baseline": ("primary", "diamond", 13),
    "before the baseline": ("muted", "circle", 6),
    "no baseline": ("muted", "circle", 10),
    "mean only": ("muted", "circle-open", 10),
}
POINT_HOVER = "%{customdata[1]}<br>%{customdata[2]}<br>%{customdata[3]}<br>%{customdata[4]}<extra></extra>"


@dataclass(frozen=True)
class TrendMark:
    """One run in the chart."""

    run_id: str
    label: str
    when: datetime  # when it was created, in UTC
    level: Level  # the metric in it
    look: str  # its outcome against the baseline, a key of LOOKS
    difference_text: str = ""  # the difference to the baseline in words, "" for none
    not_comparable: bool = False  # whether questions, data set, judge or source differ from the baseline's
    current: bool = False  # whether it is the run on display
    release: str = ""  # name of the release, "" for a run that is none


def trend_lines(
    runs: Sequence[TrendMark], title: str, baseline: float | None, tokens: Tokens, by_time: bool = False
) -> go.Figure:
    """Draw a metric over runs: a line with 95 % intervals, the baseline dotted, releases as vertical lines.

    Each verdict has its own marker and colour; an aggregate-only run is hollow, without an interval.

    Args:
        runs: oldest first.
        title: of the metric.
        baseline: level of the baseline; None for none.
        tokens: colours.
        by_time: place runs by when they were made; in equal steps otherwise.
    """
    unit = _unit(runs)
    figure = go.Figure()
    places: list[object] = [run.when if by_time else at for at, run in enumerate(runs)]
    measured = [
        (x, replace(run, level=_in_units(run.level, unit)))
        for x, run in zip(places, runs, strict=True)
        if _drawn(run.level)
    ]
    texts = _custom_data(runs)
    if len(measured) > 1:
        figure.add_scatter(
            x=[x for x, _ in measured], y=[run.level.mean for _, run in measured], mode="lines",
            line={"color": tokens.muted, "width": 1.5}, hoverinfo="skip", showlegend=False, name="line",
        )  # fmt: skip
    _add_rings(figure, measured, tokens)
    for verdict, (colour, symbol, size) in LOOKS.items():
        points = [(x, run) for x, run in measured if run.look == verdict]
        if points:
            marker = {"color": _colour(tokens, colour), "symbol": symbol, "size": size}
            _add_points(figure, points, verdict, marker, len(measured) <= MOST_VALUES, texts, tokens)
    if baseline is not None and isfinite(baseline):
        figure.add_hline(
            y=baseline / unit, line_dash="dot", line_color=tokens.muted, line_width=1.5,
            annotation_text="baseline", annotation_position="top right",
            annotation_font={"size": 12, "color": tokens.muted},
        )  # fmt: skip
    for x, run in zip(places, runs, strict=True):
        if run.release:
            _add_release(figure, x, run.release, tokens)
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"size": 12}}
    margin = {"l": 8, "r": 16, "t": 34, "b": 24}
    with_tokens(
        figure, tokens, HEIGHT, legend=legend, showlegend=True, clickmode="event+select", margin=margin
    )
    _set_x_axis(figure, runs, by_time, len(measured) <= MOST_VALUES)
    scale = "" if unit == 1.0 else f" (× {unit:.0e})"
    grid = {"showgrid": True, "gridcolor": tokens.border, "zeroline": False}
    named = {"text": chart_text(f"{title}{scale}"), "font": {"size": 13}}
    figure.update_yaxes(title=named, automargin=True, **grid)
    return figure.update_xaxes(showgrid=False, zeroline=False)


def _colour(tokens: Tokens, name: str) -> str:
    if name in ("good", "bad"):
        return str(getattr(tokens, name).text)
    return str(getattr(tokens, name))


def _drawn(level: Level) -> bool:
    return level.mean is not None and isfinite(level.mean)


def _unit(runs: Sequence[TrendMark]) -> float:
    """Return what values are drawn in: 1, or a power of ten where the axis could not hold them."""
    largest = max((abs(run.level.mean or 0.0) for run in runs if _drawn(run.level)), default=0.0)
    return 1.0 if largest < LARGEST else float(10.0 ** floor(log10(largest)))


def _in_units(level: Level, unit: float) -> Level:
    values = [None if value is None else value / unit for value in (level.mean, level.low, level.high)]
    return replace(level, mean=values[0], low=values[1], high=values[2])


def _add_rings(figure: go.Figure, measured: Sequence[tuple[object, TrendMark]], tokens: Tokens) -> None:
    """Draw rings: a square where not fully comparable with the baseline, a circle for the run on display."""
    rings = (
        (
            NOT_COMPARABLE,
            "square-open",
            tokens.unclear.text,
            [run for run in measured if run[1].not_comparable],
        ),
        ("selected", "circle-open", tokens.primary, [run for run in measured if run[1].current]),
    )
    for name, symbol, colour, points in rings:
        if points:
            figure.add_scatter(
                x=[x for x, _ in points],
                y=[run.level.mean for _, run in points],
                mode="markers",
                name=name,
                marker={"symbol": symbol, "size": RING, "color": colour, "line": {"width": 1.5}},
                hoverinfo="skip",
            )


def _add_points(
    figure: go.Figure,
    points: Sequence[tuple[object, TrendMark]],
    name: str,
    marker: dict[str, object],
    with_values: bool,
    texts: dict[str, list[str]],
    tokens: Tokens,
) -> None:
    """Draw the points of one verdict, their intervals as pale bars, their values where there is room."""
    levels = [run.level for _, run in points]
    means = [level.mean for level in levels]
    bars = error_bars(means, [level.low for level in levels], [level.high for level in levels], width=0)
    bars |= {"thickness": 12 if with_values else 5, "color": tokens.alive}
    figure.add_scatter(
        x=[x for x, _ in points],
        y=means,
        mode="markers+text" if with_values else "markers",
        name=name,
        marker={**marker, "line": {"width": 2, "color": marker["color"]}},
        error_y=None if all(level.low is None for level in levels) else bars,
        text=[f"<b>{texts[run.run_id][5]}</b>" for _, run in points] if with_values else None,
        textposition="middle right",
        textfont={"size": 13, "color": tokens.text},
        customdata=[texts[run.run_id][:5] for _, run in points],
        hovertemplate=POINT_HOVER,
    )


def _custom_data(runs: Sequence[TrendMark]) -> dict[str, list[str]]:
    """Return by run the custom data of its point (the run, the lines shown on hover) and its value."""
    texts = {}
    for run in runs:
        level = run.level
        n = f"n = {level.n:,}" if level.n else "n not stated"
        value = f"{number(level.mean, 3)} {interval_text(level.low, level.high, 3)}, {n}"
        if level.reported:
            value = f"{number(level.mean, 3)}, stated; no sample, no interval"
        texts[run.run_id] = [
            run.run_id,
            chart_text(shorten(run.label, 60)),
            f"{run.when:%Y-%m-%d %H:%M} UTC",
            value,
            chart_text(run.difference_text or run.look),
            f"  {number(level.mean)}",
        ]
    return texts


def _add_release(figure: go.Figure, x: object, name: str, tokens: Tokens) -> None:
    figure.add_shape(
        type="line", x0=x, x1=x, y0=0, y1=1, yref="paper",
        line={"color": tokens.muted, "width": 1, "dash": "dot"}, layer="below",
    )  # fmt: skip
    figure.add_annotation(
        x=x,
        y=1,
        yref="paper",
        text=chart_text(shorten(name, LONGEST_RELEASE)),
        textangle=-90,
        showarrow=False,
        xanchor="right",
        xshift=-RELEASE_SHIFT,
        yanchor="top",
        font={"size": 12, "color": tokens.muted},
    )


def _set_x_axis(figure: go.Figure, runs: Sequence[TrendMark], by_time: bool, with_values: bool) -> None:
    if by_time:
        figure.update_xaxes(type="date", title="made, UTC", automargin=True)
        return
    set_places(figure, [run.label for run in runs])
    figure.update_xaxes(tickangle=None)  # turned only where names would overlap
    if with_values:  # room for the last of them
        start, end = figure.layout.xaxis.range
        figure.update_xaxes(range=[start, end + len(runs) / 20])


def small_trend(
    levels: Sequence[Level], labels: Sequence[str], metric: str, state: str, tokens: Tokens
) -> go.Figure:
    """Draw a metric over runs, small: the newest point filled where its change is beyond chance."""
    marks = [
        TrendMark("", label, datetime.min, level, "")  # noqa: DTZ901 - no time of any zone
        for label, level in zip(labels, levels, strict=True)
    ]
    unit = _unit(marks)
    points = [(at, _in_units(level, unit)) for at, level in enumerate(levels) if _drawn(level)]
    means = [level.mean for _, level in points]
    newest, colour = len(points) - 1, _colour(tokens, state)
    filled = tokens.background if state == "muted" else colour
    ends = (0, newest)  # whose values are written
    bars = error_bars(means, [level.low for _, level in points], [level.high for _, level in points], width=0)
    marker = {
        "size": [*[5] * newest, 8],
        "color": [*[tokens.background] * newest, filled],
        "line": {"color": [*[tokens.muted] * newest, colour], "width": 2},
    }
    figure = go.Figure(
        go.Scatter(
            x=[at for at, _ in points], y=means, mode="lines+markers+text",
            line={"color": tokens.muted, "width": 1.5},
            marker=marker,
            error_y=bars | {"thickness": 7 if len(points) <= MOST_VALUES else 3, "color": tokens.alive},
            text=[number(levels[at].mean) if i in ends else "" for i, (at, _) in enumerate(points)],
            textposition="top center", textfont={"size": 12, "color": tokens.text}, cliponaxis=False,
            customdata=[[metric] for _ in points],
            hovertext=[
                f"{chart_text(shorten(labels[at], 40))}: {number(levels[at].mean, 3)} "
                f"{interval_text(levels[at].low, levels[at].high, 3)}, n = {levels[at].n:,}"
                for at, _ in points
            ],
            hovertemplate=HOVER,
        )
    )  # fmt: skip
    margin = {"l": 16, "r": 16, "t": 16, "b": 4}
    with_tokens(figure, tokens, SMALL_HEIGHT, clickmode="event+select", margin=margin)
    figure.update_xaxes(visible=False, range=[-0.6, max(1, len(levels) - 1) + 0.6])
    return figure.update_yaxes(visible=False)


@dataclass(frozen=True)
class Point:
    """One run in a trend."""

    label: str
    when: str  # when it was made, as shown
    mean: float | None  # the value; None where not measured
    low: float | None  # lower end of its interval
    high: float | None  # upper end
    n: int  # questions behind it
    current: bool  # whether it is the run on display


def trend(points: Sequence[Point], title: str, baseline: float | None) -> Chart:
    """Return a metric over the runs of a project in time, with intervals; the baseline is a dashed line."""
    series = []
    for current, colour, name in ((False, GREY, "other runs"), (True, BLUE, "this run")):
        places = [
            place for place, point in enumerate(points) if point.mean is not None and point.current == current
        ]
        runs = [points[place] for place in places]
        series.append(
            Series(
                name,
                tuple(places),
                finite(run.mean for run in runs),
                colour,
                low=finite(run.low for run in runs),
                high=finite(run.high for run in runs),
                error_bars=ErrorBars(cap=3),
                n=tuple(run.n for run in runs),
                details=tuple(f"{run.label}\n{run.when}\n{number(run.mean)}, n = {run.n}" for run in runs),
                size=13 if current else 9,
                symbol="diamond" if current else "circle",
            )
        )
    return Chart(
        "points",
        tuple(series),
        Axis(
            names=tuple(shorten(point.label, 22) for point in points),
            unique=False,
            low=-0.6,
            high=len(points) - 0.4,
            angle=-35 if len(points) > 6 else 0,
        ),
        Axis(title),
        330,
        lines=() if baseline is None else (ReferenceLine(baseline, False, GREY, name="baseline"),),
        legend=False,
    )
