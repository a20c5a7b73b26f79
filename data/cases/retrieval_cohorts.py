"""Cohorts of the Retrieval page: where gold is ranked, what a reranker moved, which hop was missed."""

from collections.abc import Callable, Mapping

import numpy as np

from ragtriage.data.analysis.gold_reach import STEPS, Step, hop_ranks, misranked, nowhere, reach_rows
from ragtriage.data.analysis.retrieval_curves import first_ranks
from ragtriage.data.cases.cohort import Cohort, parse_rank
from ragtriage.data.diagnosis.context import gold_parts, part_title
from ragtriage.data.scoring.ranked_lists import RankedLists, missed_names, ranked_lists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import HopOutcome, hop_outcomes, rank_moves
from ragtriage.metrics.schema.scores import BoolArray


def _lists(scored: ScoredRun) -> RankedLists:
    lists = ranked_lists(scored)
    if lists is None:
        raise ValueError("the run names no gold")
    return lists


def _gold_below(scored: ScoredRun, value: str) -> BoolArray:
    ranks = first_ranks(_lists(scored))
    return np.asarray(np.isfinite(ranks) & (ranks > parse_rank(value)))


def _moved(part: str) -> Callable[[ScoredRun, str], BoolArray]:
    """Return the rows of the cases with gold that a reranker moved in one way: a field of rank_moves."""

    def rows(scored: ScoredRun, value: str) -> BoolArray:
        lists = _lists(scored)
        if lists.first_pass is None or lists.documents is None:
            raise ValueError("the run records no candidates")
        return np.asarray(getattr(rank_moves(lists.first_pass, lists.documents, parse_rank(value)), part) > 0)

    return rows


def _hops(lists: RankedLists, k: int) -> HopOutcome:
    if lists.documents is None:
        raise ValueError("the run names no gold documents")
    return hop_outcomes(lists.documents, lists.first_pass, k)


def _hop_missed(scored: ScoredRun, value: str) -> BoolArray:
    lists = _lists(scored)
    return np.asarray(missed_names(lists, _hops(lists, 1).missed) == value)


def _gold_part(scored: ScoredRun, value: str) -> BoolArray:
    part_title(value)
    return np.asarray(gold_parts(scored) == value)


def _step(text: str) -> tuple[Step, int]:
    name, _, k = text.partition(":")
    step = next((step for step in STEPS if step == name), None)
    if step is None:
        raise ValueError(f"{text[:20]!r}; accepted: {', '.join(STEPS)}, and a rank after a colon")
    return step, parse_rank(k)


def _step_title(text: str) -> str:
    step, k = _step(text)
    return STEPS[step].format(k=k)


def _hop_place(text: str) -> tuple[str, str]:
    hop, _, place = text.rpartition(":")
    if not hop:
        raise ValueError(f"{text[:20]!r}; accepted: HOP:RANK, HOP:below-RANK, HOP:candidates or HOP:nowhere")
    if place not in ("candidates", "nowhere"):
        parse_rank(place.removeprefix("below-"))
    return hop, place


def _hop_title(text: str) -> str:
    hop, place = _hop_place(text)
    if place == "candidates":
        return f"hop {hop} is only among the candidates"
    if place == "nowhere":
        return f"hop {hop} is in no list"
    below = place.startswith("below-")
    return f"hop {hop} is {'below' if below else 'at'} rank {place.removeprefix('below-')}"


def _hop_rows(scored: ScoredRun, text: str) -> BoolArray:
    hop, place = _hop_place(text)
    hops = hop_ranks(_lists(scored))
    if hop not in hops:
        raise ValueError(f"the run has no hop {hop[:30]!r}")
    rank, n_gold = hops[hop]
    if place in ("candidates", "nowhere"):
        return np.asarray(np.isinf(rank) & (n_gold == (place == "candidates")), dtype=np.bool_)
    at = parse_rank(place.removeprefix("below-"))
    chosen = np.isfinite(rank) & (rank > at) if place.startswith("below-") else rank == at
    return np.asarray(chosen, dtype=np.bool_)


RETRIEVAL_COHORTS: Mapping[str, Cohort] = {
    "gold_part": Cohort(lambda part: f"part of the gold in the context: {part_title(part)}", _gold_part),
    "gold_at": Cohort(
        lambda rank: f"the first gold document is at rank {rank}",
        lambda scored, rank: np.asarray(first_ranks(_lists(scored)) == parse_rank(rank)),
    ),
    "gold_below": Cohort(lambda rank: f"the first gold document is below rank {rank}", _gold_below),
    "gold_missed": Cohort(
        lambda _: "no gold document was retrieved",
        lambda scored, _: np.asarray(np.isinf(first_ranks(_lists(scored)))),
    ),
    "misranked": Cohort(
        lambda _: "gold is among the candidates and not in the list",
        lambda scored, _: misranked(_lists(scored)),
    ),
    "nowhere": Cohort(
        lambda _: "gold is neither in the list nor among the candidates",
        lambda scored, _: nowhere(_lists(scored)),
    ),
    "reach": Cohort(_step_title, lambda scored, text: reach_rows(_lists(scored), *_step(text))),
    "hop_at": Cohort(_hop_title, _hop_rows),
    "kept": Cohort(lambda k: f"gold stays in the top {k}", _moved("kept")),
    "lifted": Cohort(lambda k: f"the reranker lifted gold into the top {k}", _moved("lifted")),
    "pushed_out": Cohort(lambda k: f"the reranker pushed gold out of the top {k}", _moved("pushed_out")),
    "left_below": Cohort(lambda k: f"gold was found and stays below rank {k}", _moved("left_below")),
    "unit_missed": Cohort(
        lambda _: "some gold was found by neither pass", lambda scored, _value: _moved("missed")(scored, "1")
    ),
    "hop_missed": Cohort(lambda hops: f"hop {hops.replace('+', ' and ')} was not found", _hop_missed),
    "hops_below": Cohort(
        lambda k: f"every hop was found, some below rank {k}",
        lambda scored, k: _hops(_lists(scored), parse_rank(k)).below,
    ),
    "hops_complete": Cohort(
        lambda k: f"every hop is in the top {k}",
        lambda scored, k: _hops(_lists(scored), parse_rank(k)).complete,
    ),
}
