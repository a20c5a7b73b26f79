"""The charts of a deck: metrics with intervals, what is left at each step, differences to a baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite

from ragtriage.dashboard.charts.chart import Axis, Chart, ErrorBars, Series, count_step, finite
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.metrics.diagnosis.stages import Owner
from ragtriage.metrics.number_text import MINUS, count, interval_text, number, signed
from ragtriage.metrics.statistics.max_t import Outcome

BASE_COLOUR = "#A9B6C2"
VERDICT_COLOURS: dict[Outcome, str] = {"better": LIGHT.good_mark, "worse": LIGHT.bad.text}
LEAST_LABELLED = 0.045  # share of all cases below which the number does not fit into its bar
LONGEST_NAME = 30


@dataclass(frozen=True)
class MetricBar:
    """A metric from 0 to 1 of a run with its 95 % interval, and of the baseline; None where not measured."""

    title: str
    value: float | None
    low: float | None
    high: float | None
    base: float | None
    n: int
    colour: str = LIGHT.unmeasured.text  # of its bar


def metric_bars(bars: Sequence[MetricBar], run: str, base: str, percent: bool = False) -> Chart:
    """Return shares as bars with intervals, the first on top, each with the baseline's below it."""
    places, ranged = tuple(range(len(bars) - 1, -1, -1)), any(bar.low is not None for bar in bars)
    shown = Series(
        shorten(run, LONGEST_NAME),
        finite(bar.value for bar in bars),
        places,
        bars[0].colour,
        colours=tuple(bar.colour for bar in bars),
        low=finite(bar.low for bar in bars) if ranged else (),
        high=finite(bar.high for bar in bars) if ranged else (),
        error_bars=ErrorBars(LIGHT.text),
        n=tuple(bar.n for bar in bars),
        details=tuple(
            f"{bar.title}: {number(bar.value)} {interval_text(bar.low, bar.high)}, {count(bar.n, 'question')}"
            for bar in bars
        ),
    )
    baseline = Series(
        shorten(base, LONGEST_NAME),
        finite(bar.base for bar in bars),
        places,
        BASE_COLOUR,
        details=tuple(f"{bar.title}: {number(bar.base)} in {base}" for bar in bars),
    )
    return Chart(
        "bars",
        # bars of one place are drawn from the bottom
        (baseline, shown) if base else (shown,),
        Axis(low=0, high=1, step=0.25, format=".0%" if percent else ".2f"),
        Axis(names=tuple(bar.title for bar in bars[::-1])),
        110 + 46 * len(bars),
        horizontal=True,
        legend=False,
    )


@dataclass(frozen=True)
class Loss:
    """A step of the pipeline: its name, how many cases survive it, and which part lost how many there."""

    step: str
    left: int
    lost: tuple[tuple[Owner, int], ...] = ()


def step_columns(steps: Sequence[Loss], total: int) -> Chart:
    """Return how many cases survive each step, with what is lost there on top in the colour of the part."""
    last = len(steps) - 1
    alive = Series(
        "left",
        tuple(range(len(steps))),
        tuple(step.left for step in steps),
        LIGHT.alive,
        colours=tuple(LIGHT.good_mark if at == last else LIGHT.alive for at in range(len(steps))),
        details=tuple(f"{step.step}: {count(step.left, 'case')}" for step in steps),
    )
    owners = dict.fromkeys(owner for step in steps for owner, _ in step.lost)
    lost = []
    for owner in owners:
        places = [(at, dict(step.lost)[owner]) for at, step in enumerate(steps) if owner in dict(step.lost)]
        lost.append(
            Series(
                f"failed: {owner}",
                tuple(at for at, _ in places),
                tuple(n for _, n in places),
                LIGHT.stages[owner],
                text=tuple(f"{MINUS}{n:,}" if n >= LEAST_LABELLED * total else "" for _, n in places),
                details=tuple(f"{steps[at].step}: {n:,} lost, {owner}" for at, n in places),
            )
        )
    return Chart(
        "bars",
        (alive, *lost),
        Axis(names=tuple(f"{step.step}\n{step.left:,}" for step in steps), unique=False),
        Axis(low=0, high=float(total), step=count_step([total]), format=",d"),
        280,
        stacked=True,
        legend=False,
    )


@dataclass(frozen=True)
class Difference:
    """A metric against the baseline with the interval that its verdict rests on."""

    title: str
    value: float
    low: float
    high: float
    verdict: Outcome
    n: int


def difference_bars(differences: Sequence[Difference]) -> Chart:
    """Return differences as bars from 0, the first on top; only what is beyond chance has a colour."""
    series = []
    for verdict in dict.fromkeys(row.verdict for row in differences):
        placed = zip(range(len(differences) - 1, -1, -1), differences, strict=True)
        rows = [(place, row) for place, row in placed if row.verdict == verdict]
        series.append(
            Series(
                verdict,
                finite(row.value for _, row in rows),
                tuple(place for place, _ in rows),
                VERDICT_COLOURS.get(verdict, LIGHT.alive),
                low=finite(row.low for _, row in rows),
                high=finite(row.high for _, row in rows),
                error_bars=ErrorBars(LIGHT.text),
                n=tuple(row.n for _, row in rows),
                details=tuple(
                    f"{row.title}: {signed(row.value, 3)} {interval_text(row.low, row.high, 3)}, "
                    f"{count(row.n, 'pair')}, {verdict}"
                    for _, row in rows
                ),
            )
        )
    ends = [0.0, *(end for row in differences for end in (row.value, row.low, row.high) if isfinite(end))]
    reach = max(ends) - min(ends)
    step = 0.1 if reach <= 0.5 else 0.2 if reach <= 1.2 else 0.5
    low, high = floor(min(ends) / step) * step, ceil(max(ends) / step) * step
    return Chart(
        "bars",
        tuple(series),
        Axis(low=low, high=high, step=step, format="+.1f"),
        Axis(names=tuple(row.title for row in differences[::-1])),
        90 + 40 * max(len(differences), 3),
        horizontal=True,
        stacked=True,  # no two share a place: else each would get a part of its width
        legend=False,
    )
