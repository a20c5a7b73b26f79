"""The trend of one metric over runs, for pages and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.dashboard.charts.chart import Axis, Chart, ErrorBars, ReferenceLine, Series, finite
from ragtriage.dashboard.charts.style import (
    BLUE,
    GREY,
)
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.metrics.number_text import number


@dataclass(frozen=True)
class Point:
    """One run in a trend.

    Attributes:
        label: its name.
        when: when it was made, as shown.
        mean: the value; None where not measured.
        low: lower end of its interval.
        high: upper end.
        n: questions behind it.
        current: whether it is the run on display.
    """

    label: str
    when: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    current: bool


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
