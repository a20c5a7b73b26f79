"""Why a multi-hop question lacks part of its gold: a hop was missed, or retrieved and ranked too low."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import BoolArray, Status


@dataclass(frozen=True)
class HopOutcome:
    """The fate of the gold units of n questions.

    Attributes:
        asked: (n,) True where the question names hops and its list was recorded.
        complete: (n,) True where every unit is in the top k.
        missed: (n, U) True where a unit is nowhere: neither in the list nor in the first pass.
        below: (n,) True where every unit was retrieved, some of them below the top k.
    """

    asked: BoolArray
    complete: BoolArray
    missed: BoolArray
    below: BoolArray


def hop_outcomes(lists: Rankings, first_pass: Rankings | None, k: int) -> HopOutcome:
    """Classify every multi-hop question; "missed" takes precedence over "below".

    Args:
        lists: the ranked lists with the ranks of their gold units.
        first_pass: the longer lists before reranking, with the same units in the same order, or None.
        k: number of top ranks.
    """
    unit = ~np.isnan(lists.unit_rank)
    retrieved = np.isfinite(lists.unit_rank)
    if first_pass is not None:
        retrieved = retrieved | np.isfinite(first_pass.unit_rank)
    asked: BoolArray = lists.has_hops & (lists.status == Status.SCORED)
    in_top = np.where(unit, lists.unit_rank <= k, True).all(axis=1)
    missed = unit & ~retrieved & asked[:, None]
    complete = asked & in_top
    return HopOutcome(asked, complete, missed, asked & ~complete & ~missed.any(axis=1))
