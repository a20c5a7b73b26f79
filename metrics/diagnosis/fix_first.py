"""What to fix first: stages by their bad cases, with the most that fixing each could gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES
from ragtriage.metrics.diagnosis.stages import STAGES, Owner
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.question_means import question_means

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
    share: float  # of all bad cases
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
    """
    none = np.zeros(len(stage), dtype=np.bool_)
    cases = _Cases(
        stage,
        questions,
        np.full(len(stage), -1, dtype=np.int8) if oracle_bad is None else oracle_bad,
        (~none if measured is None else measured) | (stage >= 0),
        none if inferred is None else inferred,
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
            -entry.n_bad,
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

    def pass_rate(self, good: BoolArray) -> float:
        values: FloatArray = np.where(self.measured, good.astype(np.float64), np.nan)
        return float(np.nanmean(question_means(values, self.questions)[0]))


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
        share=int(attributed.sum()) / int((~good).sum()),
        pass_rate_now=cases.pass_rate(good),
        pass_rate_if_perfect=cases.pass_rate(good | (attributed & ~stays_bad)),
        n_oracle=n_oracle,
        n_inferred=int((attributed & cases.inferred).sum()),
        bound=f"at most{unrepaired}",
    )
