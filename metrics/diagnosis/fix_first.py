"""What to fix first: stages by how many bad cases they own, and what fixing each could bring at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.diagnosis.stages import STAGES, Owner
from metrics.schema.scores import BoolArray, FloatArray, IntArray
from metrics.statistics.intervals import question_means

__all__ = ["FixFirst", "fix_first"]

UNEXPLAINED = "unexplained"  # key of the stage, and the owner, that takes the rest
_UPSTREAM = ("retrieval", "reranking")  # what an oracle context would repair


@dataclass(frozen=True)
class FixFirst:
    """One stage, or one owner, and what it costs.

    Attributes:
        key: stage key or owner.
        title: name for people.
        owner: the part of the pipeline that must change.
        n_bad: bad cases attributed to it.
        share: of all bad cases.
        pass_rate_now: share of good cases, a mean over questions.
        pass_rate_if_perfect: the same if every bad case of this stage became good: an upper bound, since the
            next stage may fail on a repaired case. Cases that an oracle context left bad stay bad here.
        n_oracle: cases of this stage for which an oracle-context run says how they would fare.
        n_inferred: cases of this stage that were told by the context signal, since no gold is recorded.
        bound: the words to write beside pass_rate_if_perfect.
    """

    key: str
    title: str
    owner: Owner
    n_bad: int
    share: float
    pass_rate_now: float
    pass_rate_if_perfect: float
    n_oracle: int
    n_inferred: int
    bound: str


def fix_first(
    stage: NDArray[np.int8],
    questions: IntArray,
    by: Literal["stage", "owner"] = "stage",
    oracle_bad: NDArray[np.int8] | None = None,
    measured: BoolArray | None = None,
    inferred: BoolArray | None = None,
) -> list[FixFirst]:
    """Rank stages, or their owners, by the bad cases they own; ties by what fixing them could bring.

    What no stage explains comes last, however many cases it holds: it names nothing to fix.

    Args:
        stage: (n,) codes from metrics.diagnosis.stages.attribute, -1 for good cases.
        questions: (n,) codes 0..q-1 of the questions, whose repeats are averaged.
        by: one entry a stage, or one an owner.
        oracle_bad: (n,) whether the same question was still bad with the right context handed over: 1 yes,
            0 no, -1 unknown. Sharpens the bound of retrieval and reranking stages.
        measured: (n,) True where anything says whether the case is good or bad; the pass rates leave the
            others out. All of them when left out.
        inferred: (n,) from metrics.diagnosis.stages.attribute.
    """
    oracle = np.full(len(stage), -1, dtype=np.int8) if oracle_bad is None else oracle_bad
    known = np.ones(len(stage), dtype=np.bool_) if measured is None else measured
    guessed = np.zeros(len(stage), dtype=np.bool_) if inferred is None else inferred
    given = _Given(stage, questions, oracle, known | (stage >= 0), guessed)
    names = np.array([entry.key if by == "stage" else entry.owner for entry in STAGES], dtype=object)
    found = []
    for name in dict.fromkeys(names):
        mine = np.isin(stage, np.flatnonzero(names == name))
        if mine.any():
            first = STAGES[int(np.flatnonzero(names == name)[0])]
            title = first.title if by == "stage" else str(name).capitalize()
            found.append(_entry(str(name), title, first.owner, mine, given))
    return sorted(found, key=lambda one: (one.key == UNEXPLAINED, -one.n_bad, -one.pass_rate_if_perfect))


@dataclass(frozen=True)
class _Given:
    """What every entry is made from, each (n,)."""

    stage: NDArray[np.int8]
    questions: IntArray
    oracle: NDArray[np.int8]
    measured: BoolArray
    inferred: BoolArray

    def pass_rate(self, good: BoolArray) -> float:
        values: FloatArray = np.where(self.measured, good.astype(np.float64), np.nan)
        return float(np.nanmean(question_means(values, self.questions)[0]))


def _entry(key: str, title: str, owner: Owner, mine: BoolArray, given: _Given) -> FixFirst:
    upstream = owner in _UPSTREAM
    stays_bad = mine & (given.oracle == 1) & upstream
    n_oracle = int((mine & (given.oracle >= 0)).sum()) if upstream else 0
    sharpened = (
        f", less {int(stays_bad.sum())} cases that an oracle context did not repair" if n_oracle else ""
    )
    good = given.stage < 0
    return FixFirst(
        key=key,
        title=title,
        owner=owner,
        n_bad=int(mine.sum()),
        share=int(mine.sum()) / int((~good).sum()),
        pass_rate_now=given.pass_rate(good),
        pass_rate_if_perfect=given.pass_rate(good | (mine & ~stays_bad)),
        n_oracle=n_oracle,
        n_inferred=int((mine & given.inferred).sum()),
        bound=f"at most{sharpened}",
    )
