"""The features of the stage rules apart from the metrics: one number per sample, NaN where unknown."""

from __future__ import annotations

from typing import Any

import numpy as np

from data.store.ragged import Ragged
from metrics.definitions.spans import span_recall
from metrics.schema.batch import Batch, Checks, Rankings
from metrics.schema.scores import FloatArray, Status

__all__ = ["STAGE_FEATURES", "stage_features_of"]

STAGE_FEATURES = (
    "refused",
    "refused_source",
    "answerable",
    "gold_in_context",
    "gold_in_candidates",
    "has_candidates",
    "check_failed",
    "format_failed",
    "documents",
)


def stage_features_of(table: Any, batch: Batch) -> dict[str, FloatArray]:
    """Gather the evidence of an Arrow table of samples.

    Returns:
        (n,) floats for each name of EVIDENCE: `refused` 1 or 0 with the code of its source, `answerable` a
        code into batch.ANSWERABLE, the shares of the gold found in the context and among candidates,
        whether candidates were recorded, whether any check and whether a format check failed, and the number
        of documents in the context.
    """
    answers = batch.answers
    assert answers is not None  # noqa: S101 -- batch_of always makes this block
    candidates = Ragged.of(table["candidates"])
    failed, format_failed = _failed_checks(batch.checks, batch.n)
    return {
        "refused": _known(answers.refused),
        "refused_source": answers.refused_source.astype(np.float64),
        "answerable": _known(answers.answerable),
        "gold_in_context": _gold_in_context(batch),
        "gold_in_candidates": _gold_share(batch.first_pass, batch.n),
        "has_candidates": candidates.recorded.astype(np.float64),
        "check_failed": failed,
        "format_failed": format_failed,
        "documents": batch.documents.astype(np.float64),
    }


def _known(codes: Any) -> FloatArray:
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def _gold_in_context(batch: Batch) -> FloatArray:
    """Return the share of the gold that is in the context: of gold documents, else of gold text."""
    share = _gold_share(batch.rankings, batch.n)
    if batch.spans is None:
        return share
    of_text = span_recall(batch.spans, batch.spans.new_gold.shape[1])
    return np.where(np.isnan(share), of_text.values, share)


def _gold_share(ranked: Rankings | None, n: int) -> FloatArray:
    share = np.full(n, np.nan)
    if ranked is None:
        return share
    units = (~np.isnan(ranked.unit_rank)).sum(axis=1)
    found = np.isfinite(ranked.unit_rank).sum(axis=1)
    scored = (ranked.status == Status.SCORED) & (units > 0)
    share[scored] = found[scored] / units[scored]
    return share


def _failed_checks(checks: Checks | None, n: int) -> tuple[FloatArray, FloatArray]:
    if checks is None:
        return np.full(n, np.nan), np.full(n, np.nan)
    of_format = checks.kind == "format"
    return _failed(checks, np.ones(len(checks.sample), dtype=np.bool_), n), _failed(checks, of_format, n)


def _failed(checks: Checks, chosen: Any, n: int) -> FloatArray:
    total = np.bincount(checks.sample[chosen], minlength=n)
    failed = np.bincount(checks.sample[chosen & ~checks.passed], minlength=n)
    return np.where(total > 0, (failed > 0).astype(np.float64), np.nan)
