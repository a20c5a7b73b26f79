"""Undefined values: empty denominators, inputs that a sample lacks, inputs that a whole run lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.batch import Batch, Rankings, SpanRankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, MetricsError, Scores, Status, StrArray
from ragtriage.metrics.schema.source import Source

Block = TypeVar("Block")

ANSWERABLE_LABEL = "whether the question can be answered: `answerable`"
# Sample field, whole or up to its dot -> the block of Batch it ends up in, and its description.
_FIELDS: dict[str, tuple[str, str]] = {
    "relevant": ("rankings", "gold documents: `relevant`"),
    "relevant_spans": ("spans", "gold character spans: `relevant_spans`"),
    "retrieved_tokens": ("chunk_tokens", "the tokens of each retrieved chunk: `retrieved_tokens`"),
    "relevant_chunks": ("chunk_totals", "how many chunks of the index hold gold: `relevant_chunks`"),
    "claims": ("claims", "the claims of the answer: `claims`"),
    "reference_claims": ("reference_claims", "the claims of the reference answer: `reference_claims`"),
    "used": ("context_use", "the documents the answer uses: `used`"),
    "refused": ("answers", "answers, or whether they are refusals: `answer`, `refused`"),
    "answerable": ("answers", ANSWERABLE_LABEL),
    "judged": ("judge_labels", "judge results: `ragtriage judge`"),
    "citations": ("citations", "citations, as [1] in the answers or in `citations`"),
    "relevant.hop": ("facets", "gold documents with their facets: `relevant` with `hop`"),
    "coverage": (
        "coverage_labels",
        "claims of the reference, gold with facets, or a reference answer and texts of the documents",
    ),
    "agreement": (
        "agreement_labels",
        "claims with `contradicted_by`, or documents with the `answer` that they give",
    ),
    "retrieved.text": ("passages", "the texts of the documents: `retrieved`"),
    "wording": ("wordings", "reference answers: `reference_answer`"),
    "checks": ("checks", "expected-against-actual checks: `checks`"),
    "retrieved.relevant": (
        "document_relevant",
        "relevance labels of the documents: `retrieved.relevant`",
    ),
}


def ratio(part: FloatArray | NDArray[np.int64], whole: FloatArray | NDArray[np.int64]) -> FloatArray:
    """Return part / whole, element by element; NaN where the whole is 0. Both (n,)."""
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) > 0)


def require(block: Block | None) -> Block:
    """Return a block of a batch that is not None.

    Raises:
        MetricsError: the batch does not record it; `missing` tells beforehand.
    """
    if block is None:
        raise MetricsError("the batch lacks an input of this metric; `unavailable(batch)` names it")
    return block


def missing(needs: Iterable[str], batch: Batch) -> str:
    """Return what a batch lacks of the sample fields in `needs`, as "needs ...: `field`"; "" for nothing."""
    needs = tuple(needs)
    fields = [_FIELDS.get(need) or _FIELDS.get(need.partition(".")[0]) for need in needs]
    lacking = [field[1] for field in fields if field and getattr(batch, field[0]) is None]
    if not lacking:
        return ""
    if "retrieved" in needs and batch.n and not batch.documents.any():
        lacking.append("ranked documents: `retrieved`")
    return f"needs {' and '.join(dict.fromkeys(lacking))}"


def from_lists(
    values: FloatArray, block: Rankings | SpanRankings, undefined: BoolArray, why: str | StrArray
) -> Scores:
    """Build the scores of a ranked-list metric, keeping the statuses and reasons of its block.

    Args:
        values: (n,) raw values.
        block: where they come from; its unscored samples stay unscored for the same reason.
        undefined: (n,) True where the metric has no meaning although the list was recorded.
        why: the reason there, one for all or (n,).
    """
    recorded = block.status == Status.SCORED
    status = np.where(recorded & undefined, np.int8(Status.NOT_APPLICABLE), block.status)
    not_finite = (status == Status.SCORED) & ~np.isfinite(values)
    status = np.where(not_finite, np.int8(Status.FAILED), status)
    reason = block.reason.copy()
    no_meaning = recorded & undefined
    if no_meaning.any():
        reason[no_meaning] = np.broadcast_to(np.asarray(why, dtype=object), len(values))[no_meaning]
    reason[not_finite] = "not a number"
    clean = np.where(status == Status.SCORED, values, np.nan)
    return Scores(clean, status, reason, np.full(len(values), Source.COMPUTED, dtype=np.int8))
