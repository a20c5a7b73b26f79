"""What to fix first: stages by their bad cases, with the most that fixing each could gain."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES
from ragtriage.metrics.diagnosis.stages import STAGES, Owner
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import hajek_mean, question_means

UNEXPLAINED = "unexplained"  # the stage, and the owner, of cases that no other stage explains
_CRITICAL = tuple(f"check_{suite}" for suite in CRITICAL_SUITES)
_UPSTREAM = ("retrieval", "reranking")  # what an oracle context would repair


@dataclass(frozen=True)
class FixFirst:
    """One stage, or one owner, with its bad cases."""

    key: str  # stage key or owner
    title: str  # name of at most three words
    owner: Owner  # the part of the pipeline that must change
    n_bad: int  # bad cases attributed to it
    share: float  # of all bad cases, by weight where they weigh
    pass_rate_now: float  # share of good cases, a mean over questions
    # the same if every bad case of this stage became good: an upper bound, since the next stage may
    # fail on a repaired case. Cases that an oracle context left bad stay bad here
    pass_rate_if_perfect: float
    n_oracle: int  # cases of this stage that were also answered in an oracle-context run
    n_inferred: int  # cases attributed by the context metric, since no gold is recorded
    bound: str  # the words to print before pass_rate_if_perfect


def fix_first(
    stage: NDArray[np.int8],
    questions: IntArray,
    by: Literal["stage", "owner"] = "stage",
    oracle_bad: NDArray[np.int8] | None = None,
    measured: BoolArray | None = None,
    inferred: BoolArray | None = None,
    weights: FloatArray | None = None,
) -> list[FixFirst]:
    """Rank stages, or their owners, by their bad cases; ties by what fixing them could gain.

    A leak between accounts and a failed safety check come first, for one of them is too many.
    Unexplained cases come last, however many there are: they point to nothing to fix.

    Args:
        stage: (n,) codes from ragtriage.metrics.diagnosis.stages.attribute_failures, -1 for good cases.
        questions: (n,) codes 0..q-1 of the questions, whose repeats are averaged.
        by: one entry per stage, or one per owner.
        oracle_bad: (n,) whether the same question was still bad with an oracle context: 1 yes, 0 no,
            -1 unknown. Tightens the bound of retrieval and reranking stages.
        measured: (n,) True where it is known whether the case is good or bad; the pass rates leave the
            others out. By default all are.
        inferred: (n,) from ragtriage.metrics.diagnosis.stages.attribute_failures.
        weights: (q,) of each question, in shares, pass rates and the order; None where all weigh alike.
    """
    none = np.zeros(len(stage), dtype=np.bool_)
    cases = _Cases(
        stage,
        questions,
        np.full(len(stage), -1, dtype=np.int8) if oracle_bad is None else oracle_bad,
        (~none if measured is None else measured) | (stage >= 0),
        none if inferred is None else inferred,
        weights,
    )
    names = np.array([entry.key if by == "stage" else entry.owner for entry in STAGES], dtype=object)
    entries = []
    # in the order of STAGES, so that equal entries keep the order in which the stages are tried
    for name in dict.fromkeys(names):
        codes = np.flatnonzero(names == name)
        attributed = np.isin(stage, codes)
        if attributed.any():
            first = STAGES[int(codes[0])]
            title = first.title if by == "stage" else str(name).capitalize()
            entries.append(_entry(str(name), title, first.owner, attributed, cases))
    return sorted(
        entries,
        key=lambda entry: (
            entry.key == UNEXPLAINED,
            entry.key not in _CRITICAL,
            -entry.n_bad if weights is None else -entry.share,
            -entry.pass_rate_if_perfect,
        ),
    )


@dataclass(frozen=True)
class _Cases:
    """The known facts of each case, each (n,)."""

    stage: NDArray[np.int8]
    questions: IntArray
    oracle: NDArray[np.int8]
    measured: BoolArray
    inferred: BoolArray
    weights: FloatArray | None

    def size(self, chosen: BoolArray) -> float:
        """Return how many the chosen cases are, or their weight."""
        return float(chosen.sum() if self.weights is None else self.weights[self.questions[chosen]].sum())

    def pass_rate(self, good: BoolArray) -> float:
        values: FloatArray = np.where(self.measured, good.astype(np.float64), np.nan)
        means = question_means(values, self.questions)[0]
        return float(np.nanmean(means)) if self.weights is None else hajek_mean(means, self.weights)


def _entry(key: str, title: str, owner: Owner, attributed: BoolArray, cases: _Cases) -> FixFirst:
    upstream = owner in _UPSTREAM
    # perfect retrieval cannot repair a case that fails with the oracle context too
    stays_bad = attributed & (cases.oracle == 1) & upstream
    n_oracle = int((attributed & (cases.oracle >= 0)).sum()) if upstream else 0
    unrepaired = (
        f", less {int(stays_bad.sum())} cases that an oracle context did not repair" if n_oracle else ""
    )
    good = cases.stage < 0
    return FixFirst(
        key=key,
        title=title,
        owner=owner,
        n_bad=int(attributed.sum()),
        share=cases.size(attributed) / cases.size(~good),
        pass_rate_now=cases.pass_rate(good),
        pass_rate_if_perfect=cases.pass_rate(good | (attributed & ~stays_bad)),
        n_oracle=n_oracle,
        n_inferred=int((attributed & cases.inferred).sum()),
        bound=f"at most{unrepaired}",
    )


Effort = Literal["hours", "days", "weeks"]


@dataclass(frozen=True)
class Repair:
    """What a first repair takes, and the least and most of its stage's cases that it mends, as shares."""

    effort: Effort
    least: float
    most: float


REPAIRS: Mapping[Owner, Repair] = MappingProxyType(
    {
        "format": Repair("hours", 0.6, 0.9),  # an output schema or an example in the prompt
        "refusal": Repair("hours", 0.4, 0.8),  # another instruction, a relevance threshold
        "reranking": Repair("days", 0.3, 0.6),  # another reranker, more documents passed on
        "retrieval": Repair("days", 0.3, 0.6),  # chunking, embeddings, query processing; a new index
        "generation": Repair("days", 0.2, 0.5),  # prompt, then model
        "orchestration": Repair("days", 0.3, 0.7),  # router, tools, filters, memory
        "safety": Repair("days", 0.5, 1.0),  # access filter, guardrails
    }
)
UPSTREAM: tuple[Owner, ...] = ("retrieval", "reranking")  # their repaired cases still need the generator


@dataclass(frozen=True)
class Gain:
    """The pass rate now and after a first repair: an estimate."""

    now: float  # share of good cases
    low: float  # the same where the repair mends the least share of the cases that it is expected to
    high: float  # where it mends the most
    effort: Effort  # that it takes


def expected_gain(owner: Owner, now: float, if_perfect: float, passing_complete: float) -> Gain | None:
    """Return what a first repair of a stage brings; None where the table has no repair of its owner.

    Args:
        owner: the part of the pipeline that must change.
        now: pass rate.
        if_perfect: pass rate if every case of the stage were good.
        passing_complete: pass rate of the cases with all of the gold in their context; a case whose context
            is repaired passes as often as those do.
    """
    repair = REPAIRS.get(owner)
    if repair is None:
        return None
    room = (if_perfect - now) * (passing_complete if owner in UPSTREAM else 1.0)
    return Gain(now, now + repair.least * room, now + repair.most * room, repair.effort)
