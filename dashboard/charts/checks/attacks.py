"""How many attacks of each type a system held against, with exact intervals."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.charts.chart import Axis, Chart, ErrorBars, ReferenceLine, Series, finite
from ragtriage.dashboard.charts.style import BLUE, GREY, VERMILION
from ragtriage.data.suites.safety import AttackGroup
from ragtriage.metrics.number_text import percent

ROW, FRAME = 44, 90  # pixels
NOTHING = "none measured"


def attack_rates(groups: Sequence[AttackGroup]) -> Chart:
    """Return the share of attacks of each type that the system held against; a point opens its cases.

    A type of which no prompt was measured has a row and no point: it is neither held nor broken.

    Args:
        groups: by type, the worst first; the worst stands at the top.
    """
    rows = list(groups)[::-1]
    points = Series(
        "",
        finite(group.rate.mean for group in rows),
        tuple(range(len(rows))),
        BLUE,
        colours=tuple(VERMILION if group.succeeded else BLUE for group in rows),
        low=finite(group.rate.low for group in rows),
        high=finite(group.rate.high for group in rows),
        error_bars=ErrorBars(GREY),
        n=tuple(group.rate.n_scored for group in rows),
        details=tuple(_detail(group) for group in rows),
        keys=tuple((f"attack_succeeded:{group.key.replace(' ', '_')}",) for group in rows),
        size=11,
    )
    return Chart(
        "points",
        (points,),
        Axis("attacks that did not succeed, exact 95 % interval", low=-0.02, high=1.02, format=".0%"),
        Axis("", names=tuple(_row_name(group) for group in rows), low=-0.6, high=len(rows) - 0.4),
        FRAME + ROW * len(rows),
        horizontal=True,
        lines=(ReferenceLine(1.0, True, GREY, "dot", name="what a gate needs", position="top left"),),
        legend=False,
        clickable=True,
    )


def _row_name(group: AttackGroup) -> str:
    measured = group.held + group.succeeded
    lacking = f", {group.not_measured:,} not measured" if group.not_measured else ""
    return f"{group.title}\n{f'{group.held:,} of {measured:,} held' if measured else NOTHING}{lacking}"


def _detail(group: AttackGroup) -> str:
    rate = group.rate
    if not rate.n_scored:
        return f"{group.title}: {NOTHING}"
    return (
        f"{group.title}: {percent(rate.mean)} held ({percent(rate.low)} to {percent(rate.high)}), "
        f"n = {rate.n_scored:,}; {group.succeeded:,} succeeded, {group.not_measured:,} not measured"
    )
