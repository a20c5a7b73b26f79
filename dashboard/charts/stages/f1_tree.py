"""The chart of the F1 tree as a pure function."""

from __future__ import annotations

from ragtriage.dashboard.charts.chart import Axis, Chart, ErrorBars, Note, ReferenceLine, Series, finite
from ragtriage.dashboard.charts.style import BLUE, FRAME, GREY, ROW, VERMILION
from ragtriage.dashboard.wording.f1_tree import depth_of
from ragtriage.metrics.diagnosis.f1_tree import F1Branch, F1Tree
from ragtriage.metrics.number_text import count, interval_text, number

BELOW = "↳ "  # before the name of a part, once for each part above it
FEWEST_SHOWN = 0.1  # the axis reaches at least so far


def f1_bars(tree: F1Tree) -> Chart:
    """Return what each perfect part would add to F1, as bars in the order of the tree.

    Args:
        tree: of a run.
    """
    branches = [branch for branch in tree.branches if branch.part.costs_f1]
    places = tuple(range(len(branches)))[::-1]  # the first part on top
    most = max([FEWEST_SHOWN, *(branch.gain.high for branch in branches)])
    bars = Series(
        "",
        finite(branch.gain.mean for branch in branches),
        places,
        BLUE,
        colours=tuple(_colour(branch, tree) for branch in branches),
        patterns=tuple("" if _side(branch, tree) == "recall" else "/" for branch in branches),
        low=finite(branch.gain.low for branch in branches),
        high=finite(branch.gain.high for branch in branches),
        error_bars=ErrorBars(GREY, cap=5, thickness=1.5),
        n=tuple(branch.gain.n_scored for branch in branches),
        details=tuple(_details(branch) for branch in branches),
        keys=tuple((f"f1:{branch.part.key}" if branch.n_cases else "",) for branch in branches),
        in_legend=False,
    )
    names = tuple(f"{BELOW * depth_of(branch.part)}{branch.part.title}" for branch in branches[::-1])
    return Chart(
        "bars",
        (bars,),
        Axis(
            "F1 that a perfect part would add, at most; 95 % interval", low=0, high=1.3 * most, format=".2~f"
        ),
        Axis(names=names),
        FRAME + 30 + ROW * max(len(branches), 1),
        horizontal=True,
        lines=(ReferenceLine(0, True, GREY, "solid"),),
        notes=tuple(
            Note(
                f"{number(branch.bound)} at most · {count(branch.n_cases, 'case')}"
                if branch.n_cases
                else "0 in every case",
                max(branch.gain.mean, branch.gain.high),
                place,
            )
            for branch, place in zip(branches, places, strict=True)
        ),
        legend=False,
        clickable=True,
        bar_width=0.55,
    )


def _side(branch: F1Branch, tree: F1Tree) -> str:
    """Return whether a part belongs to precision or to recall."""
    parents = {other.part.key: other.part.parent for other in tree.branches}
    key = branch.part.key
    while parents[key]:
        key = parents[key]
    return key


def _colour(branch: F1Branch, tree: F1Tree) -> str:
    return BLUE if _side(branch, tree) == "recall" else VERMILION


def _details(branch: F1Branch) -> str:
    gain = f"{number(branch.gain.mean)} {interval_text(branch.gain.low, branch.gain.high)}"
    return f"{branch.part.title}, if perfect: + {gain}, n = {branch.gain.n_scored:,}"
