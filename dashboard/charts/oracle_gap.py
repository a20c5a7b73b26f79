"""The chart of the oracle gap as a pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.charts.chart import Axis, Chart, ErrorBars, Note, ReferenceLine, Series, finite
from ragtriage.dashboard.charts.style import BLUE, FRAME, GREEN, GREY, ROW, VERMILION
from ragtriage.data.comparison.oracle_gap import GapEstimate, GapKind, OracleGap
from ragtriage.metrics.number_text import interval_text, number, signed

PARTS: Mapping[GapKind, str] = {
    "retrieval": "Retrieval error",
    "generation": "Generation error",
    "context": "Added by the context",
}
FILLS: Mapping[GapKind, tuple[str, str]] = {
    "retrieval": (BLUE, ""),
    "generation": (VERMILION, "/"),
    "context": (GREEN, "."),
}  # colour, and a pattern for those who do not see it


def oracle_gap_bars(gap: OracleGap, cohorts: Mapping[GapKind, str], title: str) -> Chart:
    """Return the retrieval and the generation error as bars with their 95 % intervals.

    Args:
        gap: the errors, and what the context adds.
        cohorts: the cases that the bar of a part leads to; parts without them lead nowhere.
        title: of the outcome metric.
    """
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
            f"{PARTS[part.key]}: {_value(part)} {interval_text(part.low, part.high)}, n = {part.n:,}"
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
        Axis(names=tuple(PARTS[part.key] for part in parts[::-1])),
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
