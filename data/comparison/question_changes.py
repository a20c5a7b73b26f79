"""What changed for which questions: newly failing ones, slices, and every question in every version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.comparison.compared_metrics import question_values, rates_alike
from ragtriage.data.comparison.pair_labels import with_shared_labels
from ragtriage.data.comparison.question_match import first_rows, match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.scoring.grouping import NOT_GIVEN, Slice
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import ClusteredValues, clustered, corrected_difference_ends
from ragtriage.metrics.statistics.max_t import with_side_of_zero
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, PairedDifference, Verdict, holm, paired, verdict

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
    base, run = with_shared_labels(base, run)
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
    share = question_values(diagnosis, GOOD_SHARE)
    return np.select([share > 0.5, np.isfinite(share)], [_PASS, _FAIL], _UNSEEN).astype(np.int8)


def critical_counts(
    base: Diagnosis | None, run: Diagnosis, tag: str, values: Sequence[str], where: tuple[str, str] | None
) -> CriticalCounts:
    """Count what became of the critical questions.

    A critical case has the tag with one of the values, in upper or lower case; `where` is a slice (name,
    value) that the question must belong to as well.
    """
    critical = critical_ids(run.scored, tag, values, where)
    if base is None:
        return CriticalCounts(len(critical), 0, 0, 0)
    base, run = with_shared_labels(base, run)
    shared = match_questions(base.scored, run.scored)
    named = dict(
        zip(run.scored.question_ids[shared.other], base.scored.question_ids[shared.base], strict=True)
    )
    critical = {named.get(question, question) for question in critical}
    critical |= critical_ids(base.scored, tag, values, where)
    states = dict(zip(run.scored.question_ids.tolist(), _states(run).tolist(), strict=True))
    now = {named.get(question, question): state for question, state in states.items()}
    before = dict(zip(base.scored.question_ids.tolist(), _states(base).tolist(), strict=True))
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
    low: float  # lower end of the interval with that correction: 0 lies outside where adjusted_p < 0.05
    high: float  # its upper end

    @property
    def verdict(self) -> Verdict:
        """Whether the pass rate of the slice is better or worse beyond chance."""
        return verdict(self.difference, self.adjusted_p, higher_is_better=True)


def slice_changes(base: Diagnosis, other: Diagnosis) -> list[SliceChange]:
    """Compare the pass rate of two runs in each slice, the largest change first.

    Slices are properties of the questions: those that put a question elsewhere in the two runs, as the
    length of its answer does, are left out, and so are slices of fewer than FEWEST_PAIRS questions.
    """
    if not rates_alike(base, other):
        return []
    matched = match_questions(base.scored, other.scored)
    base, other = with_shared_labels(base, other)
    before = question_values(base, GOOD_SHARE)[matched.base]
    after = question_values(other, GOOD_SHARE)[matched.other]
    clusters = other.scored.clusters[matched.other]
    known = np.isfinite(before) & np.isfinite(after)
    compared: list[tuple[str, str, FloatArray, FloatArray, PairedDifference]] = []
    columns: list[ClusteredValues] = []
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
                compared.append((group.name, value, before[rows], after[rows], pair))
                columns.append(clustered(after[rows] - before[rows], clusters[rows], (-1.0, 1.0)))
    adjusted = holm([pair.p for *_, pair in compared])
    wide = corrected_difference_ends(columns)
    changes = [
        SliceChange(
            name,
            value,
            float(left.mean()),
            float(right.mean()),
            pair,
            float(p),
            *with_side_of_zero((pair.low, pair.high), ends, pair.difference, bool(p < SIGNIFICANCE)),
        )
        for (name, value, left, right, pair), p, ends in zip(compared, adjusted, wide, strict=True)
    ]
    return sorted(changes, key=lambda change: -abs(change.difference.difference))


def _of_questions(diagnosis: Diagnosis, group: Slice) -> NDArray[np.object_]:
    """(q,) label of each question: that of its first sample."""
    codes = group.codes[first_rows(diagnosis.scored)]
    return np.asarray(np.array([*group.labels], dtype=object)[codes], dtype=object)


Order = Literal["change", "loss", "gain", "spread", "file"]
ORDERS: Mapping[Order, str] = MappingProxyType(
    {
        "change": "Largest change first",
        "loss": "Largest loss first",
        "gain": "Largest gain first",
        "spread": "Most different versions first",
        "file": "Order of the file",
    }
)
_SAME = 1e-9  # differences below this are rounding, not change


@dataclass(frozen=True)
class QuestionMatrix:
    """The questions of a baseline in several versions."""

    question_ids: NDArray[np.object_]  # (q,) the questions, in the order of the baseline's file
    values: FloatArray  # (q, 1 + v) means over repeats, of the baseline first; NaN where not measured
    rows: IntArray  # (q, 1 + v) first row of the question in each run; -1 where the run lacks it

    def ordered(self, order: Order, column: int, higher_is_better: bool | None) -> IntArray:
        """Return the positions of the questions in an order; those without a value come last.

        A change is that of the version in `column`; without a direction of the metric a rise counts as a
        gain.
        """
        first = self.rows[:, 0]
        if order == "file":
            return np.argsort(first, kind="stable")
        gain = (self.values[:, column] - self.values[:, 0]) * (-1.0 if higher_is_better is False else 1.0)
        keys = {"change": -np.abs(gain), "loss": gain, "gain": -gain}.get(order)
        if keys is None:
            known = np.isfinite(self.values)
            low = np.where(known, self.values, np.inf).min(axis=1)
            high = np.where(known, self.values, -np.inf).max(axis=1)
            keys = np.where(known.sum(axis=1) > 1, low - high, np.nan)
        return np.lexsort((first, np.where(np.isfinite(keys), keys, np.inf)))

    def find(self, question_id: str) -> int | None:
        """Return the position of a question; None where the baseline lacks it."""
        positions = np.flatnonzero(self.question_ids == question_id)
        return int(positions[0]) if len(positions) else None


def question_matrix(base: Diagnosis, others: Sequence[Diagnosis], metric: str) -> QuestionMatrix:
    """Return a metric, or the pass rate, for every question of a baseline in every version."""
    n = len(base.scored.question_ids)
    values, rows = np.full((n, 1 + len(others)), np.nan), np.full((n, 1 + len(others)), -1, dtype=np.int64)
    values[:, 0], rows[:, 0] = question_values(base, metric), first_rows(base.scored)
    for column, other in enumerate(others, 1):
        matched = match_questions(base.scored, other.scored)
        values[matched.base, column] = question_values(other, metric)[matched.other]
        rows[matched.base, column] = first_rows(other.scored)[matched.other]
    return QuestionMatrix(base.scored.question_ids, values, rows)


def changed_rows(base: Diagnosis, other: Diagnosis, metric: str, sign: int) -> BoolArray:
    """(n,) True for the samples of the other run whose question rose (1), fell (-1) or kept (0) its value."""
    matched = match_questions(base.scored, other.scored)
    gaps = question_values(other, metric)[matched.other] - question_values(base, metric)[matched.base]
    known = np.isfinite(gaps)
    signs = np.sign(np.where(np.abs(gaps) < _SAME, 0.0, np.where(known, gaps, 0.0)))
    chosen = matched.other[known & (signs == sign)]
    return np.asarray(np.isin(other.scored.question, chosen), dtype=np.bool_)
