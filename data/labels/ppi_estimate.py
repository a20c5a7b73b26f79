"""The mean of a quantity over a run, from a metric on every sample and labels that were drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from data.labels.agreement import DEFAULT_CUTS, Cuts
from data.labels.evaluated_metric import EvaluatedMetric, column_of, oriented, passes
from data.labels.human_ratings import HumanRatings
from data.scoring.scored_run import ScoredRun
from metrics.schema.scores import BoolArray, FloatArray, IntArray, Status
from metrics.statistics.intervals import Interval, interval
from metrics.statistics.ppi import PpiMean, ppi_mean

__all__ = ["ADVISED_LABELS", "FEW_LABELS", "PpiEstimate", "ppi_estimate"]

FEW_LABELS = 50  # below this the corrected mean is said to be uncertain
ADVISED_LABELS = (150, 300)  # ARES (Saad-Falcon et al. 2024) uses 150 and more
MOST_ESTIMATED = 5000  # samples whose wording is read for an estimate of the whole run


@dataclass(frozen=True)
class PpiEstimate:
    """The mean of a quantity over a run, from a metric on all samples and labels drawn at random.

    Attributes:
        ppi: the estimates; None where no label was drawn at random.
        raw: the metric's own mean over the same samples, with its interval; None likewise.
        same: whether the metric is of the same quantity, so that its raw mean can stand beside.
        browsed: labelled samples left out because they were not drawn at random.
        unjudged: samples drawn and labelled that the metric has no value for.
        unrated: samples drawn that nobody could rate; they are in neither part, and the mean leaves them out.
    """

    ppi: PpiMean | None
    raw: Interval | None
    same: bool
    browsed: int
    unjudged: int
    unrated: int = 0


def ppi_estimate(
    scored: ScoredRun, people: HumanRatings, held: EvaluatedMetric, cuts: Cuts = DEFAULT_CUTS
) -> PpiEstimate:
    """Correct a metric's mean by the labels that were drawn at random.

    A verdict of people is corrected by the metric's verdict at its cut-off, a degree by its value, both on 0
    to 1. The mean is over the samples that the metric has a value for and that people can rate as far as is
    known; without a scale there is none.
    """
    drawn = np.isfinite(people.drawn)
    browsed = int((np.isfinite(people.values) & ~drawn).sum())
    same = held.metric == people.metric
    unrated = int(people.unrated.sum())
    if not drawn.any():
        return PpiEstimate(None, None, same, browsed, 0, unrated)
    judged = np.where(people.unrated, np.nan, _judged(scored, people, held, cuts, drawn))
    known = np.isfinite(judged)
    unjudged = int((drawn & ~known).sum())
    if not (drawn & known).any():
        return PpiEstimate(None, None, same, browsed, unjudged, unrated)
    ppi = _corrected(scored, people.drawn, judged, drawn & known)
    raw = _raw(scored, judged[known], known, people.binary)
    return PpiEstimate(ppi, raw, same, browsed, unjudged, unrated)


def _judged(
    scored: ScoredRun, people: HumanRatings, held: EvaluatedMetric, cuts: Cuts, drawn: BoolArray
) -> FloatArray:
    column = column_of(scored, held, _whole(drawn))
    values = oriented(held, np.where(column.status == Status.SCORED, column.values, np.nan))
    if not people.binary:
        return values
    return np.where(np.isfinite(values), passes(values, cuts[1]), np.nan)


def _corrected(scored: ScoredRun, labels: FloatArray, judged: FloatArray, both: BoolArray) -> PpiMean:
    rest = np.isfinite(judged) & ~both
    clusters = scored.clusters[scored.question]
    return ppi_mean(labels[both], judged[both], judged[rest], clusters=(clusters[both], clusters[rest]))


def _raw(scored: ScoredRun, judged: FloatArray, known: BoolArray, binary: bool) -> Interval:
    return interval(judged, scored.clusters[scored.question][known], len(judged), binary)


def _whole(drawn: BoolArray) -> IntArray:
    """Rows to estimate for the mean of a run: all of a small one, a random part of a large one."""
    others = np.flatnonzero(~drawn)
    if len(others) > MOST_ESTIMATED:
        others = np.sort(np.random.default_rng(0).choice(others, MOST_ESTIMATED, replace=False))
    return np.concatenate([np.flatnonzero(drawn), others])
