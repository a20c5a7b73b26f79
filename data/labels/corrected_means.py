"""The mean of a rating dimension over the questions of a run, corrected by randomly drawn labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.labels.agreement import (
    DEFAULT_THRESHOLDS,
    EvaluatedMetric,
    Thresholds,
    column_of,
    oriented,
    passes,
)
from ragtriage.data.labels.agreement_report import MetricAgreement, finite_dict, judges_of
from ragtriage.data.labels.human_ratings import HumanRatings, human_ratings
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Status
from ragtriage.metrics.statistics.intervals import Interval, interval
from ragtriage.metrics.statistics.ppi import PpiMean, ppi_by_question

FEW_LABELS = 50  # below this the corrected mean is reported as uncertain
ADVISED_LABELS = (150, 300)  # ARES (Saad-Falcon et al. 2024) uses 150 and more
MOST_ESTIMATED = 5000  # samples whose texts are read when the metric is lexical groundedness


def advised_labels(n: int) -> str:
    """Return how many of n cases to label, in words."""
    fewest, most = ADVISED_LABELS
    return f"all {n:,} cases" if n <= fewest else f"{fewest} to {most} cases drawn at random"


@dataclass(frozen=True)
class PpiEstimate:
    """The mean of a rating dimension over a run, by prediction-powered inference."""

    ppi: PpiMean | None  # the estimates; None where no label was drawn at random
    raw: Interval | None  # the metric's own mean over the same questions, with its interval; None likewise
    same_dimension: bool  # whether the metric measures the same dimension, so that the two means compare
    browsed: int  # labelled samples left out because they were not drawn at random
    unjudged: int  # samples drawn and labelled that have no value of the metric
    unrated: int = 0  # samples drawn that nobody could rate; the mean leaves them out


def ppi_estimate(
    scored: ScoredRun,
    ratings: HumanRatings,
    evaluated: EvaluatedMetric,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> PpiEstimate:
    """Correct a metric's mean by the labels that were drawn at random.

    A binary rating is corrected by whether the metric reaches its threshold, any other by the metric's value,
    both on 0 to 1. The mean is over the questions that have a value of the metric, without samples that were
    drawn and could not be rated; a metric without a scale has none, nor have samples that are weighted.
    """
    drawn = np.isfinite(ratings.drawn)
    browsed = int((np.isfinite(ratings.values) & ~drawn).sum())
    same_dimension = evaluated.metric == ratings.metric
    unrated = int(ratings.unrated.sum())
    if not drawn.any() or scored.question_weights is not None:
        return PpiEstimate(None, None, same_dimension, browsed, 0, unrated)
    predicted = np.where(ratings.unrated, np.nan, _predictions(scored, ratings, evaluated, thresholds, drawn))
    unjudged = int((drawn & ~np.isfinite(predicted)).sum())
    found = ppi_by_question(predicted, ratings.drawn, scored.question, scored.clusters)
    if found is None:
        return PpiEstimate(None, None, same_dimension, browsed, unjudged, unrated)
    known = np.isfinite(found.values)
    binary = bool(np.isin(found.values[known], (0, 1)).all())
    raw = interval(found.values, scored.clusters, int(known.sum()), binary)
    return PpiEstimate(found.ppi, raw, same_dimension, browsed, unjudged, unrated)


def _predictions(
    scored: ScoredRun,
    ratings: HumanRatings,
    evaluated: EvaluatedMetric,
    thresholds: Thresholds,
    drawn: BoolArray,
) -> FloatArray:
    """(n,) the metric on the scale of the ratings; of a large run lexical groundedness of a random part."""
    others = np.flatnonzero(~drawn)
    if len(others) > MOST_ESTIMATED:
        others = np.sort(np.random.default_rng(0).choice(others, MOST_ESTIMATED, replace=False))
    column = column_of(scored, evaluated, np.concatenate([np.flatnonzero(drawn), others]))
    values = oriented(evaluated, np.where(column.status == Status.SCORED, column.values, np.nan))
    if not ratings.binary:
        return values
    return np.where(np.isfinite(values), passes(values, thresholds[1]), np.nan)


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
        if ppi.n_labelled >= fewest or not ppi.n_unlabelled
        else f"{ppi.n_labelled} labels; advised: {advised_labels(ppi.n_labelled + ppi.n_unlabelled)}",
    }
