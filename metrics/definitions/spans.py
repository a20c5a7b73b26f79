"""Span metrics: retrieved text against gold character spans, so that gold survives re-chunking.

Only newly covered gold counts: a gold character in two overlapping chunks is gained once, at the first of
them. Precision and IoU divide by the lengths of all chunks together, which the generator has to read, as
their source does; the forms over distinct text count once what overlapping chunks share.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import SpanRankings
from ragtriage.metrics.schema.metric import Compute, Metric, from_lists, ratio, require
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Scores, Status

_NO_GOLD = "the question has no gold text"
_CHROMA = "Smith and Troynikov 2024 (Evaluating Chunking Strategies for Retrieval), in characters, not tokens"


def _covered(spans: SpanRankings, k: int) -> FloatArray:
    total: FloatArray = np.nansum(spans.new_gold[:, :k], axis=1)
    return total


def _read_chars(spans: SpanRankings, k: int) -> FloatArray:
    """Return the lengths of the top k chunks together, text that they share as often as it is there."""
    total: FloatArray = np.nansum(spans.chunk_chars[:, :k], axis=1)
    return total


def _text_chars(spans: SpanRankings, k: int) -> FloatArray:
    """Return the distinct characters in the top k: the running union at its last rank, 0 for no list."""
    union = np.nan_to_num(spans.union_chars[:, :k], nan=0.0)
    last: FloatArray = np.max(union, axis=1, initial=0.0)
    return last


def _scores(values: FloatArray, spans: SpanRankings) -> Scores:
    return from_lists(values, spans, spans.gold_chars == 0, _NO_GOLD)


def span_recall(spans: SpanRankings, k: int) -> Scores:
    """Gold characters covered by the top k chunks over all gold characters; in [0, 1]."""
    return _scores(ratio(_covered(spans, k), spans.gold_chars), spans)


def _precision(spans: SpanRankings, k: int, text_chars: FloatArray) -> Scores:
    why = np.where(spans.gold_chars == 0, _NO_GOLD, "no text was retrieved")
    undefined = (spans.gold_chars == 0) | (text_chars == 0)
    return from_lists(ratio(_covered(spans, k), text_chars), spans, undefined, why)


def span_precision(spans: SpanRankings, k: int) -> Scores:
    """Gold characters covered by the top k chunks over the lengths of all these chunks; in [0, 1]."""
    return _precision(spans, k, _read_chars(spans, k))


def span_distinct_precision(spans: SpanRankings, k: int) -> Scores:
    """Gold characters covered by the top k chunks over the distinct characters in them; in [0, 1]."""
    return _precision(spans, k, _text_chars(spans, k))


def span_iou(spans: SpanRankings, k: int) -> Scores:
    """Gold characters covered over the lengths of the top k chunks and the gold they miss; in [0, 1]."""
    covered = _covered(spans, k)
    return _scores(ratio(covered, _read_chars(spans, k) + spans.gold_chars - covered), spans)


def span_distinct_iou(spans: SpanRankings, k: int) -> Scores:
    """Intersection over union of gold characters and the distinct characters of the top k; in [0, 1]."""
    covered = _covered(spans, k)
    return _scores(ratio(covered, _text_chars(spans, k) + spans.gold_chars - covered), spans)


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
    component="retrieval",
    needs=("retrieved", "relevant_spans"),
    undefined="The question has no gold text.",
    per_k=True,
)

METRICS: tuple[Metric, ...] = (
    _covering(
        key="span_recall@k",
        title="Span recall",
        plain="right text found",
        compute=_at_k(span_recall),
        meaning="How much of the gold text is in the top k chunks, wherever the chunk borders fall.",
        formula="distinct gold characters covered by the top k / all gold characters",
        reference=_CHROMA,
    ),
    _covering(
        key="span_precision@k",
        title="Span precision",
        plain="right share of text",
        compute=_at_k(span_precision),
        meaning="How much of the text in the top k chunks is gold; surplus text in long chunks lowers it, "
        "and so does text that overlapping chunks repeat.",
        formula="distinct gold characters covered by the top k / lengths of the top k chunks together",
        undefined="The question has no gold text, or nothing was retrieved.",
        reference=_CHROMA,
    ),
    _covering(
        key="span_iou@k",
        title="Span IoU",
        plain="right text, little else",
        compute=_at_k(span_iou),
        meaning="How well the text of the top k chunks and the gold text coincide: missing gold and surplus "
        "text both lower it.",
        formula="gold characters covered by the top k / (lengths of the top k chunks together + "
        "gold characters not covered)",
        reference=_CHROMA,
    ),
    _covering(
        key="span_distinct_precision@k",
        title="Distinct span precision",
        compute=_at_k(span_distinct_precision),
        meaning="How much of the distinct text in the top k chunks is gold; overlap between chunks does "
        "not lower it.",
        formula="distinct gold characters covered by the top k / distinct characters in the top k",
        undefined="The question has no gold text, or nothing was retrieved.",
        reference="ragtriage; span precision with overlapping text counted once",
    ),
    _covering(
        key="span_distinct_iou@k",
        title="Distinct span IoU",
        compute=_at_k(span_distinct_iou),
        meaning="How well the distinct text of the top k chunks and the gold text coincide.",
        formula="gold characters covered by the top k / characters that are gold or in the top k",
        reference="ragtriage; span IoU with overlapping text counted once",
    ),
    _covering(
        key="span_ndcg@k",
        title="Span nDCG",
        plain="right text ranked first",
        compute=_at_k(span_ndcg),
        meaning="How early the gold text is ranked; text repeated from earlier chunks gains nothing.",
        formula="sum over ranks i <= k of newly covered gold characters_i / log2(i + 1), divided by all gold "
        "characters (the ideal: all gold in the first chunk)",
        reference="Järvelin and Kekäläinen 2002, with gain for new gold only as in Clarke et al. 2008",
    ),
)


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
    component="retrieval",
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
        meaning="How many of the chunks that contain gold are among the top k.",
        formula="chunks with gold in the top k / chunks with gold in the index",
        reference="recall over chunks, as in Manning, Raghavan and Schütze 2008",
    ),
    _counting(
        key="chunk_count_precision@k",
        title="Chunk-count precision",
        compute=_chunks_at_k(chunk_count_precision),
        meaning="How many of the top k chunks contain gold, however little.",
        formula="chunks with gold in the top k / k",
        needs=("retrieved", "relevant_spans"),
        undefined="The question has no gold text.",
        reference="precision over chunks, as in Manning, Raghavan and Schütze 2008",
    ),
    _counting(
        key="chunk_count_ndcg@k",
        title="Chunk-count nDCG",
        compute=_chunks_at_k(chunk_count_ndcg),
        meaning="How early the chunks with gold are ranked; each counts, even where it repeats another.",
        formula="sum over ranks i <= k of [chunk_i holds gold] / log2(i + 1), divided by the same sum for "
        "the ideal order",
        reference="Järvelin and Kekäläinen 2002",
    ),
)


BUDGETS = (250, 500, 1000, 2000)  # tokens
_NO_TOKENS = "the tokens of the chunks were not recorded"


def within(spans: SpanRankings, budget: int) -> SpanRankings:
    """Cut every list before the first chunk that does not fully fit into the budget.

    Samples with chunks of unknown size are not run.
    """
    tokens = require(spans.tokens)
    listed = ~np.isnan(spans.new_gold)
    unknown = (listed & np.isnan(tokens)).any(axis=1) & (spans.status == Status.SCORED)
    fits = listed & (np.cumsum(np.nan_to_num(tokens), axis=1) <= budget)
    return replace(
        spans,
        new_gold=np.where(fits, spans.new_gold, np.nan),
        union_chars=np.where(fits, spans.union_chars, np.nan),
        chunk_chars=np.where(fits, spans.chunk_chars, np.nan),
        hits=spans.hits & fits,
        status=np.where(unknown, Status.NOT_RUN, spans.status).astype(np.int8),
        reason=np.where(unknown, _NO_TOKENS, spans.reason).astype(object),
    )


def _in_budget(formula: Callable[[SpanRankings, int], Scores]) -> Compute:
    def compute(spans: SpanRankings, budget: int) -> Scores:
        return formula(within(spans, budget), spans.new_gold.shape[1])

    return lambda batch, budget, _convention: compute(require(batch.spans), budget)


_budgeted = partial(
    Metric,
    component="retrieval",
    needs=("retrieved", "relevant_spans", "retrieved_tokens"),
    undefined="The question has no gold text.",
    per_k=True,
    unit="tokens",
    reference="ragtriage; the span metrics with k counted in tokens of context",
    caution="A list that ends before the budget is scored as it is: retrieve more where chunks are small.",
)

BUDGET_METRICS: tuple[Metric, ...] = (
    _budgeted(
        key="span_recall_budget@k",
        title="Span recall",
        compute=_in_budget(span_recall),
        meaning="How much of the gold text is in the chunks that fit into k tokens.",
        formula="distinct gold characters covered by the chunks that fit / all gold characters",
    ),
    _budgeted(
        key="span_precision_budget@k",
        title="Span precision",
        compute=_in_budget(span_precision),
        meaning="How much of the text that fits into k tokens is gold.",
        formula="distinct gold characters in the chunks that fit / lengths of these chunks together",
        undefined="The question has no gold text, or no chunk fits.",
    ),
    _budgeted(
        key="span_iou_budget@k",
        title="Span IoU",
        compute=_in_budget(span_iou),
        meaning="How well the text that fits into k tokens and the gold text coincide.",
        formula="gold characters in the chunks that fit / (lengths of these chunks together + "
        "gold characters not covered)",
    ),
    _budgeted(
        key="span_distinct_precision_budget@k",
        title="Distinct span precision",
        compute=_in_budget(span_distinct_precision),
        meaning="How much of the distinct text that fits into k tokens is gold.",
        formula="distinct gold characters in the chunks that fit / distinct characters in them",
        undefined="The question has no gold text, or no chunk fits.",
    ),
    _budgeted(
        key="span_distinct_iou_budget@k",
        title="Distinct span IoU",
        compute=_in_budget(span_distinct_iou),
        meaning="How well the distinct text that fits into k tokens and the gold text coincide.",
        formula="gold characters in the chunks that fit / characters that are gold or in them",
    ),
    _budgeted(
        key="span_ndcg_budget@k",
        title="Span nDCG",
        compute=_in_budget(span_ndcg),
        meaning="How early the gold text is ranked within k tokens.",
        formula="sum over the chunks i that fit of newly covered gold characters_i / log2(i + 1), divided by "
        "all gold characters",
    ),
)
