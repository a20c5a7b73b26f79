"""Span metrics at a token budget: what the generator can be given for the same number of tokens.

At equal k larger chunks hand over more text; at an equal budget small and large chunks are compared fairly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from metrics.inputs import SpanRankings
from metrics.registry import Compute, Metric
from metrics.spans import span_iou, span_ndcg, span_precision, span_recall
from metrics.undefined import require
from metrics.values import Scores, Status

__all__ = ["BUDGETS", "BUDGET_METRICS", "within"]

BUDGETS = (250, 500, 1000, 2000)  # tokens
_NO_TOKENS = "the tokens of the chunks were not recorded"


def within(spans: SpanRankings, budget: int) -> SpanRankings:
    """Cut every list before the first chunk that does not wholly fit into the budget.

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
    stage="retrieval",
    needs=("retrieved", "relevant_spans", "retrieved_tokens"),
    undefined="The question has no gold text.",
    per_k=True,
    unit="tokens",
    reference="ragtriage; the span metrics with k counted in tokens of context",
    caution="A list that ends before the budget counts as it is: retrieve more where chunks are small.",
)

BUDGET_METRICS: tuple[Metric, ...] = (
    _budgeted(
        key="span_recall_budget@k",
        title="Span recall",
        compute=_in_budget(span_recall),
        meaning="How much of the gold text is inside the chunks that fit into k tokens.",
        formula="distinct gold characters covered by the chunks that fit / all gold characters",
    ),
    _budgeted(
        key="span_precision_budget@k",
        title="Span precision",
        compute=_in_budget(span_precision),
        meaning="How much of the text that fits into k tokens is gold.",
        formula="distinct gold characters in the chunks that fit / distinct characters in them",
        undefined="The question has no gold text, or no chunk fits.",
    ),
    _budgeted(
        key="span_iou_budget@k",
        title="Span IoU",
        compute=_in_budget(span_iou),
        meaning="How well the text that fits into k tokens and the gold text coincide.",
        formula="gold characters in the chunks that fit / characters that are gold or in them",
    ),
    _budgeted(
        key="span_ndcg_budget@k",
        title="Span nDCG",
        compute=_in_budget(span_ndcg),
        meaning="How early the gold text is read within k tokens.",
        formula="sum over the chunks i that fit of newly covered gold characters_i / log2(i + 1), divided by "
        "all gold characters",
    ),
)
