"""Means of a run's metrics with intervals, over all its questions or those that a filter keeps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragtriage.data.scoring.label_correction import corrected
from ragtriage.data.scoring.scored_run import MetricColumn, ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import bounds_of, declared, ordered
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status
from ragtriage.metrics.statistics.intervals import intervals, missing_bounds, question_means


@dataclass(frozen=True)
class MetricSummary:
    """The mean of one metric over questions, with its interval, counts and sources."""

    metric: str  # full name, e.g. "recall@5"
    mean: float | None  # over the scored questions, repeats averaged first; None when nothing is scored
    low: float | None  # lower bound of the 95 % interval; None without one
    high: float | None  # upper bound
    n_scored: int  # questions with a value
    n_applicable: int  # questions that the metric applies to
    n_failed: int  # questions where scoring was tried and failed
    method: str  # how the interval was obtained
    too_few: bool  # whether the interval rests on too few questions to be trusted
    sources: dict[str, int]  # samples scored by each source, best first
    # mean if all failed questions had the worst value, or all without one where these are too many for
    # a mean; None elsewhere
    worst: float | None
    best: float | None  # mean if they had the best value
    # the mean without labels, where labels of a random sample corrected it; None elsewhere
    raw: float | None = None
    n_labels: int = 0  # questions of that sample
    # scored questions of one weight that would tell as much, where the samples are weighted; None elsewhere
    effective_n: float | None = None

    @property
    def source(self) -> str:
        """The sources in one word or joined by +; "none" where nothing is scored."""
        return "+".join(self.sources) or "none"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        values = dict(vars(self))  # asdict copies every value, which takes longer than scoring
        if self.effective_n is None:
            del values["effective_n"]
        return values


def summarise(
    scored: ScoredRun,
    metrics: Sequence[str] | None = None,
    keep: BoolArray | None = None,
    source: Source | None = None,
    hold: bool = True,
) -> dict[str, MetricSummary]:
    """Return the means of a run's metrics over questions.

    Args:
        scored: the run.
        metrics: names of metrics; None for all that the run has, in the registry's order.
        keep: (n,) True for the samples to keep; None for all.
        source: the only source to take values from; None for the best of each sample.
        hold: whether the values that the run reads stay in memory, for those who ask for them next.
    """
    names = metrics or ordered(scored.metrics)
    if not names:
        return {}
    means = np.empty((len(scored.question_ids), len(names)))
    measured: list[_Measured] = []
    for name in names:
        column = scored.column(name, source)
        if column is not None:
            # filled in place: a metric without a column leaves its place to the next
            of_questions = means[:, len(measured)]
            measured.append(_measured(name, _filtered(column, keep), scored, of_questions))
        if not hold:
            scored.release_columns()
    estimates = intervals(
        means[:, : len(measured)],
        scored.clusters,
        [entry.n_applicable for entry in measured],
        [entry.binary for entry in measured],
        bounds=[bounds_of(entry.metric) for entry in measured],
        weights=scored.question_weights,
    )
    summaries = {
        entry.metric: MetricSummary(
            metric=entry.metric,
            mean=_number(estimate.mean),
            low=_number(estimate.low),
            high=_number(estimate.high),
            n_scored=estimate.n_scored,
            n_applicable=estimate.n_applicable,
            n_failed=entry.n_failed,
            method=estimate.method,
            too_few=estimate.too_few,
            sources=entry.sources,
            worst=entry.worst,
            best=entry.best,
            effective_n=estimate.n_effective,
        )
        for entry, estimate in zip(measured, estimates, strict=True)
    }
    if keep is None and source is None:
        summaries |= {
            name: _by_labels(scored, summaries[name]) for name, _ in scored.ratings.of if name in summaries
        }
    return summaries


def _by_labels(scored: ScoredRun, summary: MetricSummary) -> MetricSummary:
    """Return the mean that labels of a random sample correct; bounds of failed questions move along."""
    mean = corrected(scored, summary.metric)
    if mean is None:
        return summary
    moved = 0.0 if summary.mean is None else mean.mean - summary.mean
    return replace(
        summary,
        mean=mean.mean,
        low=mean.low,
        high=mean.high,
        method=mean.method,
        too_few=False,
        raw=mean.raw,
        n_labels=mean.n_labelled,
        worst=None if summary.worst is None else summary.worst + moved,
        best=None if summary.best is None else summary.best + moved,
    )


@dataclass(frozen=True)
class _Measured:
    """The part of a metric's summary that is neither mean nor interval."""

    metric: str
    n_applicable: int
    n_failed: int
    binary: bool
    sources: dict[str, int]
    worst: float | None
    best: float | None


def _measured(name: str, column: MetricColumn, scored: ScoredRun, means: FloatArray) -> _Measured:
    """Put the means of a metric by question into `means`, and return the rest.

    Where too few questions have a value for a mean to be stated, they are left out, and the bounds stay.
    """
    question, weights = scored.question, scored.question_weights
    means[:] = question_means(column.values[:, None], question)[0][:, 0]
    failed, declaration = _without_value(question, column.status == Status.FAILED, means), declared(name)
    applicable = int(np.count_nonzero(np.bincount(question[(column.status != Status.NOT_APPLICABLE)])))
    missing, n_open = failed, applicable - int(np.isfinite(means).sum())
    if declaration and n_open > (1 - declaration.least_scored) * applicable + 1e-9:
        missing = _without_value(question, column.status != Status.NOT_APPLICABLE, means)
    bounds = _missing(means, missing, bounds_of(name), weights)
    if len(missing) > len(failed):
        means[:] = np.nan
    return _Measured(
        metric=name,
        n_applicable=applicable,
        n_failed=len(failed),
        binary=bool(np.isin(means[np.isfinite(means)], (0.0, 1.0)).all()),
        sources=column.sources,
        **bounds,
    )


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


def _without_value(question: IntArray, chosen: BoolArray, means: FloatArray) -> IntArray:
    """Return the questions that have a chosen sample and no value."""
    questions = np.unique(question[chosen])
    return questions[np.isnan(means[questions])]


def _missing(
    means: FloatArray, missing: IntArray, bounds: tuple[float, float], weights: FloatArray | None
) -> dict[str, float | None]:
    if not len(missing) or not np.isfinite(bounds).all():
        return {"worst": None, "best": None}
    lost = len(missing) if weights is None else float(weights[missing].sum())
    low, high = missing_bounds(means, lost, *bounds, weights)
    return {"worst": _number(low), "best": _number(high)}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
