"""Runs side by side: paired differences over shared questions, who got better and worse, flow of stages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.diagnosis.diagnosis import Diagnosis, passing_of
from data.scoring.scored_run import ScoredRun
from data.store.judge_replies import EVALUATION
from data.store.judge_results import judge_of
from metrics.diagnosis.stages import STAGES
from metrics.metric_registry import bounds_of, declared
from metrics.schema.scores import FloatArray, IntArray
from metrics.statistics.intervals import question_means
from metrics.statistics.paired import (
    PairedDifference,
    RunFacts,
    Verdict,
    comparability,
    holm,
    paired,
    verdict,
)

__all__ = [
    "GOOD",
    "GOOD_SHARE",
    "Changes",
    "Comparison",
    "MetricDifference",
    "QuestionChange",
    "QuestionMatch",
    "Side",
    "changes",
    "compare",
    "match_questions",
    "metric_sides",
    "run_facts",
    "stage_transitions",
]

GOOD_SHARE = "pass rate"


@dataclass(frozen=True)
class QuestionMatch:
    """Which questions two runs share.

    Attributes:
        base: (s,) codes of the shared questions in the baseline.
        other: (s,) codes of the same questions in the other run.
        only_base: questions that only the baseline has.
        only_other: questions that only the other run has.
    """

    base: IntArray
    other: IntArray
    only_base: int
    only_other: int


def match_questions(base: ScoredRun, other: ScoredRun) -> QuestionMatch:
    """Match the questions of two runs by id."""
    left, right = base.question_ids, other.question_ids
    if len(left) == len(right) and bool((left == right).all()):
        same = np.arange(len(left), dtype=np.int64)
        return QuestionMatch(same, same, 0, 0)
    _, at_base, at_other = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    shared = len(at_base)
    return QuestionMatch(at_base, at_other, len(left) - shared, len(right) - shared)


@dataclass(frozen=True)
class MetricDifference:
    """One metric on two sides.

    Attributes:
        metric: full name, or GOOD_SHARE.
        base: mean over the shared questions in the baseline; NaN where not scored.
        other: mean in the other run.
        difference: other minus base, paired on question.
        adjusted_p: after Holm's correction over the family on display.
        verdict: better, worse, cannot tell or unchanged.
    """

    metric: str
    base: float
    other: float
    difference: PairedDifference
    adjusted_p: float
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    """Two runs over one family of metrics.

    Attributes:
        warnings: what makes the sides unequal.
        differences: one entry a metric, in the order asked for.
        alignment: which questions are shared.
    """

    warnings: tuple[str, ...]
    differences: tuple[MetricDifference, ...]
    matched: QuestionMatch


@dataclass(frozen=True)
class Side:
    """One metric on two sides before the correction over a family.

    Attributes:
        metric: full name, or GOOD_SHARE.
        base: mean over the shared questions in the baseline.
        other: mean in the other run.
        difference: other minus base, paired on question.
    """

    metric: str
    base: float
    other: float
    difference: PairedDifference


def metric_sides(base: ScoredRun, other: ScoredRun, metrics: Sequence[str]) -> list[Side]:
    """Compare two runs metric by metric; nothing here depends on a cut-off, so a page can keep it."""
    alignment = match_questions(base, other)
    return [_side(name, _means(base, name), _means(other, name), base, alignment) for name in metrics]


def _side(
    metric: str, before: FloatArray, after: FloatArray, base: ScoredRun, alignment: QuestionMatch
) -> Side:
    left, right = before[alignment.base], after[alignment.other]
    clusters = base.clusters[alignment.base]
    found = paired(
        left,
        right,
        clusters,
        0,
        _direction(metric),
        (0.0, 1.0) if metric == GOOD_SHARE else bounds_of(metric),
    )
    return Side(metric, _mean(left, right), _mean(right, left), found)


def compare(
    base: Diagnosis, other: Diagnosis, metrics: Sequence[str], sides: Sequence[Side] | None = None
) -> Comparison:
    """Compare two diagnosed runs on a family of metrics and on the share of good cases.

    Args:
        base: the baseline.
        other: the other run.
        metrics: the family.
        sides: what metric_sides gives for it, where that is at hand already.
    """
    alignment = match_questions(base.scored, other.scored)
    found = [_side(GOOD_SHARE, _good(base), _good(other), base.scored, alignment)]
    found += metric_sides(base.scored, other.scored, metrics) if sides is None else sides
    adjusted = holm([one.difference.p for one in found])
    differences = tuple(
        MetricDifference(
            one.metric,
            one.base,
            one.other,
            one.difference,
            float(p),
            verdict(one.difference, p, _direction(one.metric)),
        )
        for one, p in zip(found, adjusted, strict=True)
    )
    warnings = comparability(run_facts(base.scored), run_facts(other.scored))
    return Comparison(tuple(warnings), differences, alignment)


def _direction(metric: str) -> bool | None:
    if metric == GOOD_SHARE:
        return True
    found = declared(metric)
    return None if found is None else found.higher_is_better  # nobody said which end of it is better


def _good(diagnosis: Diagnosis) -> FloatArray:
    return question_means(passing_of(diagnosis), diagnosis.scored.question)[0]


def _means(scored: ScoredRun, metric: str) -> FloatArray:
    return question_means(scored.values(metric), scored.question)[0]


def _mean(values: FloatArray, partner: FloatArray) -> float:
    known = values[np.isfinite(values) & np.isfinite(partner)]
    return float(known.mean()) if len(known) else float("nan")


def run_facts(scored: ScoredRun) -> RunFacts:
    """Give what must agree between a run and another for their difference to mean something."""
    digest = hashlib.sha256("\x1f".join(scored.question_ids).encode("utf-8")).hexdigest()
    run = scored.run
    read = scored.judge_result_path(EVALUATION)
    judge = judge_of(read) if read else str(run.config.get("judge", ""))
    return RunFacts(digest, len(scored.question_ids), run.dataset, run.dataset_version, judge)


@dataclass(frozen=True)
class QuestionChange:
    """One shared question on two sides.

    Attributes:
        question_id: the question.
        row: first row of it in the other run.
        base_row: first row of it in the baseline.
        base: its value in the baseline.
        other: its value in the other run.
        change: other minus base.
    """

    question_id: str
    row: int
    base_row: int
    base: float
    other: float
    change: float


@dataclass(frozen=True)
class Changes:
    """The shared questions by the size of their change, the largest first; only those scored on both sides.

    Attributes:
        question_ids: (c,) the questions.
        rows: (c,) first row of each in the other run.
        base_rows: (c,) first row in the baseline.
        base: (c,) value in the baseline.
        other: (c,) value in the other run.
    """

    question_ids: NDArray[np.object_]
    rows: IntArray
    base_rows: IntArray
    base: FloatArray
    other: FloatArray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> QuestionChange:
        before, after = float(self.base[at]), float(self.other[at])
        rows = int(self.rows[at]), int(self.base_rows[at])
        return QuestionChange(str(self.question_ids[at]), *rows, before, after, after - before)

    def find(self, question_id: str) -> int:
        """Give the place of a question; the first place where it is not among them."""
        places = np.flatnonzero(self.question_ids == question_id)
        return int(places[0]) if len(places) else 0

    @property
    def rises(self) -> int:
        """Questions whose value rose."""
        return int((self.other > self.base).sum())

    @property
    def falls(self) -> int:
        """Questions whose value fell."""
        return int((self.other < self.base).sum())


def changes(base: Diagnosis, other: Diagnosis, metric: str) -> Changes:
    """List the shared questions by the size of their change in one metric, or in the share of good cases."""
    alignment = match_questions(base.scored, other.scored)
    before = (_good(base) if metric == GOOD_SHARE else _means(base.scored, metric))[alignment.base]
    after = (_good(other) if metric == GOOD_SHARE else _means(other.scored, metric))[alignment.other]
    known = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    order = known[np.argsort(-np.abs(after - before)[known], kind="stable")]
    return Changes(
        base.scored.question_ids[alignment.base[order]],
        _first_rows(other.scored)[alignment.other[order]],
        _first_rows(base.scored)[alignment.base[order]],
        before[order],
        after[order],
    )


def _first_rows(scored: ScoredRun) -> IntArray:
    return np.unique(scored.question, return_index=True)[1].astype(np.int64)


GOOD = "good"


def stage_transitions(base: Diagnosis, other: Diagnosis) -> dict[tuple[str, str], int]:
    """Count the shared questions by (stage in the baseline, stage in the other run); GOOD where not bad.

    A question with repeats has the stage that most of its repeats have.
    """
    alignment = match_questions(base.scored, other.scored)
    before = _question_stage(base)[alignment.base]
    after = _question_stage(other)[alignment.other]
    names = [*(stage.key for stage in STAGES), GOOD]
    pairs, counts = np.unique(np.stack([before, after]), axis=1, return_counts=True)
    return {
        (names[left], names[right]): int(count)
        for left, right, count in zip(*pairs.tolist(), counts.tolist(), strict=True)
    }


def _question_stage(diagnosis: Diagnosis) -> IntArray:
    """Give the most frequent code of each question; -1 (good) becomes the last code."""
    codes = np.where(diagnosis.stages.stage < 0, len(STAGES), diagnosis.stages.stage).astype(np.int64)
    width = len(STAGES) + 1
    counts = np.bincount(
        diagnosis.scored.question * width + codes, minlength=len(diagnosis.scored.question_ids) * width
    )
    return np.asarray(counts.reshape(-1, width).argmax(axis=1), dtype=np.int64)
