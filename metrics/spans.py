"""Span metrics: retrieved text against gold character spans, so that gold survives re-chunking.

Only newly covered gold counts: a gold character that two overlapping chunks both hold is gained once, at the
first of them, and the text of overlapping chunks is counted once in the denominators too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from metrics.inputs import SpanRankings
from metrics.registry import Compute, Metric
from metrics.undefined import from_lists, ratio, require
from metrics.values import FloatArray, Scores

__all__ = ["METRICS", "span_iou", "span_ndcg", "span_precision", "span_recall"]

_NO_GOLD = "the question has no gold text"
_CHROMA = "Smith and Troynikov 2024 (Evaluating Chunking Strategies for Retrieval), in characters, not tokens"


def _covered(spans: SpanRankings, k: int) -> FloatArray:
    total: FloatArray = np.nansum(spans.new_gold[:, :k], axis=1)
    return total


def _read(spans: SpanRankings, k: int) -> FloatArray:
    """Distinct characters in the top k: the running union at its last known rank, 0 for an empty list."""
    union = np.nan_to_num(spans.union_chars[:, :k], nan=0.0)
    last: FloatArray = np.max(union, axis=1, initial=0.0)
    return last


def _scores(values: FloatArray, spans: SpanRankings) -> Scores:
    return from_lists(values, spans, spans.gold_chars == 0, _NO_GOLD)


def span_recall(spans: SpanRankings, k: int) -> Scores:
    """Gold characters covered by the top k chunks over all gold characters; in [0, 1]."""
    return _scores(ratio(_covered(spans, k), spans.gold_chars), spans)


def span_precision(spans: SpanRankings, k: int) -> Scores:
    """Gold characters covered by the top k chunks over the distinct characters in them; in [0, 1]."""
    read = _read(spans, k)
    why = np.where(spans.gold_chars == 0, _NO_GOLD, "no text was retrieved")
    undefined = (spans.gold_chars == 0) | (read == 0)
    return from_lists(ratio(_covered(spans, k), read), spans, undefined, why)


def span_iou(spans: SpanRankings, k: int) -> Scores:
    """Intersection over union of gold characters and the distinct characters of the top k; in [0, 1]."""
    covered = _covered(spans, k)
    return _scores(ratio(covered, _read(spans, k) + spans.gold_chars - covered), spans)


def span_ndcg(spans: SpanRankings, k: int) -> Scores:
    """Discounted gain of newly covered gold characters, over all gold at rank 1; in [0, 1].

    The ideal puts the whole gold into the first chunk (discount log2(2) = 1), so that values of different
    chunk sizes share one scale; gold in several places cannot reach 1.
    """
    gain = np.nan_to_num(spans.new_gold[:, :k], nan=0.0)
    discount = np.log2(np.arange(2, gain.shape[1] + 2))
    return _scores(ratio(np.sum(gain / discount, axis=1), spans.gold_chars), spans)


def _at_k(formula: Callable[[SpanRankings, int], Scores]) -> Compute:
    return lambda batch, k, _convention: formula(require(batch.spans), k)


_covering = partial(
    Metric,
    stage="retrieval",
    needs=("retrieved", "relevant_spans"),
    undefined="The question has no gold text.",
    per_k=True,
)

METRICS: tuple[Metric, ...] = (
    _covering(
        key="span_recall@k",
        title="Span recall",
        compute=_at_k(span_recall),
        meaning="How much of the gold text is inside the first k chunks, wherever the chunk borders fall.",
        formula="distinct gold characters covered by the top k / all gold characters",
        reference=_CHROMA,
    ),
    _covering(
        key="span_precision@k",
        title="Span precision",
        compute=_at_k(span_precision),
        meaning="How much of the text in the first k chunks is gold; long chunks pay for their surplus.",
        formula="distinct gold characters covered by the top k / distinct characters in the top k",
        undefined="The question has no gold text, or nothing was retrieved.",
        reference=_CHROMA,
    ),
    _covering(
        key="span_iou@k",
        title="Span IoU",
        compute=_at_k(span_iou),
        meaning="How well the text of the first k chunks and the gold text coincide: missing gold and "
        "surplus text both lower it.",
        formula="gold characters covered by the top k / characters that are gold or in the top k",
        reference=_CHROMA,
    ),
    _covering(
        key="span_ndcg@k",
        title="Span nDCG",
        compute=_at_k(span_ndcg),
        meaning="How early the gold text is read: what a chunk repeats of earlier ones gains nothing.",
        formula="sum over ranks i <= k of newly covered gold characters_i / log2(i + 1), divided by all gold "
        "characters (the ideal: all gold in the first chunk)",
        reference="Järvelin and Kekäläinen 2002, with gain for new gold only as in Clarke et al. 2008",
    ),
)
