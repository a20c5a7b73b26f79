"""Newly failing questions: those that passed in the baseline and fail now, and the critical ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.comparison.compare import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray, IntArray
from ragtriage.metrics.statistics.question_means import question_means

_PASS, _FAIL, _UNSEEN = 1, 0, -1


@dataclass(frozen=True)
class NewlyFailing:
    """Questions that passed in the baseline and fail now. More than half of the measured repeats decide."""

    question_ids: NDArray[np.object_]  # (c,) the questions, in the order of their ids
    rows: IntArray  # (c,) first bad sample of each in this run
    samples: BoolArray  # (n,) True for the bad samples of these questions in this run
    compared: int  # shared questions that both runs measured
    repaired: int  # questions that failed in the baseline and pass now


@dataclass(frozen=True)
class CriticalCounts:
    """The critical questions that passed in the baseline."""

    tagged: int  # critical questions in either run
    passed: int  # those of them that passed in the baseline
    failing: int  # those of `passed` that fail now
    unseen: int  # those of `passed` that this run lacks or did not measure


def newly_failing(base: Diagnosis, run: Diagnosis) -> NewlyFailing:
    """Find the questions that passed in the baseline and fail now."""
    shared = match_questions(base.scored, run.scored)
    before, now = _states(base)[shared.base], _states(run)[shared.other]
    failing = shared.other[(before == _PASS) & (now == _FAIL)]
    samples = np.isin(run.scored.question, failing) & (passing_of(run) == 0)
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
    """(q,) whether each question passes, by more than half of its measured repeats; _UNSEEN without any."""
    share = question_means(passing_of(diagnosis), diagnosis.scored.question)[0]
    return np.select([share > 0.5, np.isfinite(share)], [_PASS, _FAIL], _UNSEEN).astype(np.int8)


def critical_counts(
    base: Diagnosis | None, run: Diagnosis, tag: str, values: Sequence[str], where: tuple[str, str] | None
) -> CriticalCounts:
    """Count what became of the critical questions.

    Args:
        base: the baseline, if there is one.
        run: this run.
        tag: name of the tag that marks a critical case.
        values: the values of the tag that mean yes, in upper or lower case.
        where: slice (name, value) that the question must belong to as well; None for all.
    """
    now = dict(zip(run.scored.question_ids.tolist(), _states(run).tolist(), strict=True))
    critical = critical_ids(run.scored, tag, values, where)
    if base is None:
        return CriticalCounts(len(critical), 0, 0, 0)
    before = dict(zip(base.scored.question_ids.tolist(), _states(base).tolist(), strict=True))
    critical |= critical_ids(base.scored, tag, values, where)
    passed = [now.get(question, _UNSEEN) for question in critical if before.get(question) == _PASS]
    return CriticalCounts(len(critical), len(passed), passed.count(_FAIL), passed.count(_UNSEEN))


def critical_ids(
    scored: ScoredRun, tag: str, values: Sequence[str], where: tuple[str, str] | None = None
) -> set[str]:
    """Return the ids of the critical questions of a run; see critical_counts for the arguments."""
    rows = tagged(scored, tag, values)
    if where is not None:
        in_slice = slice_mask(scored, where)
        rows = rows & (False if in_slice is None else in_slice)
    return set(scored.question_ids[np.unique(scored.question[rows])].tolist())


def tagged(scored: ScoredRun, tag: str, values: Sequence[str]) -> BoolArray:
    """(n,) True for samples whose tag has one of the values, in upper or lower case."""
    wanted = {value.casefold() for value in values}
    for group in scored.groups:
        if group.name == tag:
            codes = [code for code, label in enumerate(group.labels) if label.casefold() in wanted]
            return np.isin(group.codes, codes)
    return np.zeros(scored.n, dtype=np.bool_)


def slice_mask(scored: ScoredRun, wanted: tuple[str, str]) -> BoolArray | None:
    """(n,) True for the samples of a slice (name, value); None where the run has no such value."""
    name, value = wanted
    for group in scored.groups:
        if group.name == name and value in group.labels:
            return np.asarray(group.codes == group.labels.index(value), dtype=np.bool_)
    return None
