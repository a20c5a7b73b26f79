"""Retrieval-side noise: contexts that hold their gold among documents that are not relevant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ragtriage.data.scoring.grouping.slices import Slice, field_slice
from ragtriage.metrics.definitions.claims import relevant_documents
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.scores import FloatArray, Status

HOLDS_GOLD = 1  # code of Answers.context_has_gold
NOISY = 0.5  # relevant share of a context that holds the gold, below which it is noisy


def noise_slices(noise: Any) -> list[Slice]:
    """Return the slice of contexts that hold their gold, by whether most of the rest is noise."""
    if noise is None or noise["noisy"].null_count == noise.num_rows:
        return []
    return [field_slice("context noise", pc.if_else(noise["noisy"], "noisy context", "clean context"))]


def noise_table(_table: Any, batch: Batch) -> Any:
    """Return the auxiliary table of retrieval-side noise; None where no context is known to hold its gold.

    `noisy` is true where a context holds all of the gold and fewer than half of its documents are relevant:
    by the labels of all its documents, else by the claims of the reference, gold text or gold ids.
    """
    answers, share = batch.answers, _relevant_share(batch)
    known = np.isfinite(share)
    known &= False if answers is None else answers.context_has_gold == HOLDS_GOLD
    return pa.table({"noisy": pa.array(share < NOISY, pa.bool_(), mask=~known)})


def _relevant_share(batch: Batch) -> FloatArray:
    """(n,) share of the retrieved documents that are relevant; NaN where that is not known."""
    share, listed = np.full(batch.n, np.nan), batch.documents
    if batch.rankings is not None:
        scored = (batch.rankings.status == Status.SCORED) & (listed > 0)
        share[scored] = (batch.rankings.grades > 0).sum(axis=1)[scored] / listed[scored]
    if batch.spans is not None:
        scored = (batch.spans.status == Status.SCORED) & (listed > 0)
        share[scored] = batch.spans.hits.sum(axis=1)[scored] / listed[scored]
    reference = batch.reference_claims
    if reference is not None:
        labelled = np.bincount(reference.sample[reference.support_known], minlength=batch.n)
        total = np.bincount(reference.sample, minlength=batch.n)
        scored = (total > 0) & (labelled == total) & (listed > 0)
        share[scored] = relevant_documents(reference).sum(axis=1)[scored] / listed[scored]
    labels = batch.document_relevant
    if labels is not None:
        scored = ((labels >= 0).sum(axis=1) == listed) & (listed > 0)
        share[scored] = (labels == 1).sum(axis=1)[scored] / listed[scored]
    return share
