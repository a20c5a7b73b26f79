"""Imported scores of -1 that stand for failed judgements: they are no values, and the reader is told."""

from __future__ import annotations

import numpy as np

from ragtriage.data.scoring.imported_scores import FAILED_CODE
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.sanity.rule import Finding, rows_of
from ragtriage.metrics.schema.scores import FloatArray, Status
from ragtriage.metrics.schema.source import Source
from ragtriage.metrics.statistics.question_means import question_means

MOST_NAMED = 6


def failed_codes(scored: ScoredRun) -> list[Finding]:
    """Return the finding on scores that are stored as -1 where nothing else is negative."""
    failed = np.zeros(scored.n, dtype=np.bool_)
    named: dict[str, str] = {}
    for metric, sources in scored.sources.items():
        column = scored.column(metric, Source.IMPORTED) if Source.IMPORTED in sources else None
        if column is None or not (column.status == Status.FAILED).any():
            continue
        reasons = scored.failures(metric, Source.IMPORTED)
        rows = [row for row, reason in reasons.items() if reason == FAILED_CODE]
        if rows:
            failed[rows] = True
            named[metric] = _told(scored, metric, column.values, rows)
    if not named:
        return []
    more = f"; {len(named) - MOST_NAMED:,} more metrics" if len(named) > MOST_NAMED else ""
    message = (
        "A score of -1 where no other is negative marks a judgement that failed, so it is left out as not "
        f"scored: {'; '.join(list(named.values())[:MOST_NAMED])}{more}."
    )
    n = int(failed.sum())
    return [
        Finding(
            "failed_code",
            "warning",
            "Failed judgements stored as -1 left out",
            message,
            (),
            n,
            rows_of(failed),
            tuple(named),
        )
    ]


def _told(scored: ScoredRun, metric: str, values: FloatArray, rows: list[int]) -> str:
    """Return the mean of a metric without its codes, and what it would be with them."""
    with_codes = values.copy()
    with_codes[rows] = -1
    without, counted = _mean(scored, values), _mean(scored, with_codes)
    return f"{metric} has a mean of {without} without its {len(rows):,}, and would have {counted} with them"


def _mean(scored: ScoredRun, values: FloatArray) -> str:
    means = question_means(values, scored.question)[0]
    n = int(np.isfinite(means).sum())
    return f"{np.nanmean(means):.4f} (n = {n:,})" if n else "no value"
