"""The charts of the Triage and Compare pages as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.charts.chart import Axis, Chart, ErrorBars, ReferenceLine, Series, count_step, finite
from dashboard.charts.style import (
    BLUE,
    FRAME,
    GREY,
    OWNER_COLOURS,
    ROW,
    VERDICT_MARKERS,
)
from dashboard.wording.escaping import capital, shorten
from dashboard.wording.formatting import interval_text, number, signed
from data.comparison.compare import MetricDifference
from metrics.diagnosis.fix_first import FixFirst
from metrics.metric_registry import title_of

__all__ = ["Point", "difference_forest", "fix_first_bars", "trend"]


def fix_first_bars(entries: Sequence[FixFirst]) -> Chart:
    """Return the bad cases of each stage as bars, the most on top, coloured by the component at fault."""
    series = []
    for owner, colour in OWNER_COLOURS.items():
        owned = [(len(entries) - at, entry) for at, entry in enumerate(entries, 1) if entry.owner == owner]
        if owned:
            series.append(
                Series(
                    owner,
                    tuple(entry.n_bad for _, entry in owned),
                    tuple(place for place, _ in owned),
                    colour,
                    text=tuple(f"{entry.n_bad:,}" for _, entry in owned),
                    details=tuple(f"{entry.title}: {entry.n_bad:,} bad cases" for _, entry in owned),
                )
            )
    return Chart(
        "bars",
        tuple(series),
        Axis("bad cases", step=count_step(entry.n_bad for entry in entries), from_zero=True, format=",d"),
        Axis(names=tuple(entry.title for entry in entries[::-1])),
        FRAME + ROW * max(len(entries), 3),
        horizontal=True,
    )


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


def difference_forest(differences: Sequence[MetricDifference], higher: Mapping[str, bool | None]) -> Chart:
    """Return signed differences, a dashed line at 0 and the intervals that the verdicts rest on.

    Each verdict has its own marker; the plain interval of a metric stands in its details.
    """
    series = []
    names = [
        f"{_directed(row.metric, higher.get(row.metric, True))}, n = {row.difference.n_pairs:,}"
        for row in differences
    ]
    for verdict, (colour, symbol) in VERDICT_MARKERS.items():
        rows = [at for at, row in enumerate(differences) if row.verdict == verdict]
        shown = [differences[at] for at in rows]
        if rows:
            series.append(
                Series(
                    verdict,
                    finite(row.difference.difference for row in shown),
                    tuple(len(names) - 1 - at for at in rows),  # the first on top
                    colour,
                    low=finite(row.low for row in shown),
                    high=finite(row.high for row in shown),
                    n=tuple(row.difference.n_pairs for row in shown),
                    details=tuple(
                        f"{names[at]}: {signed(row.difference.difference, 3)}, "
                        f"unadjusted {interval_text(row.difference.low, row.difference.high, 3)}"
                        for at, row in zip(rows, shown, strict=True)
                    ),
                    symbol=symbol,
                    size=11,
                )
            )
    return Chart(
        "points",
        tuple(series),
        Axis("difference to the baseline, interval that the verdict uses"),
        Axis(names=tuple(names[::-1])),
        FRAME + 26 * max(len(names), 3),
        horizontal=True,
        lines=(ReferenceLine(0, True, GREY),),
    )


def _directed(metric: str, higher: bool | None) -> str:
    arrow = {True: "", False: " (lower is better)", None: " (no direction)"}[higher]
    return f"{capital(title_of(metric))}{arrow}"
