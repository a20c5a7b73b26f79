"""How far a list must be read for the gold, which step could bring it, and what the reranker moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.data.analysis.retrieval_curves import (
    HOPS,
    LONGEST_K,
    Curve,
    curve_of,
    first_ranks,
    longest_list,
    question_values,
)
from ragtriage.data.scoring.gold_join import hop_order
from ragtriage.data.scoring.ranked_lists import RankedLists
from ragtriage.data.scoring.sampling import mean_of_questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import RankMoves, rank_moves
from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Status
from ragtriage.metrics.statistics.intervals import Interval, question_means
from ragtriage.metrics.statistics.max_t import cluster_sums, max_t
from ragtriage.metrics.statistics.paired import PairedDifference, Verdict, paired, verdict

Need = Literal["hops", "gold", "any gold"]
Step = Literal["top", "list", "candidates", "nowhere"]
STEPS: Mapping[Step, str] = {
    "top": "the top {k} hold what is needed",
    "list": "what is needed is in the list, some of it below rank {k}",
    "candidates": "what is needed is among the candidates, some of it not in the list",
    "nowhere": "some of what is needed is neither in the list nor among the candidates",
}


@dataclass(frozen=True)
class GoldReach:
    """Where the gold that each question needs is found: every hop, else the first gold document or chunk."""

    need: Need  # what is needed: every hop of multi-hop questions, the one gold document, or any of several
    # (n,) rank up to which a list must be read; inf where it lacks some, NaN where nothing is asked
    rank: FloatArray
    reachable: BoolArray  # (n,) True where list and candidates together hold what is needed
    has_candidates: bool  # whether the run records candidates beyond its lists
    hops: int  # most hops that a question needs; 1 where there are none
    longest: int  # length of the longest list, at most 50

    @property
    def asked(self) -> BoolArray:
        """(n,) True where something is needed."""
        return ~np.isnan(self.rank)

    def step(self, k: int) -> dict[Step, BoolArray]:
        """Return the cases of each step, each case in exactly one."""
        top, listed = self.rank <= k, np.isfinite(self.rank)
        return {
            "top": top,
            "list": listed & ~top,
            "candidates": self.asked & self.reachable & ~listed,
            "nowhere": self.asked & ~self.reachable & ~listed,
        }

    def share(self, scored: ScoredRun, k: int) -> Interval:
        """Return the share of questions whose top k hold what is needed, repeats averaged."""
        held = np.where(self.asked, self.rank <= k, np.nan)
        means, _ = question_means(held, scored.question)
        return mean_of_questions(scored, means)


def gold_reach(lists: RankedLists) -> GoldReach:
    """Return how far the lists of a run must be read for what its questions need."""
    documents, first_pass = lists.documents, lists.first_pass
    if documents is not None and documents.has_hops.any():
        unit = ~np.isnan(documents.unit_rank)
        asked = documents.has_hops & (documents.status == Status.SCORED) & unit.any(axis=1)
        rank = np.where(unit, documents.unit_rank, 0.0).max(axis=1, initial=0.0)
        reachable = (_found(documents, first_pass) | ~unit).all(axis=1)
        need: Need = "hops"
        hops = int(unit[asked].sum(axis=1).max(initial=1))
    else:
        rank = first_ranks(lists)
        asked, hops = ~np.isnan(rank), 1
        reachable = np.isfinite(rank)
        need = "gold" if _one_each(lists) else "any gold"
        if documents is not None:
            reachable = _found(documents, first_pass).any(axis=1)
    return GoldReach(
        need,
        np.where(asked, rank, np.nan),
        np.asarray(reachable, dtype=np.bool_),
        first_pass is not None,
        hops,
        longest_list(lists),
    )


def _found(documents: Rankings, first_pass: Rankings | None) -> BoolArray:
    """(n, U) True where a gold unit is in the list or among the candidates."""
    is_found = np.isfinite(documents.unit_rank)
    if first_pass is not None:
        is_found = is_found | np.isfinite(first_pass.unit_rank)
    return np.asarray(is_found, dtype=np.bool_)


def _one_each(lists: RankedLists) -> bool:
    """Return whether every question has one gold document."""
    if lists.documents is None:
        return False
    return bool(((~np.isnan(lists.documents.unit_rank)).sum(axis=1) <= 1).all())


def reach_curve(scored: ScoredRun, reach: GoldReach, k: int) -> Curve:
    """Return the share of questions whose top documents hold what is needed, over k.

    Args:
        scored: the run.
        reach: of its lists.
        k: a value that must be there even where every list is shorter.
    """
    most = min(LONGEST_K, max(reach.longest, k, 1))
    held = np.where(reach.asked[:, None], reach.rank[:, None] <= np.arange(1, most + 1), np.nan)
    return curve_of(scored, reach.need, question_means(held, scored.question)[0], reach.longest)


def reach_rows(lists: RankedLists, step: Step, k: int) -> BoolArray:
    """(n,) True for the cases of one step."""
    return gold_reach(lists).step(k)[step]


def hop_ranks(lists: RankedLists) -> dict[str, tuple[FloatArray, BoolArray]]:
    """Return the hops with, for each case, the best rank of the hop and whether a candidate has it.

    The rank is inf where the list lacks the hop, NaN where the question has no such hop.
    """
    documents = lists.documents
    if documents is None or not documents.has_hops.any():
        return {}
    asked = documents.has_hops & (documents.status == Status.SCORED)
    is_found = _found(documents, lists.first_pass)
    hops = {}
    for label in sorted({str(hop) for hop in np.unique(lists.hops.astype(str)) if hop}, key=hop_order):
        of_hop = lists.hops == label
        rank = np.min(np.where(of_hop, documents.unit_rank, np.inf), axis=1)
        hops[label] = np.where(of_hop.any(axis=1) & asked, rank, np.nan), (of_hop & is_found).any(axis=1)
    return hops


@dataclass(frozen=True)
class Change:
    """One metric at k before and after reranking."""

    before: float  # mean of the first pass over the compared questions
    after: float  # mean of the final lists over the same questions
    # after minus before, paired on question, with the interval of this metric by itself
    difference: PairedDifference
    adjusted_p: float  # p-value after step-down max-T over the metrics of a RerankingEffect
    low: float  # lower end of the interval that the verdict rests on: 0 lies outside where adjusted_p < 0.05
    high: float  # its upper end
    verdict: Verdict  # better, worse, cannot tell or unchanged


@dataclass(frozen=True)
class RerankingEffect:
    """The final lists compared with the first pass, at one k."""

    moves: RankMoves  # the moves of the gold units, by sample
    changes: dict[str, Change]  # metric without its k -> its change


def reranking_effect(scored: ScoredRun, lists: RankedLists, k: int) -> RerankingEffect | None:
    """Compare the final lists with the first pass; None where no question has both, or under weights."""
    first, final = lists.first_pass, lists.documents
    if first is None or final is None or scored.question_weights is not None:
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
