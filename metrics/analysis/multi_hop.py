"""Why a multi-hop question lacks part of its gold: which hop was missed, or found and ranked too low."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.schema.batch import Rankings
from metrics.schema.scores import BoolArray, Status

__all__ = ["HopOutcome", "hop_outcomes"]


@dataclass(frozen=True)
class HopOutcome:
    """What became of the gold units of n questions.

    Attributes:
        asked: (n,) True where the question names hops and its list was recorded.
        complete: (n,) True where every unit stands in the top k.
        missed: (n, U) True where a unit is nowhere: neither in the list nor in the first pass.
        below: (n,) True where every unit was found somewhere and some stand out of the top k.
    """

    asked: BoolArray
    complete: BoolArray
    missed: BoolArray
    below: BoolArray


def hop_outcomes(lists: Rankings, first_pass: Rankings | None, k: int) -> HopOutcome:
    """Class every multi-hop question; "missed" goes before "below" where both hold.

    Args:
        lists: the ranked lists with the ranks of their gold units.
        first_pass: the longer lists before reranking, with the same units in the same order, or None.
        k: rank cut-off.
    """
    unit = ~np.isnan(lists.unit_rank)
    found = np.isfinite(lists.unit_rank)
    if first_pass is not None:
        found = found | np.isfinite(first_pass.unit_rank)
    asked: BoolArray = lists.has_hops & (lists.status == Status.SCORED)
    in_top = np.where(unit, lists.unit_rank <= k, True).all(axis=1)
    missed = unit & ~found & asked[:, None]
    complete = asked & in_top
    return HopOutcome(asked, complete, missed, asked & ~complete & ~missed.any(axis=1))
