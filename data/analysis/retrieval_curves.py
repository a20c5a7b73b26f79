"""Retrieval metrics over k, of each hop and question type too; where the first gold of a case stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ragtriage.data.scoring.gold_join import hop_order
from ragtriage.data.scoring.ranked_lists import RankedLists, missed_names
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import (
    DOCUMENT_CURVES,
    KINDS,
    SPAN_CURVES,
    curve_intervals,
    curve_values,
    hop_outcomes,
    query_type_named,
    suggested_k,
)
from ragtriage.metrics.schema.batch import Rankings, SpanRankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Status
from ragtriage.metrics.statistics.intervals import Interval, hajek_mean, question_means

LONGEST_K = 50
HOPS = "all_hops_recall"


@dataclass(frozen=True)
class Curve:
    """One metric over k."""

    metric: str  # key without its k
    ks: tuple[int, ...]  # 1, 2, ... up to the longest list or the k asked for, at most LONGEST_K
    points: tuple[Interval, ...]  # mean with interval at each k
    longest: int  # length of the longest list, at most LONGEST_K; behind it no document is left to find

    def at(self, k: int) -> Interval:
        """Return the point at k.

        Raises:
            IndexError: the curve was not computed so far.
        """
        return self.points[k - 1]


def block_of(lists: RankedLists) -> Rankings | SpanRankings | None:
    """Return the lists that retrieval is measured on: joined by gold documents, else by gold text."""
    return lists.documents if lists.documents is not None else lists.spans


def curves(
    scored: ScoredRun,
    lists: RankedLists,
    metrics: Sequence[str] = (),
    keep: BoolArray | None = None,
    k: int = 1,
) -> list[Curve]:
    """Compute metrics for every k from 1 to the longest list or to k, at most LONGEST_K.

    Args:
        scored: the run.
        lists: its ranked lists.
        metrics: which; recall, precision, nDCG and MRR when left out, their span forms for gold text.
        keep: (n,) samples to use; all when left out.
        k: a value that must be there even where every list is shorter.
    """
    block = block_of(lists)
    if block is None:
        return []
    known = DOCUMENT_CURVES if isinstance(block, Rankings) else SPAN_CURVES
    wanted = metrics or [name for name in known if name != HOPS]
    longest = longest_list(lists)
    most = min(LONGEST_K, max(longest, k, 1))
    measured = [(name, question_values(scored, name, block, most, keep)) for name in wanted if name in known]
    return [curve_of(scored, name, means, longest) for name, means in measured]


def question_values(
    scored: ScoredRun, metric: str, block: Rankings | SpanRankings, most: int, keep: BoolArray | None = None
) -> FloatArray:
    """(q, most) values of a metric for each question, repeats averaged; NaN where not scored."""
    values = curve_values(metric, block, most)
    if keep is not None:
        values = np.where(keep[:, None], values, np.nan)
    return question_means(values, scored.question)[0]


def curve_of(scored: ScoredRun, metric: str, means: FloatArray, longest: int) -> Curve:
    """Make a curve of (q, K) values of the questions of a run."""
    points = curve_intervals(means, scored.clusters, weights=scored.question_weights)
    return Curve(metric, tuple(range(1, means.shape[1] + 1)), tuple(points), longest)


def list_lengths(lists: RankedLists) -> IntArray:
    """Lengths of the lists that are scored, one a sample."""
    block = block_of(lists)
    if block is None:
        return np.zeros(0, dtype=np.int64)
    places = block.grades if isinstance(block, Rankings) else block.new_gold
    lengths: IntArray = (~np.isnan(places)).sum(axis=1)
    scored: IntArray = lengths[block.status == Status.SCORED]
    return scored


def longest_list(lists: RankedLists) -> int:
    """Length of the longest list that is scored, at most LONGEST_K."""
    return min(LONGEST_K, int(list_lengths(lists).max(initial=0)))


def first_ranks(lists: RankedLists) -> FloatArray:
    """(n,) rank of the first gold document, or chunk with gold text; inf where none is, NaN where unknown."""
    block = block_of(lists)
    if block is None:
        return np.full(len(lists.hops), np.nan)
    if isinstance(block, Rankings):
        known = (block.status == Status.SCORED) & (~np.isnan(block.unit_rank)).any(axis=1)
        ranks = np.where(np.isnan(block.unit_rank), np.inf, block.unit_rank)
        first = np.min(ranks, axis=1, initial=np.inf)
    else:
        known = block.status == Status.SCORED
        first = np.full(len(block.hits), np.inf)
        hit = block.hits.any(axis=1)
        first[hit] = block.hits[hit].argmax(axis=1) + 1.0
    return np.where(known, first, np.nan)


MOST_HOPS = 4  # curves of single hops; the curve of all hops comes on top


@dataclass(frozen=True)
class HopTally:
    """The number of multi-hop cases with one outcome."""

    title: str  # what happened, e.g. "hop 1 missed"
    cohort: str  # key of the cohort with these cases
    n: int  # number of cases


def hop_tallies(lists: RankedLists, k: int) -> list[HopTally]:
    """Count the multi-hop cases by what was missed; empty where no question names hops."""
    if lists.documents is None or not lists.documents.has_hops.any():
        return []
    outcome = hop_outcomes(lists.documents, lists.first_pass, k)
    tallies = [HopTally(f"all hops in the top {k}", f"hops_complete:{k}", int(outcome.complete.sum()))]
    names, counts = np.unique(missed_names(lists, outcome.missed).astype(str), return_counts=True)
    for name, n in sorted(
        zip(names.tolist(), counts.tolist(), strict=True), key=lambda tally: _order(tally[0])
    ):
        if name:
            hops = name.split("+")
            title = f"hop {name} missed" if len(hops) == 1 else f"hops {' and '.join(hops)} missed"
            tallies.append(HopTally(title, f"hop_missed:{name}", n))
    below = HopTally(f"found, but out of the top {k}", f"hops_below:{k}", int(outcome.below.sum()))
    return [*tallies, below]


def _order(name: str) -> tuple[int, list[tuple[int, str]]]:
    hops = name.split("+")
    return len(hops), [hop_order(hop) for hop in hops]


def hop_curves(scored: ScoredRun, lists: RankedLists, k: int) -> list[Curve]:
    """Return the share of questions with each hop in the top k, and with all of them, over k.

    The metric of a curve of one hop is "hop" and its label. Only the first MOST_HOPS labels have curves.
    """
    documents = lists.documents
    if documents is None or not documents.has_hops.any():
        return []
    longest = longest_list(lists)
    most = min(LONGEST_K, max(longest, k, 1))
    asked = documents.has_hops & (documents.status == Status.SCORED)
    labels = sorted({str(label) for label in np.unique(lists.hops.astype(str)) if label}, key=hop_order)
    hop_lines = []
    for label in labels[:MOST_HOPS]:
        has_label = lists.hops == label
        rank = np.min(np.where(has_label, documents.unit_rank, np.inf), axis=1)[:, None]
        in_top_k = np.where((has_label.any(axis=1) & asked)[:, None], rank <= np.arange(1, most + 1), np.nan)
        means = question_means(in_top_k, scored.question)[0]
        hop_lines.append(curve_of(scored, f"hop {label}", means, longest))
    means = question_values(scored, HOPS, documents, most)
    return [*hop_lines, curve_of(scored, HOPS, means, longest)]


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
    weights = scored.question_weights
    suggested = suggested_k(np.array([hajek_mean(column, weights) for column in growing[:, :longest].T]))
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
    intervals = curve_intervals(added, scored.clusters, (-1.0, 1.0), scored.question_weights)
    return tuple(Gain(start, end, each) for (start, end), each in zip(steps, intervals, strict=True))
