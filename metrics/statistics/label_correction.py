"""A mean over questions, corrected by the human labels of questions that were drawn at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.ppi import PpiMean, post_stratified, ppi_mean
from ragtriage.metrics.statistics.question_means import question_means

FEWEST_LABELS = 30  # questions: with fewer a correction by PPI is no better than the raw mean


@dataclass(frozen=True)
class CorrectedMean:
    """A mean that labels corrected; the raw one stands beside it."""

    mean: float  # the estimate
    low: float  # lower end of its 95 % interval over questions or conversations
    high: float  # upper end
    raw: float  # of the judge or the metric alone
    n_labelled: int  # questions labelled at random
    method: Literal["ppi", "post-stratified"]  # how the interval was obtained
    # (q,) values whose mean is the estimate, NaN for questions it is not about. Two of them compare by
    # question: the weight of a labelled question carries the correction of the others
    by_question: FloatArray


@dataclass(frozen=True)
class QuestionPpi:
    """A prediction-powered mean over questions, and what it is made of, NaN for questions without."""

    ppi: PpiMean  # the estimate
    labels: FloatArray  # (q,) mean label of the samples drawn at random that have a value
    beside: FloatArray  # (q,) mean value of the same samples
    values: FloatArray  # (q,) mean value of all samples


def ppi_by_question(
    predicted: FloatArray, drawn: FloatArray, question: IntArray, clusters: IntArray
) -> QuestionPpi | None:
    """Return the mean of a metric by prediction-powered inference over questions; None without any label.

    Args:
        predicted: (n,) values of the metric, NaN where it has none.
        drawn: (n,) labels of the samples drawn at random, NaN elsewhere.
        question: (n,) codes of the question of each sample.
        clusters: (q,) codes of the independent group of each question.
    """
    both = np.isfinite(predicted) & np.isfinite(drawn)
    labels, beside, values = (
        question_means(column, question)[0]
        for column in (np.where(both, drawn, np.nan), np.where(both, predicted, np.nan), predicted)
    )
    labelled = np.isfinite(labels)
    if not labelled.any():
        return None
    rest = np.isfinite(values) & ~labelled
    ppi = ppi_mean(
        labels[labelled], beside[labelled], values[rest], clusters=(clusters[labelled], clusters[rest])
    )
    return QuestionPpi(ppi, labels, beside, values)


def corrected_mean(
    predicted: FloatArray,
    drawn: FloatArray,
    question: IntArray,
    clusters: IntArray,
    bounds: tuple[float, float],
) -> CorrectedMean | None:
    """Correct the mean of a metric by prediction-powered inference over questions.

    Args:
        predicted: (n,) values of the metric, NaN where it has none.
        drawn: (n,) labels of the samples drawn at random, NaN elsewhere.
        question: (n,) codes of the question of each sample.
        clusters: (q,) codes of the independent group of each question.
        bounds: least and greatest value.

    Returns:
        The estimate; None with fewer than FEWEST_LABELS labelled questions, or without an interval.
    """
    found = ppi_by_question(predicted, drawn, question, clusters)
    if found is None or found.ppi.n_labelled < FEWEST_LABELS:
        return None
    ppi, values = found.ppi, found.values
    if not np.isfinite([ppi.estimate, ppi.low, ppi.high]).all():
        return None
    mean, low, high = (float(np.clip(value, *bounds)) for value in (ppi.estimate, ppi.low, ppi.high))
    by_question = _influence(found)
    raw = float(values[np.isfinite(values)].mean())
    return CorrectedMean(mean, low, high, raw, ppi.n_labelled, "ppi", by_question)


def _influence(found: QuestionPpi) -> FloatArray:
    """(q,) values whose mean is the estimate: of n labelled and N other questions each part by its share."""
    n, others, tuning = found.ppi.n_labelled, found.ppi.n_unlabelled, found.ppi.tuning
    corrected = (found.labels - tuning * found.beside) * (n + others) / n
    judged = tuning * found.values * (n + others) / max(others, 1)
    return np.where(np.isfinite(found.labels), corrected, judged)


def corrected_share(
    outcome: FloatArray,
    drawn: FloatArray,
    question: IntArray,
    n_outcomes: int,
    fewest: int = FEWEST_LABELS,
    clusters: IntArray | None = None,
) -> CorrectedMean | None:
    """Correct a share of good cases: of each outcome, its share of the questions times that of its labels.

    Args:
        outcome: (n,) what is known without labels, as codes from 0; NaN leaves a sample out. The outcome of a
            question is that of most of its repeats.
        drawn: (n,) 1 good or 0 bad of the samples drawn at random, NaN elsewhere.
        question: (n,) codes of the question of each sample.
        n_outcomes: how many outcomes there are.
        fewest: labelled questions that it takes.
        clusters: (q,) codes of the independent group of each question; None where each stands alone. Where
            the questions of a group go together, the interval is wider by the root of the design effect.

    Returns:
        The estimate, whose raw mean is NaN; None with too few labels.
    """
    codes = question_means(outcome, question)[0]
    about = np.isfinite(codes)
    labels = question_means(np.where(np.isfinite(outcome), drawn, np.nan), question)[0]
    labelled: BoolArray = np.isfinite(labels) & about
    if labelled.sum() < fewest:
        return None
    code = np.rint(codes[about]).astype(np.int8)
    of_labels, known = labels[about], labelled[about]
    estimate = post_stratified(code, known, np.where(known, of_labels, 0.0), n_outcomes)
    values = np.empty(len(code))
    for at in range(n_outcomes):
        mine = code == at
        good = of_labels[mine & known]
        values[mine] = (good.sum() + 0.5) / (len(good) + 1)
        if len(good):
            values[mine & known] += (good - good.mean()) * mine.sum() / len(good)
    by_question = np.full(len(codes), np.nan)
    by_question[about] = values
    wider = 1.0 if clusters is None else math.sqrt(_design_effect(values, clusters[about]))
    mean = estimate.estimate
    ends = max(0.0, mean - wider * (mean - estimate.low)), min(1.0, mean + wider * (estimate.high - mean))
    return CorrectedMean(estimate.estimate, *ends, np.nan, int(known.sum()), "post-stratified", by_question)


def _design_effect(values: FloatArray, clusters: IntArray) -> float:
    """Return by how much clusters raise the variance of the mean of the values; at least 1."""
    away = values - values.mean()
    _, code = np.unique(clusters, return_inverse=True)
    groups, alone = np.bincount(code, weights=away), float(away @ away)
    n, of = len(groups), len(away)
    if n < 2 or not alone:
        return 1.0
    return max(1.0, float(groups @ groups) / alone * (n / (n - 1)) * ((of - 1) / of))
