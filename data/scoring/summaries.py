"""Means of a run's metrics with intervals, over all its questions or those that a filter keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from data.scoring.scored_run import MetricColumn, ScoredRun
from data.store.workspace import Run
from metrics.metric_registry import bounds_of, ordered
from metrics.schema.scores import BoolArray, FloatArray, IntArray, Status
from metrics.schema.source import Source
from metrics.statistics.intervals import intervals, missing_bounds
from metrics.statistics.question_means import question_means

__all__ = [
    "MetricSummary",
    "reported_means",
    "summarise",
]


@dataclass(frozen=True)
class MetricSummary:
    """The mean of one metric over questions, with its interval, counts and sources.

    Attributes:
        metric: full name, e.g. "recall@5".
        mean: over the scored questions, repeats averaged first; None when nothing is scored.
        low: lower bound of the 95 % interval; None without one.
        high: upper bound.
        n_scored: questions with a value.
        n_applicable: questions that the metric applies to.
        n_failed: questions where scoring was tried and failed.
        method: how the interval was obtained.
        too_few: whether the interval rests on too few questions to be trusted.
        sources: samples scored by each source, best first.
        worst: mean if all failed questions had the worst value; None where nothing failed.
        best: mean if they had the best value.
    """

    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n_scored: int
    n_applicable: int
    n_failed: int
    method: str
    too_few: bool
    sources: dict[str, int]
    worst: float | None
    best: float | None

    @property
    def source(self) -> str:
        """The sources in one word or joined by +; "none" where nothing is scored."""
        return "+".join(self.sources) or "none"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return dict(vars(self))  # asdict copies every value, which takes longer than scoring


def summarise(
    scored: ScoredRun,
    metrics: Sequence[str] | None = None,
    keep: BoolArray | None = None,
    source: Source | None = None,
) -> dict[str, MetricSummary]:
    """Return the means of a run's metrics over questions; all share one bootstrap.

    Args:
        scored: the run.
        metrics: names of metrics; None for all that the run has, in the registry's order.
        keep: (n,) True for the samples to keep; None for all.
        source: the only source to take values from; None for the best of each sample.
    """
    names = [name for name in metrics or ordered(scored.metrics) if scored.column(name, source) is not None]
    if not names:
        return {}
    columns = [scored.column(name, source) for name in names]
    kept = [_filtered(column, keep) for column in columns if column is not None]
    matrix = np.column_stack([column.values for column in kept])
    means, _ = question_means(matrix, scored.question)
    applicable = [_questions(scored.question, column.status != Status.NOT_APPLICABLE) for column in kept]
    binary = [bool(np.isin(means[np.isfinite(means[:, m]), m], (0.0, 1.0)).all()) for m in range(len(names))]
    bounds = [bounds_of(name) for name in names]
    estimates = intervals(means, scored.clusters, applicable, binary, bounds=bounds)
    return {
        name: MetricSummary(
            metric=name,
            mean=_number(estimate.mean),
            low=_number(estimate.low),
            high=_number(estimate.high),
            n_scored=estimate.n_scored,
            n_applicable=estimate.n_applicable,
            n_failed=_failed(scored.question, column, means[:, m]),
            method=estimate.method,
            too_few=estimate.too_few,
            sources=column.sources,
            **_missing(means[:, m], _failed(scored.question, column, means[:, m]), bounds[m]),
        )
        for m, (name, column, estimate) in enumerate(zip(names, kept, estimates, strict=True))
    }


def reported_means(run: Run) -> dict[str, MetricSummary]:
    """Return the means of a run with reported means only: without intervals or samples."""
    return {
        name: MetricSummary(
            metric=name,
            mean=run.means[name],
            low=None,
            high=None,
            n_scored=run.n_questions,
            n_applicable=run.n_questions,
            n_failed=0,
            method="stated",
            too_few=False,
            sources={Source.IMPORTED.label: run.n_questions},
            worst=None,
            best=None,
        )
        for name in ordered(tuple(run.means))
    }


def _filtered(column: MetricColumn, keep: BoolArray | None) -> MetricColumn:
    """Return the column with the samples that a filter leaves out as not applicable."""
    if keep is None:
        return column
    return MetricColumn(
        np.where(keep, column.values, np.nan),
        np.where(keep, column.status, Status.NOT_APPLICABLE).astype(np.int8),
        column.source,
    )


def _questions(question: IntArray, mask: BoolArray) -> int:
    return len(np.unique(question[mask]))


def _failed(question: IntArray, column: MetricColumn, means: FloatArray) -> int:
    failed = np.unique(question[column.status == Status.FAILED])
    return int(np.isnan(means[failed]).sum())


def _missing(means: FloatArray, failed: int, bounds: tuple[float, float]) -> dict[str, float | None]:
    if failed == 0 or not np.isfinite(bounds).all():
        return {"worst": None, "best": None}
    low, high = missing_bounds(means, failed, *bounds)
    return {"worst": _number(low), "best": _number(high)}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
