"""The smallest change of a pass rate that a number of questions can show, and how many show a smaller one."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ragtriage.metrics.analysis.items import share_differing
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.power import questions_for_change, smallest_change

USUAL_DIFFERING = 0.27  # share of questions on which two versions differ, where no two were run
WANTED = (0.10, 0.05)  # changes of which it is said how many questions they need


@dataclass(frozen=True)
class Resolution:
    """What a set can show between two runs on the same questions, in four of five repetitions."""

    questions: int
    differing: float  # share of questions on which two versions differ
    assumed: bool  # whether that is the usual one, since fewer than two versions answered
    smallest: float | None  # change of the pass rate; None where the questions are too few for any
    needed: tuple[tuple[float, int], ...]  # (change, questions) of those of WANTED that can be had


def resolution_of(questions: int, passes: FloatArray | None = None) -> Resolution:
    """Return what a set of so many questions can show.

    Args:
        questions: of the set.
        passes: (v, q) whether versions pass them, as in `metrics.analysis.items`; None for no version.
    """
    observed = float("nan") if passes is None else share_differing(passes)
    assumed = not isfinite(observed) or observed == 0
    differing = USUAL_DIFFERING if assumed else observed
    smallest = smallest_change(questions, differing)
    needed = tuple(
        (change, questions_for_change(change, differing)) for change in WANTED if change <= differing
    )
    return Resolution(questions, differing, assumed, smallest if isfinite(smallest) else None, needed)
