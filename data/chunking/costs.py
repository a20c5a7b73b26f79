"""What a configuration of a grid costs for each question: tokens that it hands on, milliseconds, money."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.scoring.scored_run import ScoredRun


@dataclass(frozen=True)
class TrialCost:
    """Means over the samples of a trial; None where not recorded."""

    tokens: float | None  # of the top k chunks
    milliseconds: float | None  # of the whole answer where recorded, else of its retrieval
    usd: float | None


NO_COST = TrialCost(None, None, None)


def trial_cost(scored: ScoredRun, k: int) -> TrialCost:
    """Return what a question costs in a run of which k chunks are handed on."""
    lists = pq.read_table(scored.samples_path, columns=["retrieved_tokens"])["retrieved_tokens"].to_pylist()
    tokens = [sum(sizes[:k]) for sizes in lists if sizes]
    milliseconds = _mean(scored, "latency_ms") or _mean(scored, "retrieval_ms")
    retrieving = scored.run.measured.get("retrieving_s")
    if milliseconds is None and retrieving is not None and scored.n:
        milliseconds = 1000 * float(retrieving) / scored.n
    return TrialCost(float(np.mean(tokens)) if tokens else None, milliseconds, _mean(scored, "cost_usd"))


def _mean(scored: ScoredRun, metric: str) -> float | None:
    values = scored.values(metric)
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
