"""What is lost in retrieval and what in generation: a run beside its answers from the gold documents.

With the gold documents in hand, retrieval has nothing left to lose. So the quality that a run lacks parts
into what the oracle context brings back (lost in retrieval) and what is still missing then (lost in
generation); over the same questions the two add up to all that is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from data.comparisons import GOOD_SHARE, align
from data.diagnoses import Diagnosis, good_of
from data.loss_qualities import BEST, right_from
from data.tables import RunTable
from metrics.comparison import paired
from metrics.statistics import interval, question_means
from metrics.values import BoolArray, FloatArray, IntArray, Source

__all__ = [
    "CLOSED",
    "ORACLE",
    "RETRIEVED",
    "Loss",
    "LossKind",
    "StageLosses",
    "context_modes",
    "lost_rows",
    "stage_losses",
]

LossKind = Literal["retrieval", "generation", "context"]
RETRIEVED, ORACLE, CLOSED = "retrieved", "oracle", "closed_book"


@dataclass(frozen=True)
class Loss:
    """One part of the quality, with its 95 % interval.

    Attributes:
        key: "retrieval" and "generation" are lost, "context" is what the retrieved context adds.
        value: mean over questions; NaN without any.
        low: lower end.
        high: upper end.
        n: questions behind it.
        method: how the interval was obtained.
        too_few: whether it rests on too little to be trusted.
    """

    key: LossKind
    value: float
    low: float
    high: float
    n: int
    method: str
    too_few: bool


@dataclass(frozen=True)
class StageLosses:
    """A run parted into what its stages lose.

    Attributes:
        quality: the metric, or GOOD_SHARE.
        right: from which value an answer counts as right.
        losses: one entry a part that is known.
        retrieved: mean with the retrieved context over the questions of the first two losses, or NaN.
        oracle: mean with the gold documents over the same, or NaN.
        closed_book: mean without documents over the questions of the third, or NaN.
        unpaired: questions with a value for the retrieved context and none for the oracle's.
        counts: questions by (right as retrieved, right with gold).
        sources: who measured: original, oracle, closed book; () where a run is not there.
    """

    quality: str
    right: float
    losses: tuple[Loss, ...]
    retrieved: float
    oracle: float
    closed_book: float
    unpaired: int
    counts: dict[tuple[bool, bool], int]
    sources: tuple[tuple[str, ...], ...]

    def loss(self, key: LossKind) -> Loss | None:
        """Give one part; None where it is not known."""
        return next((one for one in self.losses if one.key == key), None)


def context_modes(table: RunTable) -> tuple[BoolArray, str]:
    """Say of every sample what its answer was given, and what the run as a whole is.

    Returns:
        (n,) True where the sample has the mode of the run, and that mode: the most frequent one, a sample
        that names none being taken as retrieved.
    """
    modes = np.asarray(table.index["context_mode"].fill_null(RETRIEVED).to_pylist(), dtype=object)
    counts = {mode: int((modes == mode).sum()) for mode in (RETRIEVED, ORACLE, CLOSED)}
    most = max(counts, key=counts.__getitem__)
    return np.asarray(modes == most, dtype=np.bool_), most


def stage_losses(
    original: Diagnosis | None, oracle: Diagnosis, quality: str, closed: Diagnosis | None = None
) -> StageLosses:
    """Part the quality of a run into what its stages lose, question by question, repeats averaged.

    Args:
        original: the run with its retrieved context; None where only the oracle run is there, which then has
            the loss in generation alone.
        oracle: the same questions answered from the gold documents.
        quality: a metric of qualities_of.
        closed: the same questions answered without documents.
    """
    source = None if original is None else _shared_source(original, oracle, quality)
    top = _Side.of(oracle, quality, source)
    base = top if original is None else _Side.of(original, quality, source)
    before, after, clusters = base.beside(top)
    known = np.isfinite(before) & np.isfinite(after)
    losses = [] if original is None else [_gap("retrieval", before, after, clusters)]
    losses.append(_missing(after[known], clusters[known]))
    added, without, below = (None, float("nan"), ()) if closed is None else _added(original, closed, quality)
    losses += [] if added is None else [added]
    right = right_from(quality, oracle.settings.cutoffs)
    return StageLosses(
        quality=quality,
        right=right,
        losses=tuple(losses),
        retrieved=float("nan") if original is None else _mean(before[known]),
        oracle=_mean(after[known]),
        closed_book=without,
        unpaired=int(np.isfinite(base.means).sum() - known.sum()),
        counts=_counts(before[known] >= right, after[known] >= right),
        sources=(() if original is None else base.sources, top.sources, below),
    )


def _added(
    original: Diagnosis | None, closed: Diagnosis, quality: str
) -> tuple[Loss | None, float, tuple[str, ...]]:
    """What the retrieved context adds to an answer without documents, the mean without, and who measured."""
    if original is None:
        return None, float("nan"), ()
    source = _shared_source(original, closed, quality)
    bottom = _Side.of(closed, quality, source)
    without, given, clusters = bottom.beside(_Side.of(original, quality, source))
    mean = _mean(without[np.isfinite(given)])
    return _gap("context", without, given, clusters), mean, bottom.sources


@dataclass(frozen=True)
class _Side:
    """The quality of one run, a value a question."""

    table: RunTable
    means: FloatArray
    sources: tuple[str, ...]

    @classmethod
    def of(cls, diagnosis: Diagnosis, quality: str, source: Source | None) -> _Side:
        table = diagnosis.table
        column = None if quality == GOOD_SHARE else table.column(quality, source)
        values = good_of(diagnosis) if quality == GOOD_SHARE else np.full(table.n, np.nan)
        values = values if column is None else column.values
        mine, _ = context_modes(table)
        means = question_means(np.where(mine, values, np.nan), table.question)[0]
        return cls(table, means, ("cut-offs",) if column is None else tuple(column.sources))

    def beside(self, other: _Side) -> tuple[FloatArray, FloatArray, IntArray]:
        """Give the values of the shared questions on both sides, and the questions' clusters."""
        found = align(self.table, other.table)
        return self.means[found.base], other.means[found.other], self.table.clusters[found.base]


def _shared_source(left: Diagnosis, right: Diagnosis, quality: str) -> Source | None:
    """Pick whose values to take on both sides: one source that both have, that with the most pairs.

    None, each value from the best source, where the runs have no source in common or the metric has none.
    """
    if quality == GOOD_SHARE:
        return None
    found = (set(one.table.sources.get(quality, ())) for one in (left, right))
    common = sorted(set.intersection(*found))
    pairs = {source: _pairs(left, right, quality, source) for source in common}
    best = max(pairs, key=pairs.__getitem__, default=None)  # of equals the first, which has precedence
    return best if best is not None and pairs[best] else None


def _pairs(left: Diagnosis, right: Diagnosis, quality: str, source: Source) -> int:
    before, after, _ = _Side.of(left, quality, source).beside(_Side.of(right, quality, source))
    return int((np.isfinite(before) & np.isfinite(after)).sum())


def _gap(key: LossKind, less: FloatArray, more: FloatArray, clusters: IntArray) -> Loss:
    found = paired(less, more, clusters)
    method = found.method.partition(" interval")[0]
    return Loss(key, found.difference, found.low, found.high, found.n_pairs, method, found.too_few)


def _missing(values: FloatArray, clusters: IntArray) -> Loss:
    lacking = BEST - values
    binary = bool(np.isin(lacking, (0.0, 1.0)).all())
    found = interval(lacking, clusters, len(lacking), binary)
    return Loss("generation", found.mean, found.low, found.high, found.n_scored, found.method, found.too_few)


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _counts(retrieved: BoolArray, oracle: BoolArray) -> dict[tuple[bool, bool], int]:
    return {
        (left, right): int(((retrieved == left) & (oracle == right)).sum())
        for left in (True, False)
        for right in (True, False)
    }


def lost_rows(
    shown: Diagnosis, oracle: Diagnosis, quality: str, where: Literal["retrieval", "generation"]
) -> BoolArray:
    """Say of every sample of a run whether its question was lost in a stage.

    Lost in retrieval: wrong as it was retrieved and right with the gold documents; in generation: wrong with
    both.

    Args:
        shown: the run whose samples are marked; the oracle run itself where it stands alone.
        oracle: the run with the gold documents.
        quality: a metric of qualities_of.
        where: the stage.
    """
    source = _shared_source(shown, oracle, quality)
    base, top = _Side.of(shown, quality, source), _Side.of(oracle, quality, source)
    found = align(base.table, top.table)
    before, after = base.means[found.base], top.means[found.other]
    right = right_from(quality, oracle.settings.cutoffs)
    there = after >= right if where == "retrieval" else after < right
    lost = np.zeros(len(base.means), dtype=np.bool_)
    lost[found.base[(before < right) & there]] = True  # what is not measured is neither
    return np.asarray(lost[shown.table.question])
