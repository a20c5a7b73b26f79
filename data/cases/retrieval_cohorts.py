"""Groups of cases by where their gold stands: what the bars of the Retrieval page lead to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from data.analysis.multi_hop import missed_names
from data.analysis.reranking import misranked, nowhere
from data.analysis.retrieval_curves import first_ranks
from data.scoring.ranked_lists import RankedLists, ranked_lists
from data.scoring.scored_run import ScoredRun
from metrics.analysis.multi_hop import hop_outcomes
from metrics.analysis.reranking import rank_moves
from metrics.schema.batch import Rankings
from metrics.schema.scores import BoolArray

__all__ = [
    "RANK_MARKS",
    "rank_named",
]

HIGHEST_RANK = 10**6


def rank_named(value: str) -> int:
    """Read the rank that a mark names.

    Raises:
        ValueError: it names none.
    """
    if not value.isdecimal() or not 1 <= int(value) <= HIGHEST_RANK:
        raise ValueError(f"{value[:20]!r}; accepted: a rank of 1 or more")
    return int(value)


Made = tuple[Callable[[str], str], Callable[[ScoredRun, str], BoolArray]]


def _lists(scored: ScoredRun) -> RankedLists:
    found = ranked_lists(scored)
    if found is None:
        raise ValueError("the run names no gold")
    return found


def _documents(scored: ScoredRun) -> Rankings:
    found = _lists(scored).documents
    if found is None:
        raise ValueError("the run names no gold documents")
    return found


def _gold_at(scored: ScoredRun, value: str) -> BoolArray:
    return np.asarray(first_ranks(_lists(scored)) == rank_named(value))


def _gold_below(scored: ScoredRun, value: str) -> BoolArray:
    first = first_ranks(_lists(scored))
    return np.asarray(np.isfinite(first) & (first > rank_named(value)))


def _gold_missed(scored: ScoredRun, _value: str) -> BoolArray:
    return np.asarray(np.isinf(first_ranks(_lists(scored))))


def _misranked(scored: ScoredRun, _value: str) -> BoolArray:
    return misranked(_lists(scored))


def _nowhere(scored: ScoredRun, _value: str) -> BoolArray:
    return nowhere(_lists(scored))


def _moved(part: str) -> Callable[[ScoredRun, str], BoolArray]:
    def rows(scored: ScoredRun, value: str) -> BoolArray:
        lists = _lists(scored)
        if lists.first_pass is None or lists.documents is None:
            raise ValueError("the run records no candidates")
        return np.asarray(getattr(rank_moves(lists.first_pass, lists.documents, rank_named(value)), part) > 0)

    return rows


def _unit_missed(scored: ScoredRun, _value: str) -> BoolArray:
    return _moved("missed")(scored, "1")  # what neither pass found is missed at every k


def _hop_missed(scored: ScoredRun, value: str) -> BoolArray:
    lists = _lists(scored)
    found = hop_outcomes(_documents(scored), lists.first_pass, 1)
    return np.asarray(missed_names(lists, found.missed) == value)


def _hops_below(scored: ScoredRun, value: str) -> BoolArray:
    return hop_outcomes(_documents(scored), _lists(scored).first_pass, rank_named(value)).below


def _hops_complete(scored: ScoredRun, value: str) -> BoolArray:
    return hop_outcomes(_documents(scored), _lists(scored).first_pass, rank_named(value)).complete


RANK_MARKS: dict[str, Made] = {
    "gold_at": (lambda rank: f"the first gold document is at rank {rank}", _gold_at),
    "gold_below": (lambda rank: f"the first gold document is below rank {rank}", _gold_below),
    "gold_missed": (lambda _: "no gold document was retrieved", _gold_missed),
    "misranked": (lambda _: "gold is among the candidates and not in the list", _misranked),
    "nowhere": (lambda _: "gold is neither in the list nor among the candidates", _nowhere),
    "kept": (lambda k: f"gold stays in the top {k}", _moved("kept")),
    "lifted": (lambda k: f"the reranker lifted gold into the top {k}", _moved("lifted")),
    "pushed_out": (lambda k: f"the reranker pushed gold out of the top {k}", _moved("pushed_out")),
    "left_below": (lambda k: f"gold was found and stays below rank {k}", _moved("left_below")),
    "unit_missed": (lambda _: "some gold was found by neither pass", _unit_missed),
    "hop_missed": (lambda hops: f"hop {hops.replace('+', ' and ')} was not found", _hop_missed),
    "hops_below": (lambda k: f"every hop was found, some below rank {k}", _hops_below),
    "hops_complete": (lambda k: f"every hop is in the top {k}", _hops_complete),
}
