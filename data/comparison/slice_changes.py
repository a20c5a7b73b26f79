"""For whom a change helped: the pass rate of two runs in each slice of their shared questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.comparison.compare import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.scoring.grouping import NOT_GIVEN, Slice
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.paired import PairedDifference, holm, paired
from ragtriage.metrics.statistics.question_means import question_means

FEWEST_PAIRS = 5  # shared questions without which a slice is left out


@dataclass(frozen=True)
class SliceChange:
    """The pass rate of one slice in two runs."""

    name: str  # of the slice, as "query_type"
    value: str  # of the slice, as "two_hop"
    base: float  # base, other: mean over its shared questions with a verdict in both runs
    other: float
    difference: PairedDifference  # other minus base, paired on question
    adjusted_p: float  # Holm's, over all slices that are compared


def slice_changes(base: Diagnosis, other: Diagnosis) -> list[SliceChange]:
    """Compare the pass rate of two runs in each slice, the largest change first.

    Slices are properties of the questions: those that put a question elsewhere in the two runs, as the
    length of its answer does, are left out, and so are slices of fewer than FEWEST_PAIRS questions.
    """
    matched = match_questions(base.scored, other.scored)
    before = question_means(passing_of(base), base.scored.question)[0][matched.base]
    after = question_means(passing_of(other), other.scored.question)[0][matched.other]
    clusters = other.scored.clusters[matched.other]
    known = np.isfinite(before) & np.isfinite(after)
    found: list[tuple[str, str, FloatArray, FloatArray, PairedDifference]] = []
    theirs = {group.name: group for group in base.scored.slices}
    for group in other.scored.slices:
        if group.name not in theirs:
            continue
        labels = _of_questions(other, group)[matched.other]
        if not (labels == _of_questions(base, theirs[group.name])[matched.base]).all():
            continue
        for value in sorted(set(labels.tolist()) - {NOT_GIVEN, ""}):
            rows = known & (labels == value)
            if rows.sum() >= FEWEST_PAIRS:
                pair = paired(before[rows], after[rows], clusters[rows])
                found.append((group.name, value, before[rows], after[rows], pair))
    adjusted = holm([pair.p for *_, pair in found])
    changes = [
        SliceChange(name, value, float(left.mean()), float(right.mean()), pair, float(p))
        for (name, value, left, right, pair), p in zip(found, adjusted, strict=True)
    ]
    return sorted(changes, key=lambda change: -abs(change.difference.difference))


def _of_questions(diagnosis: Diagnosis, group: Slice) -> NDArray[np.object_]:
    """(q,) label of each question: that of its first sample."""
    first = np.unique(diagnosis.scored.question, return_index=True)[1]
    return np.asarray(np.array([*group.labels], dtype=object)[group.codes[first]], dtype=object)
