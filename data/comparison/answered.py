"""What runs answered: how many of the questions, as a mean over few is none over all, and whether alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ragtriage.data.comparison.question_match import QuestionMatch, first_rows
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.stored_file import reading
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import signed
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import question_means
from ragtriage.metrics.statistics.paired import MARGIN, PairedDifference, paired

FEWEST_SHARED = 10  # questions
SAME_ANSWERS = 0.95  # share of the shared questions from which on the two runs answer alike


@dataclass(frozen=True)
class Answered:
    """How much of a test set a run answered."""

    answered: int  # questions with an answer; where the run records no answer at all, questions that it has
    asked: int  # questions of the test set, as far as the runs show it

    @property
    def complete(self) -> bool:
        """True where no question is left out."""
        return self.answered >= self.asked


def own_answered(scored: ScoredRun) -> Answered:
    """Return how many of its own questions a run answered; an empty answer is an answer."""
    asked = len(scored.question_ids)
    lacking = unanswered(scored)
    return Answered(asked if lacking is None else asked - int(lacking.sum()), asked)


def unanswered(scored: ScoredRun) -> FloatArray | None:
    """(q,) 1 for the questions of which no sample has an answer; None where no answer is recorded."""
    n = len(scored.question_ids)
    if _has_all_answers(scored.samples_path):
        recorded = "answer" in pq.read_schema(scored.samples_path).names
        return np.zeros(n) if recorded else None
    with reading(scored.samples_path):
        has_answer = pc.is_valid(pq.read_table(scored.samples_path, columns=["answer"])["answer"]).to_numpy()
    lacking = np.ones(n)
    lacking[scored.question[has_answer]] = 0.0
    return lacking if has_answer.any() else None


@lru_cache(maxsize=4096)  # the samples of a run never change, and the file of a large one has many parts
def _has_all_answers(samples: Path) -> bool:
    """Return whether no sample of a run lacks its answer; also where none is recorded at all."""
    with reading(samples), pq.ParquetFile(samples) as file:
        return file.schema_arrow.get_field_index("answer") < 0 or not _has_nulls(file)


def _has_nulls(file: pq.ParquetFile) -> bool:
    """Return whether a samples file has a sample without an answer, from its statistics where it has them."""
    metadata = file.metadata
    paths = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
    place = paths.index("answer")
    for at in range(metadata.num_row_groups):
        statistics = metadata.row_group(at).column(place).statistics
        if statistics is None or not statistics.has_null_count or statistics.null_count:
            return True
    return False


def answered_of(scored_runs: Sequence[ScoredRun]) -> dict[str, Answered]:
    """Return for each run by id how much it answered of the largest run that has all of its questions."""
    if not scored_runs:
        return {}
    largest = max(scored_runs, key=lambda scored: len(scored.question_ids)).question_ids
    by_run = {}
    for scored in scored_runs:
        own = own_answered(scored)
        part = own.asked < len(largest) and bool(np.isin(scored.question_ids, largest).all())
        by_run[scored.run.run_id] = Answered(own.answered, len(largest) if part else own.asked)
    return by_run


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

    `shared` has the rows of the shared questions in both; only metrics of SHOWN are looked at.
    """
    pairs: list[RefusalPairs] = []
    for metric in metrics:
        if metric in SHOWN:
            pairs += _pairs_of(base, other, shared, metric)
    return pairs


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
    def of(cls, side: Diagnosis, rows: IntArray, metric: str) -> Self:
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
    rightly = f" ({pairs.n_rightly:,} of them correctly)" if pairs.n_rightly else ""
    change = pairs.difference
    dropped = "question was" if pairs.n_one_side == 1 else "questions were"
    title = title_of(pairs.metric)
    return (
        f"{title[:1].upper()}{title[1:]} compares {pairs.n_pairs:,} pairs of answers: {pairs.n_one_side:,} "
        f"shared {dropped} dropped because one run refused{rightly}. With wrong refusals counted as 0: "
        f"{pairs.base:.3f} in {base_name}, {pairs.other:.3f} in the other run, "
        f"{signed(change.difference, 3)} [{signed(change.low, 3)}, {signed(change.high, 3)}] (unadjusted) "
        f"over {change.n_pairs:,} questions."
    )


def judged_otherwise(base: Diagnosis, run: Diagnosis, shared: QuestionMatch) -> list[str]:
    """Return the clause that the same answers to the same contexts have other scores; else nothing.

    What moved then is whoever scored, and not the system.
    """
    sides = (base.scored, shared.base), (run.scored, shared.other)
    rows = [first_rows(scored)[at] for scored, at in sides]
    texts = [scored.auxiliary_table("texts") for scored, _ in sides]
    if len(shared.base) < FEWEST_SHARED or any(table is None for table in texts):
        return []
    said = [np.asarray(table["said"].to_numpy())[at] for table, at in zip(texts, rows, strict=True)]
    answered = said[0] == said[1]
    if answered.mean() < SAME_ANSWERS:
        return []
    for metric in ("faithfulness", "answer_relevancy", *CORRECTNESS):
        values = [scored.values(metric)[at] for (scored, _), at in zip(sides, rows, strict=True)]
        moved = values[1] - values[0]
        known = answered & np.isfinite(moved)
        if known.sum() < FEWEST_SHARED or abs(moved[known].mean()) < MARGIN:
            continue
        read = [
            [sample["retrieved"] for sample in scored.samples.read(at[known].tolist(), ["retrieved"])]
            for (scored, _), at in zip(sides, rows, strict=True)
        ]
        if read[0] == read[1]:
            same = f"{int(answered.sum()):,} of {len(answered):,} shared questions have the same answer"
            return [f"{same}, yet {metric.replace('_', ' ')} moved by {signed(moved[known].mean())}"]
    return []
