"""Multi-hop questions: recall of each hop over k, and which hops are missed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.data.analysis.retrieval_curves import (
    HOPS,
    LONGEST_K,
    Curve,
    curve_of,
    longest_list,
    question_values,
)
from ragtriage.data.scoring.gold_join import hop_order
from ragtriage.data.scoring.ranked_lists import RankedLists, missed_names
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval_breakdowns import hop_outcomes
from ragtriage.metrics.schema.scores import Status
from ragtriage.metrics.statistics.question_means import question_means

MOST_HOPS = 4  # curves of single hops; the curve of all hops comes on top


@dataclass(frozen=True)
class HopTally:
    """The number of multi-hop cases with one outcome.

    Attributes:
        title: what happened, e.g. "hop 1 missed".
        cohort: key of the cohort with these cases.
        n: number of cases.
    """

    title: str
    cohort: str
    n: int


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
