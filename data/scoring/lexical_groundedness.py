"""Lexical groundedness: how much of an answer's wording is found in its context, without a judge.

A heuristic for faithfulness that is compared with human labels of faithfulness only; it is no metric of the
run. It is computed on request and cached for as long as the run is in use.
"""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from ragtriage.data.scoring.scored_run import MetricColumn, ScoredRun
from ragtriage.data.text.context_attribution import ContextAttributor
from ragtriage.metrics.schema.scores import FloatArray, IntArray, Status
from ragtriage.metrics.schema.source import Source

LEXICAL_GROUNDEDNESS = "lexical_support"
AT_ONCE = 256  # samples whose texts are in memory at a time
# NaN: no value, _UNREAD: not computed yet
_cache: WeakKeyDictionary[ScoredRun, FloatArray] = WeakKeyDictionary()
_lock = Lock()
_UNREAD = -1.0


def lexical_groundedness(scored: ScoredRun, rows: IntArray) -> MetricColumn:
    """Estimate for some samples the share of the answer's content words that a document supports.

    Args:
        scored: the run.
        rows: the samples; the first time it takes about a millisecond each.

    Returns:
        (n,) values from 0 to 1; not applicable for a refusal, and not run where the answer or the texts of
        its documents are missing or the row is not among `rows`.
    """
    refused = scored.stage_features["refused"] == 1
    with _lock:
        shares = _cache.setdefault(scored, np.full(scored.n, _UNREAD))
        unread = rows[(shares[rows] == _UNREAD) & ~refused[rows]]
        for start in range(0, len(unread), AT_ONCE):
            part = unread[start : start + AT_ONCE]
            shares[part] = _shares(scored, part)
        values = np.where((shares == _UNREAD) | refused, np.nan, shares)
    status = np.where(
        np.isfinite(values), Status.SCORED, np.where(refused, Status.NOT_APPLICABLE, Status.NOT_RUN)
    )
    return MetricColumn(values, status.astype(np.int8), np.full(scored.n, Source.ESTIMATED, dtype=np.int8))


def _shares(scored: ScoredRun, rows: IntArray) -> FloatArray:
    attributor, shares = ContextAttributor(), np.full(len(rows), np.nan)
    for at, sample in enumerate(scored.samples.read(rows.tolist(), ("answer", "retrieved"))):
        texts = [document["text"] or "" for document in sample["retrieved"] or ()]
        if sample["answer"] and any(texts):
            attribution = attributor.attribute(sample["answer"], texts)
            if attribution.sentences:
                shares[at] = min(1.0, sum(attribution.shares))
    return shares
