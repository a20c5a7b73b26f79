"""Chunk-count variants of the span metrics, by name: a chunk is relevant if it holds any gold character.

They are what most tools report, and not the default here: cutting the same text smaller, or with more
overlap, changes how many chunks are relevant, and with it the denominator, so that values of two chunkings do
not share a scale. The span metrics do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from metrics.inputs import SpanRankings
from metrics.registry import Compute, Metric
from metrics.spans import _NO_GOLD
from metrics.undefined import from_lists, ratio, require
from metrics.values import BoolArray, FloatArray, Scores, Status

__all__ = ["CHUNK_COUNT_METRICS", "chunk_count_ndcg", "chunk_count_precision", "chunk_count_recall"]

_NO_CHUNK = "no chunk of the index holds gold"
_NO_COUNT = "how many chunks of the index hold gold was not recorded"


def _hits(spans: SpanRankings, k: int) -> BoolArray:
    return spans.hits[:, :k]


def _chunk_scores(values: FloatArray, spans: SpanRankings) -> Scores:
    relevant = require(spans.relevant_chunks)
    unknown = np.isnan(relevant) & (spans.status == Status.SCORED)
    counted = replace(
        spans,
        status=np.where(unknown, Status.NOT_RUN, spans.status).astype(np.int8),
        reason=np.where(unknown, _NO_COUNT, spans.reason).astype(object),
    )
    return from_lists(values, counted, ~(relevant > 0), _NO_CHUNK)


def chunk_count_recall(spans: SpanRankings, k: int) -> Scores:
    """Relevant chunks in the top k over all relevant chunks of the index; in [0, 1]."""
    return _chunk_scores(ratio(_hits(spans, k).sum(axis=1), require(spans.relevant_chunks)), spans)


def chunk_count_precision(spans: SpanRankings, k: int) -> Scores:
    """Relevant chunks in the top k over k, also when the list is shorter; in [0, 1]."""
    return from_lists(_hits(spans, k).sum(axis=1) / k, spans, spans.gold_chars == 0, _NO_GOLD)


def chunk_count_ndcg(spans: SpanRankings, k: int) -> Scores:
    """Discounted count of relevant chunks in the top k over that of the ideal order; in [0, 1]."""
    hits, relevant = _hits(spans, k), np.nan_to_num(require(spans.relevant_chunks))
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    ideal = np.concatenate([[0.0], np.cumsum(discount)])[np.minimum(relevant, k).astype(np.int64)]
    return _chunk_scores(ratio((hits * discount[: hits.shape[1]]).sum(axis=1), ideal), spans)


def _chunks_at_k(formula: Callable[[SpanRankings, int], Scores]) -> Compute:
    return lambda batch, k, _convention: formula(require(batch.spans), k)


_counting = partial(
    Metric,
    stage="retrieval",
    needs=("retrieved", "relevant_spans", "relevant_chunks"),
    undefined="No chunk of the index holds gold.",
    per_k=True,
    caution="Its denominator changes with chunk size and overlap; compare chunkings by the span metrics.",
)

CHUNK_COUNT_METRICS: tuple[Metric, ...] = (
    _counting(
        key="chunk_count_recall@k",
        title="Chunk-count recall",
        compute=_chunks_at_k(chunk_count_recall),
        meaning="How many of the chunks that hold gold are among the first k.",
        formula="chunks with gold in the top k / chunks with gold in the index",
        reference="recall over chunks, as in Manning, Raghavan and Schütze 2008",
    ),
    _counting(
        key="chunk_count_precision@k",
        title="Chunk-count precision",
        compute=_chunks_at_k(chunk_count_precision),
        meaning="How many of the first k chunks hold gold, however little of it.",
        formula="chunks with gold in the top k / k",
        needs=("retrieved", "relevant_spans"),
        undefined="The question has no gold text.",
        reference="precision over chunks, as in Manning, Raghavan and Schütze 2008",
    ),
    _counting(
        key="chunk_count_ndcg@k",
        title="Chunk-count nDCG",
        compute=_chunks_at_k(chunk_count_ndcg),
        meaning="How early the chunks with gold stand; each counts anew, also where it repeats another.",
        formula="sum over ranks i <= k of [chunk_i holds gold] / log2(i + 1), divided by the same sum for "
        "the ideal order",
        reference="Järvelin and Kekäläinen 2002",
    ),
)
