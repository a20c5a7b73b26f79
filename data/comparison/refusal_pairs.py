"""Metrics of answers where two runs refuse different questions: lost pairs, and both sides in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.paired import PairedDifference, paired
from ragtriage.metrics.statistics.question_means import question_means

SHOWN = ("answer_relevancy", "faithfulness", "answer_f1")  # what answers are compared by; the rest follows


@dataclass(frozen=True)
class RefusalPairs:
    """A metric of answers in two runs that refuse different questions."""

    metric: str  # full name
    n_one_side: int  # shared questions with a value in one run, which the other run refuses
    n_rightly: int  # those of them that are refused rightly
    n_pairs: int  # questions with a value in both
    base: float  # the baseline's mean where refusals of what has an answer count 0
    other: float  # the other run's
    difference: PairedDifference  # other minus base over these questions, by itself


def refusal_pairs(
    base: Diagnosis, other: Diagnosis, shared: tuple[IntArray, IntArray], metrics: Sequence[str]
) -> list[RefusalPairs]:
    """Return the metrics of answers for which the runs refuse different questions.

    Args:
        base: the baseline.
        other: the other run.
        shared: the rows of the shared questions in both.
        metrics: the metrics on display; only those of SHOWN are looked at.
    """
    found: list[RefusalPairs] = []
    for metric in metrics:
        if metric in SHOWN:
            found += _pairs_of(base, other, shared, metric)
    return found


def _pairs_of(
    base: Diagnosis, other: Diagnosis, shared: tuple[IntArray, IntArray], metric: str
) -> Iterator[RefusalPairs]:
    sides = [_Side.of(side, rows, metric) for side, rows in zip((base, other), shared, strict=True)]
    n_one_side = n_rightly = 0
    for this, that in (sides, sides[::-1]):
        lost = np.isfinite(this.answered) & np.isnan(that.answered) & that.refused
        n_one_side += int(lost.sum())
        n_rightly += int((lost & that.rightly).sum())
    before, after = (side.with_refusals for side in sides)
    known = np.isfinite(before) & np.isfinite(after)
    if n_one_side and known.any():
        yield RefusalPairs(
            metric,
            n_one_side,
            n_rightly,
            int((np.isfinite(sides[0].answered) & np.isfinite(sides[1].answered)).sum()),
            float(before[known].mean()),
            float(after[known].mean()),
            paired(before, after, base.scored.clusters[shared[0]]),
        )


@dataclass(frozen=True)
class _Side:
    """One run at the shared questions, each array (q,)."""

    answered: FloatArray  # mean of the metric over answers; NaN where there is none
    with_refusals: FloatArray  # the same where a wrong refusal counts 0
    refused: BoolArray  # whether any repeat is a refusal
    rightly: BoolArray  # whether any repeat is a right refusal

    @classmethod
    def of(cls, side: Diagnosis, rows: IntArray, metric: str) -> _Side:
        scored = side.scored

        def means(values: FloatArray) -> FloatArray:
            return question_means(values, scored.question)[0][rows]

        values = scored.values(metric)
        return cls(
            means(values),
            means(np.where(side.refusals.wrong, 0.0, values)),
            means(scored.stage_features["refused"]) > 0,
            means(side.refusals.right.astype(np.float64)) > 0,
        )


def refusal_sentence(pairs: RefusalPairs, base_name: str = "the baseline") -> str:
    """Return how many pairs a metric lost, and both sides with refusals as wrong where an answer existed."""
    rightly = f" ({pairs.n_rightly:,} of them rightly)" if pairs.n_rightly else ""
    change = pairs.difference
    are = "question is" if pairs.n_one_side == 1 else "questions are"
    title = title_of(pairs.metric)
    return (
        f"{title[:1].upper()}{title[1:]} is measured on answers only: {pairs.n_one_side:,} shared {are} "
        "refused in just "
        f"one run{rightly}, which leaves {pairs.n_pairs:,} pairs. With wrong refusals "
        f"counted as 0: {pairs.base:.3f} in {base_name}, {pairs.other:.3f} in the other run, "
        f"{_signed(change.difference)} [{_signed(change.low)}, {_signed(change.high)}] (unadjusted) over "
        f"{change.n_pairs:,} questions."
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
