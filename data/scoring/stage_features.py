"""The features of the stage rules apart from the metrics: one number per sample, NaN where unknown."""

from __future__ import annotations

from typing import Any

import numpy as np

from data.store.ragged import Ragged
from metrics.schema.batch import ANSWERABLE, Batch, Checks, Rankings, SpanRankings
from metrics.schema.scores import FloatArray, Status

__all__ = ["STAGE_FEATURES", "stage_features_of"]

_WITHOUT_GOLD = [ANSWERABLE.index("no"), ANSWERABLE.index("conversational")]
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
        (n,) floats for each name of STAGE_FEATURES: `refused` 1 or 0 with the code of its source,
        `answerable` a code into batch.ANSWERABLE, the shares of the gold in the context and among candidates,
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
        "gold_in_context": _gold_in_context(table, batch),
        "gold_in_candidates": _share(batch.first_pass_spans, batch.first_pass, table["candidates"]),
        "has_candidates": candidates.recorded.astype(np.float64),
        "check_failed": failed,
        "format_failed": format_failed,
        "documents": batch.documents.astype(np.float64),
    }


def _known(codes: Any) -> FloatArray:
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def _gold_in_context(table: Any, batch: Batch) -> FloatArray:
    """Return the share of the gold that is in the context: of gold text, else of gold documents.

    An oracle context holds the gold of every question that has an answer, by declaration.
    """
    mode = table["context_mode"].to_numpy(zero_copy_only=False)
    share = _share(batch.spans, batch.rankings, table["retrieved"])
    assert batch.answers is not None  # noqa: S101 -- batch_of always makes this block
    has_answer = ~np.isin(batch.answers.answerable, _WITHOUT_GOLD)
    given = (mode == "oracle") & has_answer & ~(share > 0)
    return np.where(mode == "closed_book", np.nan, np.where(given, 1.0, share))


def _share(spans: SpanRankings | None, ranked: Rankings | None, documents: Any) -> FloatArray:
    """Return the share of the gold in whole ranked lists; NaN where no gold or no list is recorded."""
    share = np.full(len(documents), np.nan)
    if ranked is not None:
        units = (~np.isnan(ranked.unit_rank)).sum(axis=1)
        found = np.isfinite(ranked.unit_rank).sum(axis=1)
        listed = (ranked.status != Status.NOT_RUN) & (units > 0)
        share[listed] = found[listed] / units[listed]
    if spans is not None:
        lists = Ragged.of(documents)
        offsets = lists.field("start").is_valid().to_numpy(zero_copy_only=False)
        placed = np.bincount(lists.sample[offsets], minlength=len(documents)) > 0
        known = (spans.status != Status.NOT_RUN) & (spans.gold_chars > 0) & (placed | (lists.lengths == 0))
        covered = np.nansum(spans.new_gold, axis=1)
        share[known] = covered[known] / spans.gold_chars[known]
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
