"""The means that labels drawn at random correct, of each dimension by the metrics compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragtriage.data.labels.agreement import Thresholds
from ragtriage.data.labels.agreement_report import MetricAgreement, finite_dict, judges_of
from ragtriage.data.labels.human_ratings import human_ratings
from ragtriage.data.labels.ppi_estimate import ADVISED_LABELS, PpiEstimate, ppi_estimate
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.statistics.intervals import Interval
from ragtriage.metrics.statistics.ppi import PpiMean


def corrected_means(
    store: RunStore, run: Run, rows: Sequence[MetricAgreement], thresholds: Thresholds
) -> list[dict[str, Any]]:
    """Return the prediction-powered mean of each compared pair as JSON values, where labels were drawn."""
    judges = dict(judges_of(store, run))
    current = next(iter(judges.values()))
    means = []
    for row in rows:
        scored = judges.get(row.judge, current)
        ratings = human_ratings(scored, store.ledger, row.dimension)
        estimate = ppi_estimate(scored, ratings, row.metric, thresholds)
        if estimate.ppi is not None and estimate.raw is not None:
            means.append(_mean(row, estimate, estimate.ppi, estimate.raw))
    return means


def _mean(row: MetricAgreement, estimate: PpiEstimate, ppi: PpiMean, raw: Interval) -> dict[str, Any]:
    fewest, _ = ADVISED_LABELS
    return {
        "dimension": row.dimension,
        "metric": row.metric.metric,
        "source": row.metric.source.label,
        "judge": row.to_dict()["judge"],
        "same_dimension": estimate.same_dimension,
        **finite_dict({"mean": ppi.estimate, "low": ppi.low, "high": ppi.high}),
        "method": "prediction-powered inference (PPI++), normal interval over questions or conversations",
        "labels_alone": finite_dict(
            {"mean": ppi.classical.mean, "low": ppi.classical.low, "high": ppi.classical.high}
        ),
        "metric_alone": finite_dict({"mean": raw.mean, "low": raw.low, "high": raw.high}),
        "n_labelled": ppi.n_labelled,
        "n_unlabelled": ppi.n_unlabelled,
        **finite_dict({"bias": ppi.bias, "tuning": ppi.tuning, "effective_n": ppi.effective_n}),
        "not_drawn": estimate.browsed,
        "without_metric": estimate.unjudged,
        "unrated": estimate.unrated,
        "note": ""
        if ppi.n_labelled >= fewest
        else f"{ppi.n_labelled} labels; {fewest} to {ADVISED_LABELS[1]} are advised",
    }
