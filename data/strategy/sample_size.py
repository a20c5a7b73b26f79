"""How many questions show a difference of 0.05, from how much the project's own runs vary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from ragtriage.data.comparison.compare import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.power import questions_for_difference
from ragtriage.metrics.statistics.question_means import question_means

DIFFERENCE, POWER = 0.05, 0.8
FEWEST_QUESTIONS = 5  # below this a variance says nothing
MOST_RUNS = 24  # newest runs that are looked through for a pair
WORST_DEVIATION = 0.5  # of a share, where half of the questions pass
Basis = Literal["paired", "one run", "assumed"]


@dataclass(frozen=True)
class SampleSize:
    """How many questions are needed.

    Attributes:
        n: questions that show the difference.
        metric: whose difference.
        difference: that is to be shown.
        deviation: of a question's difference between two runs.
        basis: the deviation is that of two runs paired on question, or sqrt(2) times that of one run, or of a
            share in the worst case.
        runs: ids of the runs that it comes from.
        n_behind: questions that it was measured on.
    """

    n: int
    metric: str
    difference: float
    deviation: float
    basis: Basis
    runs: tuple[str, ...]
    n_behind: int


def sample_size(
    runs: Sequence[Run], diagnosed: Callable[[Run], Diagnosis], metric: str = GOOD_SHARE
) -> SampleSize:
    """Return how many questions show a difference of 0.05 of a metric (power 0.8, two-sided 0.05).

    The newest two runs that share questions give the variance of the paired difference. Without such a
    pair the newest run gives its own: two independent runs differ by sqrt(2) of it, and pairing needs fewer.

    Args:
        runs: of a project, oldest first.
        diagnosed: returns the diagnosis of a run.
        metric: full name, or "pass rate"; of a metric without bounds of 0 and 1, 0.05 is on its own scale.
    """
    newest = [diagnosed(run) for run in runs[::-1][:MOST_RUNS]]
    values = [(side, _values(side, metric)) for side in newest]
    measured = [(side, each) for side, each in values if np.isfinite(each).sum() >= FEWEST_QUESTIONS]
    for at, (later, after) in enumerate(measured):
        for earlier, before in measured[at + 1 :]:
            shared = match_questions(earlier.scored, later.scored)
            differences = after[shared.other] - before[shared.base]
            differences = differences[np.isfinite(differences)]
            if len(differences) >= FEWEST_QUESTIONS and differences.any():
                return _size(
                    metric, float(differences.std(ddof=1)), "paired", [earlier, later], len(differences)
                )
    for side, each in measured:
        known = each[np.isfinite(each)]
        if known.std() > 0:
            return _size(metric, sqrt(2) * float(known.std(ddof=1)), "one run", [side], len(known))
    low, high = (0.0, 1.0) if metric == GOOD_SHARE else bounds_of(metric)
    worst = WORST_DEVIATION * (high - low) if np.isfinite(high - low) else WORST_DEVIATION
    return _size(metric, sqrt(2) * worst, "assumed", [], 0)


def _size(metric: str, deviation: float, basis: Basis, sides: Sequence[Diagnosis], n: int) -> SampleSize:
    runs = tuple(side.scored.run.run_id for side in sides)
    needed = questions_for_difference(deviation, DIFFERENCE, POWER)
    return SampleSize(needed, metric, DIFFERENCE, deviation, basis, runs, n)


def _values(side: Diagnosis, metric: str) -> FloatArray:
    """(q,) value of each question, repeats averaged."""
    values = passing_of(side) if metric == GOOD_SHARE else side.scored.values(metric)
    return question_means(values, side.scored.question)[0]
