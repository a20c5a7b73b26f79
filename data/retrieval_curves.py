"""What the Retrieval page shows: curves over k, query types, reranking, hops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.ranked_tables import RankedLists
from data.tables import RunTable
from metrics import retrieval, spans
from metrics.comparison import PairedDifference, paired
from metrics.curves import suggested_k
from metrics.hops import hop_outcomes
from metrics.inputs import Rankings
from metrics.reranking import Moves, moves
from metrics.statistics import Interval, intervals, question_means
from metrics.values import BoolArray, FloatArray, Scores

__all__ = [
    "KINDS",
    "LONGEST_K",
    "Curve",
    "HopTally",
    "Reranked",
    "TypeCurve",
    "curves",
    "first_gold",
    "hop_tallies",
    "kind_of",
    "reranked",
    "type_curves",
]

LONGEST_K = 50
Formula = Callable[[int], Scores]
KINDS: Mapping[str, tuple[str, str]] = {
    "single fact": ("mrr", "one document answers it: how early does it stand"),
    "broad coverage": ("recall", "several documents are needed: how many of them are there"),
    "ranked quality": ("ndcg", "better documents must stand before good ones"),
    "multi-hop": ("all_hops_recall", "every step needs its document"),
}
_WORDS = {
    "multi-hop": ("hop", "bridge", "compar", "compos", "reason"),
    "single fact": ("fact", "single", "lookup", "simple", "entity", "who", "when"),
    "broad coverage": ("broad", "summar", "list", "overview", "aggregat", "explor", "coverage"),
    "ranked quality": ("rank", "recommend", "best", "top", "quality"),
}


@dataclass(frozen=True)
class Curve:
    """One metric over k.

    Attributes:
        metric: key without the cut-off.
        ks: 1, 2, ... up to the longest list, at most 50.
        points: mean with interval at each k.
    """

    metric: str
    ks: tuple[int, ...]
    points: tuple[Interval, ...]

    def at(self, k: int) -> Interval:
        """Give the point at k, or the last where k is beyond the longest list."""
        return self.points[min(k, len(self.ks)) - 1]


def curves(
    table: RunTable, lists: RankedLists, metrics: Sequence[str] = (), keep: BoolArray | None = None
) -> list[Curve]:
    """Compute metrics for every k from 1 to 50, by the formulas that the registry uses.

    Args:
        table: the run.
        lists: its ranked lists.
        metrics: which; recall, precision, nDCG and MRR when left out, their span forms for gold text.
        keep: (n,) samples to use; all when left out.
    """
    formulas = _formulas(lists)
    ks = tuple(range(1, _width(lists) + 1))
    wanted = metrics or [name for name in (*_DOCUMENTS, *_SPANS) if name in formulas and name != _HOPS]
    return [_curve(table, name, formulas[name], ks, keep) for name in wanted if name in formulas and ks]


_HOPS = "all_hops_recall"
_DOCUMENTS = {
    "recall": retrieval.recall,
    "precision": retrieval.precision,
    "ndcg": retrieval.ndcg,
    "mrr": retrieval.reciprocal_rank,
    _HOPS: retrieval.all_hops_recall,
}
_SPANS = {
    "span_recall": spans.span_recall,
    "span_precision": spans.span_precision,
    "span_ndcg": spans.span_ndcg,
}


def _formulas(lists: RankedLists) -> dict[str, Formula]:
    found: dict[str, Formula] = {}
    if lists.documents is not None:
        found |= {name: _bound(formula, lists.documents) for name, formula in _DOCUMENTS.items()}
    elif lists.spans is not None:
        found |= {name: _bound(formula, lists.spans) for name, formula in _SPANS.items()}
    return found


def _bound(formula: Callable[..., Scores], block: object) -> Formula:
    return lambda k: formula(block, k)


def _width(lists: RankedLists) -> int:
    if lists.documents is not None:
        return min(LONGEST_K, int(lists.documents.grades.shape[1]))
    return 0 if lists.spans is None else min(LONGEST_K, int(lists.spans.new_gold.shape[1]))


def _curve(
    table: RunTable, metric: str, formula: Formula, ks: Sequence[int], keep: BoolArray | None
) -> Curve:
    columns = np.column_stack([formula(k).values for k in ks])
    if keep is not None:
        columns = np.where(keep[:, None], columns, np.nan)
    means, _ = question_means(columns, table.question)
    scored = np.isfinite(means).any(axis=1)
    found = intervals(means[scored], table.clusters[scored], [int(scored.sum())] * len(ks))
    return Curve(metric, tuple(ks), tuple(found))


@dataclass(frozen=True)
class TypeCurve:
    """One type of question.

    Attributes:
        name: the query type.
        kind: key of KINDS, which says which metric is primary.
        told: whether the kind was chosen or follows from the name; False where the default stands in.
        curve: the primary metric over k.
        suggested: k behind which more documents hardly add; None where nothing is measured.
        n: questions with gold.
    """

    name: str
    kind: str
    told: bool
    curve: Curve | None
    suggested: int | None
    n: int


def kind_of(name: str, chosen: Mapping[str, str], has_hops: bool) -> tuple[str, bool]:
    """Say what kind of question a query type is, and whether that is known."""
    if chosen.get(name) in KINDS:
        return chosen[name], True
    small = name.lower()
    for kind, words in _WORDS.items():
        if any(word in small for word in words):
            return kind, True
    return ("multi-hop", True) if has_hops else ("broad coverage", False)


def type_curves(table: RunTable, lists: RankedLists, chosen: Mapping[str, str]) -> list[TypeCurve]:
    """Give each query type its primary metric over k and a suggested k, the most frequent type first."""
    groups = next((one for one in table.slices if one.name == "query_type"), None)
    names = ("all questions",) if groups is None else groups.labels
    found = []
    for code, name in enumerate(names):
        keep = np.ones(table.n, dtype=np.bool_) if groups is None else groups.codes == code
        found.append(_type_curve(table, lists, name, keep, chosen))
    return sorted(found, key=lambda one: (-one.n, one.name))


def _type_curve(
    table: RunTable, lists: RankedLists, name: str, keep: BoolArray, chosen: Mapping[str, str]
) -> TypeCurve:
    has_hops = lists.documents is not None and bool((lists.documents.has_hops & keep).any())
    kind, told = kind_of(name, chosen, has_hops)
    metric = KINDS[kind][0]
    if lists.documents is None:
        metric = {"ndcg": "span_ndcg"}.get(metric, "span_recall")
    elif metric == _HOPS and not has_hops:
        metric = "recall"
    measured = curves(table, lists, [metric], keep)
    n = measured[0].points[0].n_scored if measured else 0
    if not n:
        return TypeCurve(name, kind, told, None, None, 0)
    means = np.array([point.mean for point in measured[0].points])
    return TypeCurve(name, kind, told, measured[0], suggested_k(means), n)


@dataclass(frozen=True)
class Reranked:
    """First pass against the list that was handed on, at one k.

    Attributes:
        moves: what became of the gold units, by sample.
        before: metric -> mean of the first pass over the compared questions.
        after: metric -> mean of the final lists.
        differences: metric -> final minus first pass, paired on question.
    """

    moves: Moves
    before: dict[str, float]
    after: dict[str, float]
    differences: dict[str, PairedDifference]


def reranked(table: RunTable, lists: RankedLists, k: int) -> Reranked | None:
    """Compare the final lists with the first pass; None where the run has no first pass."""
    first, final = lists.first_pass, lists.documents
    if first is None or final is None:
        return None
    before, after, differences = {}, {}, {}
    for name in ("recall", "ndcg", "mrr"):
        sides = [_by_question(table, _DOCUMENTS[name], one, k) for one in (first, final)]
        both = np.isfinite(sides[0]) & np.isfinite(sides[1])
        if not both.any():
            return None
        left, right = sides[0][both], sides[1][both]
        before[name], after[name] = float(left.mean()), float(right.mean())
        differences[name] = paired(left, right, table.clusters[both])
    return Reranked(moves(first, final, k), before, after, differences)


def _by_question(table: RunTable, formula: Callable[..., Scores], lists: Rankings, k: int) -> FloatArray:
    return question_means(formula(lists, k).values, table.question)[0]


@dataclass(frozen=True)
class HopTally:
    """How many multi-hop cases ended one way.

    Attributes:
        title: what happened, e.g. "hop 1 missed".
        mark: the mark that leads to these cases.
        n: how many.
    """

    title: str
    mark: str
    n: int


def hop_tallies(lists: RankedLists, k: int) -> list[HopTally]:
    """Count the multi-hop cases by what was missed; empty where no question names hops."""
    if lists.documents is None or not lists.documents.has_hops.any():
        return []
    found = hop_outcomes(lists.documents, lists.first_pass, k)
    tallies = [HopTally(f"all hops in the top {k}", f"hops_complete:{k}", int(found.complete.sum()))]
    names = missed_names(lists, found.missed)
    for name in sorted(set(names[found.missed.any(axis=1)])):
        title = f"hop {name} missed" if "+" not in name else f"hops {name.replace('+', ' and ')} missed"
        tallies.append(HopTally(title, f"hop_missed:{name}", int((names == name).sum())))
    below = HopTally(f"found, but out of the top {k}", f"hops_below:{k}", int(found.below.sum()))
    return [*tallies, below]


def missed_names(lists: RankedLists, missed: BoolArray) -> FloatArray:
    """Name the missed hops of each sample, joined by +; "" where none is missed."""
    names = np.full(len(missed), "", dtype=object)
    for row in np.flatnonzero(missed.any(axis=1)):
        labels = [str(label) or "?" for label in lists.hops[row][missed[row]]]
        names[row] = "+".join(labels)
    return names


def first_gold(lists: RankedLists, depth: int = 10) -> dict[str, int]:
    """Count the cases by the rank of their first gold document: "1" to the depth, "deeper", "not found"."""
    if lists.documents is None:
        return {}
    units = lists.documents.unit_rank
    scored = (~np.isnan(units)).any(axis=1) & (lists.documents.status == 0)
    first = np.nanmin(np.where(np.isnan(units), np.inf, units), axis=1, initial=np.inf)[scored]
    found = {str(rank): int((first == rank).sum()) for rank in range(1, depth + 1)}
    return {
        **found,
        "deeper": int((np.isfinite(first) & (first > depth)).sum()),
        "not found": int((~np.isfinite(first)).sum()),
    }
