"""Alignment of retriever and generator: does the answer use what was ranked first?

Refusals are left out: a refusal uses no document, however good the ranking was.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import ContextUse
from ragtriage.metrics.schema.metric import Compute, Metric, ratio, require
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Scores, Status

PERSISTENCE = 0.9  # p of rank-biased overlap: the first ten ranks carry about 86 % of the weight

Rule = tuple[BoolArray, Status, str]


def _listed(use: ContextUse) -> BoolArray:
    """(n, K) True where a document was handed over at that rank and the answer draws on it."""
    listed: BoolArray = use.used & (np.arange(use.used.shape[1]) < use.documents[:, None])
    return listed


def _gaps(use: ContextUse) -> list[Rule]:
    return [
        (use.status == Status.NOT_RUN, Status.NOT_RUN, "which documents the answer uses is not known"),
        (use.status == Status.FAILED, Status.FAILED, "identifying the documents the answer uses failed"),
        (
            use.status == Status.NOT_APPLICABLE,
            Status.NOT_APPLICABLE,
            "the use of documents does not apply here",
        ),
        (use.refused, Status.NOT_APPLICABLE, "the answer is a refusal, so it uses no document"),
        (use.documents == 0, Status.NOT_APPLICABLE, "no document was handed to the generator"),
    ]


def _nothing_used(use: ContextUse) -> Rule:
    return ~np.any(_listed(use), axis=1), Status.NOT_APPLICABLE, "the answer uses none of its documents"


def used_nothing(use: ContextUse) -> BoolArray:
    """(n,) True where an answer that is not a refusal draws on none of its documents."""
    unused, _, _ = _nothing_used(use)
    answered: BoolArray = (use.status == Status.SCORED) & ~use.refused & (use.documents > 0)
    return unused & answered


def ignored_top_ranked(use: ContextUse) -> Scores:
    """1 where the answer does not draw on rank 1, else 0; also 1 for an answer that uses nothing."""
    used = np.any(_listed(use)[:, :1], axis=1)
    return Scores.build(1.0 - used, _gaps(use), use.source)


def wasted_context(use: ContextUse, k: int) -> Scores:
    """Share of the top k documents that the answer does not draw on; a shorter list divides by its length."""
    listed = np.minimum(use.documents, k)
    used = np.sum(_listed(use)[:, :k], axis=1)
    return Scores.build(ratio(listed - used, listed), _gaps(use), use.source)


def deep_reliance(use: ContextUse, k: int) -> Scores:
    """Share of the used documents that are ranked below k; not applicable where nothing was used."""
    used = _listed(use)
    values = ratio(np.sum(used[:, k:], axis=1), np.sum(used, axis=1))
    return Scores.build(values, [*_gaps(use), _nothing_used(use)], use.source)


def rank_use_gap(use: ContextUse, p: float = PERSISTENCE) -> Scores:
    """1 - rank-biased overlap of the retriever's order and the order of use, to the depth of use.

    Used documents are ordered by share, descending, ties by rank. With U used documents the overlap is
    sum over d = 1..U of p^(d-1) * |top d of both| / d, divided by the same sum at full overlap (Webber,
    Moffat and Zobel 2010, truncated and normalised). 0: the U top ranks are used, in order of share.

    Args:
        use: (n, K) used documents with shares.
        p: persistence in (0, 1); the lower, the more the first ranks weigh.
    """
    used = _listed(use)
    no_share = np.any(used & np.isnan(use.share), axis=1)
    why = "how much of the answer rests on each document was not recorded"
    gaps = [*_gaps(use), _nothing_used(use), (no_share, Status.NOT_RUN, why)]
    return Scores.build(1.0 - _overlap(used, use.share, p), gaps, use.source)


def _overlap(used: BoolArray, share: FloatArray, p: float) -> FloatArray:
    """(n,) normalised rank-biased overlap; NaN where nothing is used.

    The document at place i (0-based) of the use order with rank index r joins the overlap at depth
    max(i, r) + 1 and stays in it: it adds C(U) - C(max(i, r)), with C(x) = sum over d = 1..x of p^(d-1) / d.
    """
    width = used.shape[1]
    order: IntArray = np.argsort(np.where(used, -np.nan_to_num(share), np.inf), axis=1, kind="stable")
    depth = np.sum(used, axis=1)
    weight = p ** np.arange(width)
    cumulative = np.concatenate([[0.0], np.cumsum(weight / np.arange(1, width + 1))])
    joins = np.minimum(np.maximum(order, np.arange(width)), depth[:, None])
    counted = np.arange(width) < depth[:, None]
    overlap = np.sum(np.where(counted, cumulative[depth][:, None] - cumulative[joins], 0.0), axis=1)
    full = np.concatenate([[0.0], np.cumsum(weight)])[depth]
    return np.clip(ratio(overlap, full), 0.0, 1.0)


def _plain(formula: Callable[[ContextUse], Scores]) -> Compute:
    return lambda batch, _k, _convention: formula(require(batch.context_use))


def _at_k(formula: Callable[[ContextUse, int], Scores]) -> Compute:
    return lambda batch, k, _convention: formula(require(batch.context_use), k)


_NOT_HERE = "The answer is a refusal, or no document was handed to the generator"
_aligned = partial(
    Metric,
    component="generation",
    needs=("used", "retrieved"),
    undefined=f"{_NOT_HERE}.",
    reference="ragtriage",
    higher_is_better=False,
)

METRICS: tuple[Metric, ...] = (
    _aligned(
        key="ignored_top_ranked",
        title="Ignored top-ranked",
        plain="first passage ignored",
        meaning="Whether the answer ignores the top-ranked document.",
        formula="1 if the answer does not use rank 1, else 0; 1 also for an answer that uses nothing",
        bands=(0.30, 0.15),
        compute=_plain(ignored_top_ranked),
    ),
    _aligned(
        key="wasted_context@k",
        title="Wasted context",
        meaning="How much of the top k documents the answer does not use.",
        formula="unused documents in the top k / documents in the top k (fewer than k in a shorter list)",
        compute=_at_k(wasted_context),
        per_k=True,
    ),
    _aligned(
        key="deep_reliance@k",
        title="Deep reliance",
        meaning="How much of what the answer uses is ranked below k and would be lost by a limit of k.",
        formula="used documents ranked below k / used documents",
        undefined=f"{_NOT_HERE}, or the answer uses none.",
        compute=_at_k(deep_reliance),
        per_k=True,
    ),
    _aligned(
        key="rank_use_gap",
        title="Rank-use gap",
        meaning="How far the order of use in the answer is from the retriever's order.",
        formula="1 - RBO of the ranks 1..U and the U used documents ordered by share (p = 0.9), where RBO = "
        "sum over d <= U of p^(d-1) * |overlap of the top d| / d, divided by sum over d <= U of p^(d-1)",
        undefined=f"{_NOT_HERE}, or the answer uses none.",
        needs=("used.share", "retrieved"),
        reference="rank-biased overlap, Webber, Moffat and Zobel 2010",
        compute=_plain(rank_use_gap),
    ),
)
