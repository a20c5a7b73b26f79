"""The chart of the Trend page as a pure function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import plotly.graph_objects as go

from dashboard.charts.style import (
    BLUE,
    GREEN,
    GREY,
    LEGEND,
    ORANGE,
    VERMILION,
    error_bars,
    set_places,
    with_layout,
)
from dashboard.wording.escaping import chart_text, shorten
from dashboard.wording.formatting import interval_text, number
from data.comparison.trend import Level

__all__ = ["LOOKS", "NOT_COMPARABLE", "TrendMark", "trend_lines"]

LONGEST_RELEASE = 24
RING = 21  # pixels
NOT_COMPARABLE = "not fully comparable with the baseline"
LOOKS = {
    "regression": (VERMILION, "triangle-down", 13),
    "worse": (ORANGE, "triangle-down", 11),
    "better": (GREEN, "triangle-up", 11),
    "cannot tell": (GREY, "circle", 10),
    "unchanged": (GREY, "line-ew-open", 13),
    "no direction": (GREY, "circle-open-dot", 10),
    "no shared question": (GREY, "x", 10),
    "baseline": (BLUE, "diamond", 13),
    "before the baseline": (GREY, "circle", 6),
    "no baseline": (GREY, "circle", 10),
    "mean only": (GREY, "circle-open", 10),
}
HOVER = "%{customdata[1]}<br>%{customdata[2]}<br>%{customdata[3]}<br>%{customdata[4]}<extra></extra>"


@dataclass(frozen=True)
class TrendMark:
    """One run in the chart.

    Attributes:
        run_id: the run.
        label: its name.
        when: when it was created, in UTC.
        level: the metric in it.
        look: its outcome against the baseline, a key of LOOKS.
        difference_text: the difference to the baseline in words, "" for none.
        not_comparable: whether questions, data set, judge or source differ from the baseline's.
        current: whether it is the run on display.
        release: name of the release, "" for a run that is none.
    """

    run_id: str
    label: str
    when: datetime
    level: Level
    look: str
    difference_text: str = ""
    not_comparable: bool = False
    current: bool = False
    release: str = ""


def trend_lines(
    runs: Sequence[TrendMark], title: str, baseline: float | None, by_time: bool = False
) -> go.Figure:
    """Draw a metric over runs: points with 95 % intervals, the baseline dashed, releases as vertical lines.

    Each verdict has its own marker and colour; an aggregate-only run is hollow, without an interval.

    Args:
        runs: oldest first.
        title: of the metric.
        baseline: level of the baseline; None for none.
        by_time: place runs by when they were made; in equal steps otherwise.
    """
    figure = go.Figure()
    places: list[object] = [run.when if by_time else at for at, run in enumerate(runs)]
    measured = [(x, run) for x, run in zip(places, runs, strict=True) if run.level.mean is not None]
    _add_rings(figure, measured)
    for verdict, (colour, symbol, size) in LOOKS.items():
        points = [(x, run) for x, run in measured if run.look == verdict]
        if points:
            _add_points(figure, points, verdict, {"color": colour, "symbol": symbol, "size": size})
    if baseline is not None:
        figure.add_hline(
            y=baseline,
            line_dash="dash",
            line_color=BLUE,
            annotation_text="baseline",
            annotation_position="top right",
        )
    for x, run in zip(places, runs, strict=True):
        if run.release:
            _add_release(figure, x, run.release)
    _set_x_axis(figure, runs, by_time)
    figure.update_yaxes(title=chart_text(title), automargin=True)
    return with_layout(figure, 460, legend=LEGEND, clickmode="event+select", hovermode="closest")


def _add_rings(figure: go.Figure, measured: Sequence[tuple[object, TrendMark]]) -> None:
    """Draw rings: a square where not fully comparable with the baseline, a circle for the run on display."""
    rings = (
        (NOT_COMPARABLE, "square-open", GREY, [run for run in measured if run[1].not_comparable]),
        ("on display", "circle-open", BLUE, [run for run in measured if run[1].current]),
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
    figure: go.Figure, points: Sequence[tuple[object, TrendMark]], name: str, marker: dict[str, object]
) -> None:
    levels = [run.level for _, run in points]
    means = [level.mean for level in levels]
    bars = error_bars(means, [level.low for level in levels], [level.high for level in levels], width=3)
    figure.add_scatter(
        x=[x for x, _ in points],
        y=means,
        mode="markers",
        name=name,
        marker=marker,
        error_y=None if all(level.low is None for level in levels) else bars,
        customdata=[_custom_data(run) for _, run in points],
        hovertemplate=HOVER,
    )


def _custom_data(run: TrendMark) -> list[str]:
    """Return the custom data of a point: its run, and the lines shown on hover."""
    level = run.level
    n = f"n = {level.n:,}" if level.n else "n not stated"
    value = f"{number(level.mean, 3)} {interval_text(level.low, level.high, 3)}, {n}"
    if level.reported:
        value = f"{number(level.mean, 3)}, stated; no sample, no interval"
    return [
        run.run_id,
        chart_text(shorten(run.label, 60)),
        f"{run.when:%Y-%m-%d %H:%M} UTC",
        value,
        chart_text(run.difference_text or run.look),
    ]


def _add_release(figure: go.Figure, x: object, name: str) -> None:
    figure.add_shape(
        type="line", x0=x, x1=x, y0=0, y1=1, yref="paper", line={"color": GREY, "width": 1, "dash": "dot"}
    )
    figure.add_annotation(
        x=x,
        y=1,
        yref="paper",
        text=chart_text(shorten(name, LONGEST_RELEASE)),
        textangle=-90,
        showarrow=False,
        xanchor="right",
        yanchor="top",
        font={"size": 11},
    )


def _set_x_axis(figure: go.Figure, runs: Sequence[TrendMark], by_time: bool) -> None:
    if by_time:
        figure.update_xaxes(type="date", title="made, UTC", automargin=True)
        return
    set_places(figure, [run.label for run in runs])
