"""Which cases passed in the baseline and fail now, and which of them are critical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.comparison.compare import match_questions
from data.diagnosis.diagnosis import Diagnosis, passing_of
from data.scoring.scored_run import ScoredRun
from metrics.schema.scores import BoolArray, IntArray
from metrics.statistics.intervals import question_means

__all__ = [
    "CriticalCounts",
    "NewlyFailing",
    "critical_counts",
    "critical_ids",
    "newly_failing",
    "slice_mask",
    "tagged",
]

_PASS, _FAIL, _UNSEEN = 1, 0, -1


@dataclass(frozen=True)
class NewlyFailing:
    """Questions of which more than half of the measured repeats were good in the baseline, and are not now.

    Attributes:
        question_ids: (c,) the questions, in the order of their ids.
        rows: (c,) first bad sample of each in this run.
        samples: (n,) samples of this run that are bad and belong to them.
        compared: shared questions that both sides measured.
        repaired: questions that failed in the baseline and pass now.
    """

    question_ids: NDArray[np.object_]
    rows: IntArray
    samples: BoolArray
    compared: int
    repaired: int


@dataclass(frozen=True)
class CriticalCounts:
    """The critical questions that passed in the baseline.

    Attributes:
        tagged: critical questions in either run.
        passed: of them, those that passed in the baseline.
        failing: of these, those that fail now.
        unseen: of these, those that this run lacks or did not measure.
    """

    tagged: int
    passed: int
    failing: int
    unseen: int


def newly_failing(base: Diagnosis, run: Diagnosis) -> NewlyFailing:
    """Find the questions that passed in the baseline and fail now."""
    shared = match_questions(base.scored, run.scored)
    before, now = _states(base)[shared.base], _states(run)[shared.other]
    broken = shared.other[(before == _PASS) & (now == _FAIL)]
    samples = np.isin(run.scored.question, broken) & (passing_of(run) == 0)
    rows = np.flatnonzero(samples)
    codes, first = np.unique(run.scored.question[rows], return_index=True)
    return NewlyFailing(
        run.scored.question_ids[codes],
        rows[first],
        samples,
        int(((before != _UNSEEN) & (now != _UNSEEN)).sum()),
        int(((before == _FAIL) & (now == _PASS)).sum()),
    )


def _states(diagnosis: Diagnosis) -> NDArray[np.int8]:
    """(q,) whether each question passes: more than half of its measured repeats are good."""
    share = question_means(passing_of(diagnosis), diagnosis.scored.question)[0]
    return np.select([share > 0.5, np.isfinite(share)], [_PASS, _FAIL], _UNSEEN).astype(np.int8)


def critical_counts(
    base: Diagnosis | None, run: Diagnosis, tag: str, values: Sequence[str], where: tuple[str, str] | None
) -> CriticalCounts:
    """Count what became of the critical questions.

    Args:
        base: the baseline; without one nothing passed in it.
        run: this run.
        tag: name of the tag that marks a critical case.
        values: its values that mean yes, in any case of letters.
        where: slice that the question must belong to as well; None for all.
    """
    now = dict(zip(run.scored.question_ids.tolist(), _states(run).tolist(), strict=True))
    critical = critical_ids(run.scored, tag, values, where)
    if base is None:
        return CriticalCounts(len(critical), 0, 0, 0)
    before = dict(zip(base.scored.question_ids.tolist(), _states(base).tolist(), strict=True))
    critical |= critical_ids(base.scored, tag, values, where)
    passed = [now.get(one, _UNSEEN) for one in critical if before.get(one) == _PASS]
    return CriticalCounts(len(critical), len(passed), passed.count(_FAIL), passed.count(_UNSEEN))


def critical_ids(
    scored: ScoredRun, tag: str, values: Sequence[str], where: tuple[str, str] | None = None
) -> set[str]:
    """Name the critical questions of a run; see critical_counts."""
    rows = tagged(scored, tag, values)
    mask = None if where is None else slice_mask(scored, where)
    if where is not None:
        rows = rows & (False if mask is None else mask)
    return set(scored.question_ids[np.unique(scored.question[rows])].tolist())


def tagged(scored: ScoredRun, tag: str, values: Sequence[str]) -> BoolArray:
    """(n,) samples whose tag has one of the values, in any case of letters."""
    wanted = {value.casefold() for value in values}
    for one in scored.groups:
        if one.name == tag:
            codes = [at for at, label in enumerate(one.labels) if label.casefold() in wanted]
            return np.isin(one.codes, codes)
    return np.zeros(scored.n, dtype=np.bool_)


def slice_mask(scored: ScoredRun, wanted: tuple[str, str]) -> BoolArray | None:
    """(n,) samples of a slice (name, value); None where the run has no such value."""
    name, value = wanted
    for one in scored.groups:
        if one.name == name and value in one.labels:
            return np.asarray(one.codes == one.labels.index(value), dtype=np.bool_)
    return None
