"""The lexical support share: how much of an answer's wording is found in its context, without a judge.

It estimates faithfulness from words alone and is held against people's faithfulness, nothing else: it is no
metric of a run. Read as it is asked for, and kept with the run's arrays.
"""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from data.scoring.scored_run import MetricColumn, ScoredRun
from data.text.context_attribution import ContextAttributor
from metrics.schema.scores import FloatArray, IntArray, Source, Status

__all__ = ["LEXICAL_GROUNDEDNESS", "lexical_groundedness"]

LEXICAL_GROUNDEDNESS = "lexical_support"
AT_ONCE = 256  # samples whose texts are held in memory
_kept: WeakKeyDictionary[ScoredRun, FloatArray] = (
    WeakKeyDictionary()
)  # NaN: without a value, -1: not read yet
_lock = Lock()
_UNREAD = -1.0


def lexical_groundedness(scored: ScoredRun, rows: IntArray) -> MetricColumn:
    """Estimate for some samples the share of the answer's content words that rest on a document.

    Args:
        scored: the run.
        rows: samples that are asked for; about a millisecond each, the first time.

    Returns:
        (n,) values from 0 to 1; not applicable for a refusal, which states nothing, and not run where the
        answer or the texts of its documents are missing or the row was not asked for.
    """
    refused = scored.stage_features["refused"] == 1
    with _lock:
        shares = _kept.setdefault(scored, np.full(scored.n, _UNREAD))
        wanted = rows[(shares[rows] == _UNREAD) & ~refused[rows]]
        for start in range(0, len(wanted), AT_ONCE):
            part = wanted[start : start + AT_ONCE]
            shares[part] = _shares(scored, part)
        values = np.where((shares == _UNREAD) | refused, np.nan, shares)
    status = np.where(
        np.isfinite(values), Status.SCORED, np.where(refused, Status.NOT_APPLICABLE, Status.NOT_RUN)
    )
    return MetricColumn(values, status.astype(np.int8), np.full(scored.n, Source.ESTIMATED, dtype=np.int8))


def _shares(scored: ScoredRun, rows: IntArray) -> FloatArray:
    attributor, found = ContextAttributor(), np.full(len(rows), np.nan)
    for at, sample in enumerate(scored.samples.read(rows.tolist(), ("answer", "retrieved"))):
        texts = [document["text"] or "" for document in sample["retrieved"] or ()]
        if sample["answer"] and any(texts):
            attribution = attributor.attribute(sample["answer"], texts)
            if attribution.sentences:
                found[at] = min(1.0, sum(attribution.shares))
    return found
