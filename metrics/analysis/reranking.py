"""What a reranker changed: gold it lifted into the top k, and gold it pushed out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import BoolArray, IntArray, Status


@dataclass(frozen=True)
class RankMoves:
    """Gold units of n questions before and after reranking.

    Attributes:
        compared: (n,) True where both lists were recorded and gold exists.
        lifted: (n,) units below k in the first pass and in the top k after it.
        pushed_out: (n,) units in the top k of the first pass and not after it.
        kept: (n,) units in the top k of both.
        left_below: (n,) units that were retrieved but are in the top k of neither.
        missed: (n,) units in neither list.
    """

    compared: BoolArray
    lifted: IntArray
    pushed_out: IntArray
    kept: IntArray
    left_below: IntArray
    missed: IntArray


def rank_moves(first_pass: Rankings, final: Rankings, k: int) -> RankMoves:
    """Follow every gold unit from the first pass to the final list.

    Args:
        first_pass: lists before reranking.
        final: lists after reranking, with the same units in the same order.
        k: number of top ranks.
    """
    compared: BoolArray = (first_pass.status == Status.SCORED) & (final.status == Status.SCORED)
    unit = ~np.isnan(final.unit_rank) & compared[:, None]
    before, after = first_pass.unit_rank <= k, final.unit_rank <= k
    retrieved = np.isfinite(first_pass.unit_rank) | np.isfinite(final.unit_rank)

    def count(mask: BoolArray) -> IntArray:
        total: IntArray = (unit & mask).sum(axis=1)
        return total

    return RankMoves(
        compared=compared,
        lifted=count(~before & after),
        pushed_out=count(before & ~after),
        kept=count(before & after),
        left_below=count(~before & ~after & retrieved),
        missed=count(~retrieved),
    )
