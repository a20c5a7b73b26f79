"""Reranking: the final lists compared with the first pass, and what the reranker moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.data.analysis.retrieval_curves import HOPS, question_values
from ragtriage.data.scoring.ranked_lists import RankedLists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval_breakdowns import RankMoves, rank_moves
from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import BoolArray, Status
from ragtriage.metrics.statistics.max_t import cluster_sums, max_t
from ragtriage.metrics.statistics.paired import PairedDifference, Verdict, paired, verdict


@dataclass(frozen=True)
class Change:
    """One metric at k before and after reranking.

    Attributes:
        before: mean of the first pass over the compared questions.
        after: mean of the final lists over the same questions.
        difference: after minus before, paired on question, with the interval of this metric by itself.
        adjusted_p: p-value after step-down max-T over the metrics of a RerankingEffect.
        low: lower end of the interval that the verdict rests on: 0 lies outside where adjusted_p < 0.05.
        high: its upper end.
        verdict: better, worse, cannot tell or unchanged.
    """

    before: float
    after: float
    difference: PairedDifference
    adjusted_p: float
    low: float
    high: float
    verdict: Verdict


@dataclass(frozen=True)
class RerankingEffect:
    """The final lists compared with the first pass, at one k.

    Attributes:
        moves: the moves of the gold units, by sample.
        changes: metric without its k -> its change.
    """

    moves: RankMoves
    changes: dict[str, Change]


def reranking_effect(scored: ScoredRun, lists: RankedLists, k: int) -> RerankingEffect | None:
    """Compare the final lists with the first pass; None where no question has both."""
    first, final = lists.first_pass, lists.documents
    if first is None or final is None:
        return None
    moves = rank_moves(first, final, k)
    if not moves.compared.any():
        return None
    names = ["recall", "ndcg", "mrr", *([HOPS] if (final.has_hops & moves.compared).any() else [])]
    means, differences, family = [], [], []
    for name in names:
        before, after = (
            question_values(scored, name, rankings, k, moves.compared)[:, k - 1]
            for rankings in (first, final)
        )
        both = np.isfinite(before) & np.isfinite(after)
        means.append((float(before[both].mean()), float(after[both].mean())))
        differences.append(paired(before, after, scored.clusters))
        family.append(cluster_sums(after - before, scored.clusters, (0.0, 1.0), differences[-1]))
    changes = {
        name: Change(*sides, difference, test.p, test.low, test.high, verdict(difference, test.p, True))
        for name, sides, difference, test in zip(names, means, differences, max_t(family), strict=True)
    }
    return RerankingEffect(moves, changes)


def misranked(lists: RankedLists) -> BoolArray:
    """(n,) True where the list has no gold document although the first pass found one."""
    final, first = lists.documents, lists.first_pass
    if final is None or first is None:
        return np.zeros(len(lists.hops), dtype=np.bool_)
    in_first_pass: BoolArray = (first.status == Status.SCORED) & np.isfinite(first.unit_rank).any(axis=1)
    return _without(final) & in_first_pass


def nowhere(lists: RankedLists) -> BoolArray:
    """(n,) True where neither the list nor a first pass has a gold document."""
    final = lists.documents
    if final is None:
        return np.zeros(len(lists.hops), dtype=np.bool_)
    return _without(final) & ~misranked(lists)


def _without(final: Rankings) -> BoolArray:
    asked = (final.status == Status.SCORED) & (~np.isnan(final.unit_rank)).any(axis=1)
    without: BoolArray = asked & ~np.isfinite(final.unit_rank).any(axis=1)
    return without
