"""Which part of the gold a context lacks, of the cases that have some of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.scoring.ranked_lists import missed_names, ranked_lists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval_breakdowns import hop_outcomes

OUT_OF_TOP_K = "below"
_UNSEEN, _UNRECORDED = "missed", "unknown"
_TITLES = {
    OUT_OF_TOP_K: "found but out of the top k",
    _UNSEEN: "part missed: not among the candidates",
    _UNRECORDED: "missed or ranked too low (no candidates recorded)",
}


def gold_parts(scored: ScoredRun) -> NDArray[np.object_]:
    """(n,) What a context with some of the gold lacks; "" for all other cases.

    "hop 1", "hop 2" or "hop 1+2": hops found nowhere. OUT_OF_TOP_K: everything was retrieved, and some of
    it is not in the context. Without hops, what was not retrieved is missed, or unknown where no candidates
    are recorded.
    """
    features = scored.stage_features
    share, candidates = features["gold_in_context"], features["gold_in_candidates"]
    partial = (share > 0) & (share < 1 - 1e-9)
    known = np.isfinite(candidates) & (features["has_candidates"] == 1)
    lacks = np.where(known, np.where(candidates >= 1 - 1e-9, OUT_OF_TOP_K, _UNSEEN), _UNRECORDED)
    parts = np.where(partial, lacks, "").astype(object)
    lists = ranked_lists(scored)
    if lists is not None and lists.documents is not None and lists.documents.has_hops.any():
        outcome = hop_outcomes(lists.documents, lists.first_pass, max(lists.documents.grades.shape[1], 1))
        missed = missed_names(lists, outcome.missed)
        by_hop = partial & (missed != "")
        parts[by_hop] = np.array([f"hop {names}" for names in missed[by_hop]], dtype=object)
    return parts


def part_title(part: str) -> str:
    """Return what a part of `gold_parts` is called on screen.

    Raises:
        ValueError: there is no such part.
    """
    if part in _TITLES:
        return _TITLES[part]
    hops = part.removeprefix("hop ").split("+")
    if part == f"hop {'+'.join(hops)}" and all(hops):
        return f"hop{'s' if hops[1:] else ''} {' and '.join(hops)} missed"
    raise ValueError(f"{part[:20]!r}; accepted: {', '.join(_TITLES)}, or hop 1, hop 2 and so on")
