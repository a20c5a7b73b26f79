"""Multi-hop questions: how each hop is found over k, and how the failures divide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.analysis.retrieval_curves import HOPS, LONGEST_K, Curve, curve_of, longest_list, question_values
from data.scoring.gold_join import hop_order
from data.scoring.ranked_lists import RankedLists
from data.scoring.scored_run import ScoredRun
from metrics.analysis.multi_hop import hop_outcomes
from metrics.schema.scores import BoolArray, Status
from metrics.statistics.intervals import question_means

__all__ = ["HopTally", "hop_curves", "hop_tallies", "missed_names"]

UNNAMED = "?"  # a gold document without a hop, beside others that have one
MOST_HOPS = 4  # curves of single hops beside that of all


@dataclass(frozen=True)
class HopTally:
    """How many multi-hop cases ended one way.

    Attributes:
        title: what happened, e.g. "hop 1 missed".
        mark: the mark that leads to these cases.
        n: how many.
    """

    title: str
    cohort: str
    n: int


def hop_tallies(lists: RankedLists, k: int) -> list[HopTally]:
    """Count the multi-hop cases by what was missed; empty where no question names hops."""
    if lists.documents is None or not lists.documents.has_hops.any():
        return []
    found = hop_outcomes(lists.documents, lists.first_pass, k)
    tallies = [HopTally(f"all hops in the top {k}", f"hops_complete:{k}", int(found.complete.sum()))]
    names, counts = np.unique(missed_names(lists, found.missed).astype(str), return_counts=True)
    for name, n in sorted(zip(names.tolist(), counts.tolist(), strict=True), key=lambda one: _order(one[0])):
        if name:
            hops = name.split("+")
            title = f"hop {name} missed" if len(hops) == 1 else f"hops {' and '.join(hops)} missed"
            tallies.append(HopTally(title, f"hop_missed:{name}", n))
    below = HopTally(f"found, but out of the top {k}", f"hops_below:{k}", int(found.below.sum()))
    return [*tallies, below]


def _order(name: str) -> tuple[int, list[tuple[int, str]]]:
    hops = name.split("+")
    return len(hops), [hop_order(hop) for hop in hops]


def missed_names(lists: RankedLists, missed: BoolArray) -> NDArray[np.object_]:
    """Name the missed hops of each sample, joined by +; "" where none is missed."""
    names = np.full(len(missed), "", dtype=object)
    for at in range(missed.shape[1]):
        hit = missed[:, at]
        label = np.where(lists.hops[hit, at] == "", UNNAMED, lists.hops[hit, at])
        before = np.where(names[hit] == "", "", names[hit] + "+")
        names[hit] = before + label
    return names


def hop_curves(scored: ScoredRun, lists: RankedLists, k: int) -> list[Curve]:
    """Give the share of questions with each hop in the top k, then with all of them, over k.

    The metric of a curve of one hop is "hop" and its label. Only the first MOST_HOPS labels have curves.
    """
    documents = lists.documents
    if documents is None or not documents.has_hops.any():
        return []
    longest = longest_list(lists)
    most = min(LONGEST_K, max(longest, k, 1))
    asked = documents.has_hops & (documents.status == Status.SCORED)
    labels = sorted({str(one) for one in np.unique(lists.hops.astype(str)) if one}, key=hop_order)[:MOST_HOPS]
    found = []
    for label in labels:
        mine = lists.hops == label
        rank = np.min(np.where(mine, documents.unit_rank, np.inf), axis=1)[:, None]
        there = np.where((mine.any(axis=1) & asked)[:, None], rank <= np.arange(1, most + 1), np.nan)
        means = question_means(there, scored.question)[0]
        found.append(curve_of(scored, f"hop {label}", means, longest))
    means = question_values(scored, HOPS, documents, most)
    return [*found, curve_of(scored, HOPS, means, longest)]
