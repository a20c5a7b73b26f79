"""How far a list must be read for the gold that a question needs, and which step could bring it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.data.analysis.retrieval_curves import LONGEST_K, Curve, curve_of, first_ranks, longest_list
from ragtriage.data.scoring.gold_join import hop_order
from ragtriage.data.scoring.ranked_lists import RankedLists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Status
from ragtriage.metrics.statistics.intervals import Interval, interval
from ragtriage.metrics.statistics.question_means import question_means

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
    """Where the gold that each question needs is found: every hop, else the first gold document or chunk.

    Attributes:
        need: what is needed: every hop of multi-hop questions, the one gold document, or any of several.
        rank: (n,) rank up to which a list must be read; inf where it lacks some, NaN where nothing is asked.
        reachable: (n,) True where list and candidates together hold what is needed.
        has_candidates: whether the run records candidates beyond its lists.
        hops: most hops that a question needs; 1 where there are none.
        longest: length of the longest list, at most 50.
    """

    need: Need
    rank: FloatArray
    reachable: BoolArray
    has_candidates: bool
    hops: int
    longest: int

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
        known = np.isfinite(means)
        binary = bool(np.isin(means[known], (0.0, 1.0)).all())
        return interval(means[known], scored.clusters[known], int(known.sum()), binary)


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
