"""Types of questions: the metric that each calls for over k, what further documents add, a suggested k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ragtriage.data.analysis.retrieval_curves import (
    HOPS,
    LONGEST_K,
    Curve,
    block_of,
    curve_of,
    longest_list,
    question_values,
)
from ragtriage.data.scoring.ranked_lists import RankedLists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import KINDS, curve_intervals, query_type_named, suggested_k
from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray
from ragtriage.metrics.statistics.intervals import Interval

STEPS = (1, 2, 3, 5, 10, 20, 30, 40, 50)  # where the gains of a curve are told
EVERY = "all questions"
_OF_SPANS = {"ndcg": "span_ndcg"}  # for gold text; every other kind has span recall
_RECALLS = {"ndcg": "recall", "span_ndcg": "span_recall"}  # what k is suggested by where a metric can fall


@dataclass(frozen=True)
class Gain:
    """The gain from the documents between two values of k."""

    start: int  # the smaller k
    end: int  # the larger one
    each: Interval  # gain of the metric for each document between them, over questions, with interval


@dataclass(frozen=True)
class TypeCurve:
    """One type of question.

    Attributes:
        name: the query type.
        kind: key of KINDS, which says which metric is primary.
        told: whether the kind was chosen or follows from the name or the hops of the gold; False where the
            default stands in.
        curve: the primary metric over k; None where nothing is measured.
        suggested: k behind which more documents hardly add; None where nothing is measured.
        suggested_by: key of the metric that the suggestion rests on: the primary one, or recall where that
            can fall with k, as nDCG can.
        rising: whether the curve still rises where the lists end, so that the suggestion is only a lower end.
        gains: what the documents between the steps add.
        n: questions with gold.
    """

    name: str
    kind: str
    declared: bool
    curve: Curve | None
    suggested: int | None
    suggested_by: str
    rising: bool
    gains: tuple[Gain, ...]
    n: int

    @property
    def stands_in(self) -> bool:
        """True where recall stands in for all-hops recall, because the gold names no hops."""
        return self.kind == "multi-hop" and self.curve is not None and self.curve.metric != HOPS


def kind_of(name: str, chosen: Mapping[str, str], has_hops: bool) -> tuple[str, bool]:
    """Return the kind of question of a query type, and whether it is known."""
    if chosen.get(name) in KINDS:
        return chosen[name], True
    declared = query_type_named(name) or ("multi-hop" if has_hops else None)
    return ("broad coverage", False) if declared is None else (declared, True)


def type_curves(
    scored: ScoredRun, lists: RankedLists, chosen: Mapping[str, str], k: int = 1
) -> list[TypeCurve]:
    """Return for each query type its primary metric over k and a suggested k, the most frequent first.

    Args:
        scored: the run.
        lists: its ranked lists.
        chosen: query type -> key of KINDS, where a person said so.
        k: a value that the curves must have even where every list is shorter.
    """
    curves = [_type_curve(scored, lists, name, keep, chosen, k) for name, keep in _groups(scored)]
    return sorted(curves, key=lambda one: (-one.n, one.name))


def types_named(scored: ScoredRun) -> int:
    """Count the query types that a run names; with more than MOST_SLICE_VALUES they are not told apart."""
    return sum(bool(name) for name in scored.index["query_type"].unique().to_pylist())


def _groups(scored: ScoredRun) -> list[tuple[str, BoolArray]]:
    """Return the query types with their samples; one group where there are not two types."""
    groups = next((group for group in scored.slices if group.name == "query_type"), None)
    if groups is not None:
        return [(name, groups.codes == code) for code, name in enumerate(groups.labels)]
    only = scored.index["query_type"].unique().to_pylist()
    name = str(only[0]) if len(only) == 1 and only[0] else EVERY
    return [(name, np.ones(scored.n, dtype=np.bool_))]


def _type_curve(
    scored: ScoredRun, lists: RankedLists, name: str, keep: BoolArray, chosen: Mapping[str, str], k: int
) -> TypeCurve:
    block = block_of(lists)
    has_hops = isinstance(block, Rankings) and bool((block.has_hops & keep).any())
    kind, declared = kind_of(name, chosen, has_hops)
    metric = _metric_of(kind, lists, has_hops)
    by = _RECALLS.get(metric, metric)
    if block is None:
        return TypeCurve(name, kind, declared, None, None, by, False, (), 0)
    longest = longest_list(lists)
    most = min(LONGEST_K, max(longest, k, 1))
    means = question_values(scored, metric, block, most, keep)
    curve = curve_of(scored, metric, means, longest)
    n = curve.points[0].n_scored
    if not n or not longest:
        return TypeCurve(name, kind, declared, None, None, by, False, (), n)
    growing = means if by == metric else question_values(scored, by, block, longest, keep)
    suggested = suggested_k(np.nanmean(growing[:, :longest], axis=0))
    rising = suggested == longest and suggested > 1
    gains = _gains(scored, means, suggested, longest)
    return TypeCurve(name, kind, declared, curve, suggested, by, rising, gains, n)


def _metric_of(kind: str, lists: RankedLists, has_hops: bool) -> str:
    metric = KINDS[kind][0]
    if lists.documents is None:
        return _OF_SPANS.get(metric, "span_recall")
    return "recall" if metric == HOPS and not has_hops else metric


def _gains(scored: ScoredRun, means: FloatArray, suggested: int, longest: int) -> tuple[Gain, ...]:
    ends = sorted({step for step in (*STEPS, suggested, longest) if step <= longest})
    if len(ends) < 2:
        return ()
    steps = list(pairwise(ends))
    added = np.column_stack(
        [(means[:, end - 1] - means[:, start - 1]) / (end - start) for start, end in steps]
    )
    intervals = curve_intervals(added, scored.clusters, (-1.0, 1.0))
    return tuple(Gain(start, end, each) for (start, end), each in zip(steps, intervals, strict=True))
