"""What to fix first: stages by how many bad cases they own, and what fixing each could bring at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.stages import STAGES, Owner
from metrics.statistics import question_means
from metrics.values import BoolArray, FloatArray, IntArray

__all__ = ["FixFirst", "fix_first"]

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
    bound: str


def fix_first(
    stage: NDArray[np.int8],
    questions: IntArray,
    by: Literal["stage", "owner"] = "stage",
    oracle_bad: NDArray[np.int8] | None = None,
) -> list[FixFirst]:
    """Rank stages, or their owners, by the bad cases they own; ties by what fixing them could bring.

    Args:
        stage: (n,) codes from metrics.stages.attribute, -1 for good cases.
        questions: (n,) codes 0..q-1 of the questions, whose repeats are averaged.
        by: one entry a stage, or one an owner.
        oracle_bad: (n,) whether the same question was still bad with the right context handed over: 1 yes,
            0 no, -1 unknown. Sharpens the bound of retrieval and reranking stages.
    """
    n_bad = int((stage >= 0).sum())
    oracle = np.full(len(stage), -1, dtype=np.int8) if oracle_bad is None else oracle_bad
    names = np.array([entry.key if by == "stage" else entry.owner for entry in STAGES], dtype=object)
    found = []
    for name in dict.fromkeys(names):
        mine = np.isin(stage, np.flatnonzero(names == name))
        if mine.any():
            first = STAGES[int(np.flatnonzero(names == name)[0])]
            title = first.title if by == "stage" else str(name).capitalize()
            found.append(_entry(str(name), title, first.owner, stage, mine, questions, oracle, n_bad))
    return sorted(found, key=lambda entry: (-entry.n_bad, -entry.pass_rate_if_perfect))


def _entry(
    key: str,
    title: str,
    owner: Owner,
    stage: NDArray[np.int8],
    mine: BoolArray,
    questions: IntArray,
    oracle: NDArray[np.int8],
    n_bad: int,
) -> FixFirst:
    upstream = owner in _UPSTREAM
    stays_bad = mine & (oracle == 1) & upstream
    n_oracle = int((mine & (oracle >= 0)).sum()) if upstream else 0
    sharpened = (
        f", less {int(stays_bad.sum())} cases that an oracle context did not repair" if n_oracle else ""
    )
    return FixFirst(
        key=key,
        title=title,
        owner=owner,
        n_bad=int(mine.sum()),
        share=int(mine.sum()) / n_bad,
        pass_rate_now=_pass_rate(stage < 0, questions),
        pass_rate_if_perfect=_pass_rate((stage < 0) | (mine & ~stays_bad), questions),
        n_oracle=n_oracle,
        bound=f"at most{sharpened}",
    )


def _pass_rate(good: BoolArray, questions: IntArray) -> float:
    means: FloatArray = question_means(good.astype(np.float64), questions)[0]
    return float(np.nanmean(means))
