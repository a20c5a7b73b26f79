"""Retrieval broken down: by hop, by query type, and before and after a reranker."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import BoolArray, IntArray, Status


@dataclass(frozen=True)
class HopOutcome:
    """The fate of the gold units of n questions."""

    asked: BoolArray  # (n,) True where the question names hops and its list was recorded
    complete: BoolArray  # (n,) True where every unit is in the top k
    missed: BoolArray  # (n, U) True where a unit is nowhere: neither in the list nor in the first pass
    below: BoolArray  # (n,) True where every unit was retrieved, some of them below the top k


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


KINDS: Mapping[str, tuple[str, str]] = {
    "single fact": ("mrr", "one document answers it: how early is it ranked"),
    "broad coverage": ("recall", "several documents are needed: how many were retrieved"),
    "ranked quality": ("ndcg", "the best documents must be ranked first"),
    "multi-hop": ("all_hops_recall", "every step needs its document"),
}
_ONE_HOP = re.compile(r"(?<![a-z0-9])(?:single|one|1)[\W_]*hops?(?![a-z])")
_MANY_HOPS = re.compile(r"(?<![a-z])(?:(?:multi|two|three|four|five|many|n|\d+)[\W_]*)?hops?(?![a-z])")
_WORDS = {  # a trailing * matches any ending
    "multi-hop": "multihop bridge compar* compos* inference intersect* multistep",
    "single fact": "fact* single lookup simple entity who when where date number numeric short definition*",
    "broad coverage": "broad summar* list set overview aggregat* explor* coverage open survey exhaustive",
    "ranked quality": "rank* ranked recommend* best top quality relevance graded",
}


def query_type_named(name: str) -> str | None:
    """Return the key of KINDS that the name of a query type suggests; None where it suggests none.

    Whole words are matched, split at non-alphanumeric characters and between lower and upper case;
    the kinds are tried in the order multi-hop, single fact, broad coverage, ranked quality.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    if _ONE_HOP.search(spaced):
        return "single fact"
    if _MANY_HOPS.search(spaced):
        return "multi-hop"
    words_in_name = re.findall(r"[^\W_]+", spaced)
    for kind, patterns in _WORDS.items():
        if any(_matches(word, pattern) for pattern in patterns.split() for word in words_in_name):
            return kind
    return None


def _matches(word: str, pattern: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


@dataclass(frozen=True)
class RankMoves:
    """Gold units of n questions before and after reranking."""

    compared: BoolArray  # (n,) True where both lists were recorded and gold exists
    lifted: IntArray  # (n,) units below k in the first pass and in the top k after it
    pushed_out: IntArray  # (n,) units in the top k of the first pass and not after it
    kept: IntArray  # (n,) units in the top k of both
    left_below: IntArray  # (n,) units that were retrieved but are in the top k of neither
    missed: IntArray  # (n,) units in neither list


def rank_moves(first_pass: Rankings, final: Rankings, k: int) -> RankMoves:
    """Follow every gold unit from the first pass to the final list.

    Args:
        first_pass: lists before reranking.
        final: lists after reranking, with the same units in the same order.
        k: number of top ranks.
    """
    compared: BoolArray = (first_pass.status == Status.SCORED) & (final.status == Status.SCORED)
    # lists are padded with NaN: only units that a sample has count, and only where both passes were recorded
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
