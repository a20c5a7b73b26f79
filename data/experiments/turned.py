"""The questions whose verdict turns between two conditions of an experiment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.statistics.intervals import question_means

PASSES_FROM = 0.5


@dataclass(frozen=True)
class TurnedQuestion:
    """A question that passes under one condition alone."""

    question_id: str
    question: str
    first: str  # answer under the first condition
    second: str  # answer under the second
    is_lost: bool  # whether it passes under the first alone


def turned_questions(first: ScoredRun, second: ScoredRun, quality: str) -> list[TurnedQuestion]:
    """List the questions that pass in one of two runs alone, those that the second loses first."""
    _, at_first, at_second = np.intersect1d(
        first.question_ids, second.question_ids, assume_unique=True, return_indices=True
    )
    sides = [
        question_means(run.values(quality), run.question)[0][at]
        for run, at in ((first, at_first), (second, at_second))
    ]
    known = np.isfinite(sides[0]) & np.isfinite(sides[1])
    passes = [side >= PASSES_FROM for side in sides]
    lost, won = known & passes[0] & ~passes[1], known & passes[1] & ~passes[0]
    turned = [*np.flatnonzero(lost).tolist(), *np.flatnonzero(won).tolist()]
    samples = [
        run.samples.read(
            [int(np.flatnonzero(run.question == at[row])[0]) for row in turned], ["question", "answer"]
        )
        if turned
        else []
        for run, at in ((first, at_first), (second, at_second))
    ]
    return [
        TurnedQuestion(
            str(first.question_ids[at_first[row]]),
            str(before["question"] or ""),
            str(before["answer"] or ""),
            str(after["answer"] or ""),
            bool(lost[row]),
        )
        for row, before, after in zip(turned, *samples, strict=True)
    ]
