"""Retrieval metrics over k, of each hop too, and where the first gold of each case stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.scoring.gold_join import hop_order
from ragtriage.data.scoring.ranked_lists import RankedLists, missed_names
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import (
    DOCUMENT_CURVES,
    SPAN_CURVES,
    curve_intervals,
    curve_values,
    hop_outcomes,
)
from ragtriage.metrics.schema.batch import Rankings, SpanRankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Status
from ragtriage.metrics.statistics.intervals import Interval, question_means

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
    points = curve_intervals(means, scored.clusters)
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
