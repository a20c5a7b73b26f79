"""The judge: metrics by its labels, its bias and its variance, its agreement with human labels."""

from collections.abc import Mapping, Sequence

import numpy as np

from ragtriage.data.judge.bias import LengthEffect, OrderEffect, PositionEffect, Variance
from ragtriage.data.labels.failure_taxonomy import LabelCount
from ragtriage.data.labels.human_ratings import HumanRatings, answer_words
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number
from ragtriage.metrics.result_table import (
    Cell,
    Change,
    Count,
    Number,
    Of,
    ResultTable,
    Row,
    Share,
    ShareEnds,
    ends_of,
)
from ragtriage.metrics.statistics.agreement import Agreement
from ragtriage.metrics.statistics.intervals import METHODS, Interval
from ragtriage.metrics.statistics.prevalence import EvaluatorAccuracy

_AGREEMENTS = {
    "spearman": ("Spearman's rank correlation", "1: both order the cases alike"),
    "true_positive_rate": ("True positive rate", "human label {yes}: metric good"),
    "true_negative_rate": ("True negative rate", "human label {no}: metric bad"),
    "kappa": ("Cohen's kappa", "1: perfect agreement, 0: as by chance"),
    "accuracy": ("Accuracy", "same side of both thresholds"),
}


def judged_table(summaries: Mapping[str, MetricSummary], title: str) -> ResultTable:
    """Return the metrics by the judge's labels, with their bounds where samples failed."""
    rows: list[Row] = [
        {
            "Metric": title_of(name),
            "Mean": Number(summary.mean, 2),
            "95 % interval": ends_of(summary, 2),
            "Questions": Of(summary.n_scored, summary.n_applicable),
            "Failed": Count(summary.n_failed),
            "Bounds": None if summary.worst is None else f"{number(summary.worst)} to {number(summary.best)}",
            "": "with caution" if summary.too_few else "",
        }
        for name, summary in summaries.items()
    ]
    return ResultTable(title, tuple(rows))


def variance_table(variances: Sequence[Variance]) -> ResultTable:
    """Return how far repeated evaluations of the same sample differ."""
    rows: list[Row] = [
        {
            "Metric": title_of(variance.metric),
            "Samples evaluated several times": variance.samples,
            "Evaluations each": f"{variance.evaluations:.1f}",
            "Standard deviation within a sample": Number(variance.deviation),
            "Share of samples with the same value every time": Number(variance.same_share, 2),
            "Noise of a difference of means": f"± {number(variance.noise, 3)}",
            "n": Count(variance.n),
        }
        for variance in variances
    ]
    return ResultTable("How far repeated evaluations of the same sample differ", tuple(rows))


def order_table(effects: Sequence[OrderEffect]) -> ResultTable:
    """Return what another order of the documents does to each metric."""
    rows: list[Row] = [
        {
            "Metric": title_of(effect.metric),
            "Samples": effect.n,
            "In their order": Number(effect.mean, 2),
            "Change in another order": Change(effect.difference),
            "95 % interval": ends_of(effect),
            "Same value": Share(effect.same_share),
        }
        for effect in effects
    ]
    return ResultTable("The same samples with their documents in another order", tuple(rows))


def position_table(effects: Sequence[PositionEffect]) -> ResultTable:
    """Return what being shown earlier or later does to the label of a document."""
    rows: list[Row] = [
        {
            "Label of a document": effect.label,
            "Documents": effect.n,
            "Other label": Share(effect.changed),
            "Shown earlier": Change(effect.earlier),
            "Shown later": Change(effect.later),
            "Earlier minus later": Change(effect.difference),
            "95 % interval": ends_of(effect),
        }
        for effect in effects
    ]
    return ResultTable("Change in the share of documents with a label, by how they moved", tuple(rows))


def length_table(effects: Sequence[LengthEffect]) -> ResultTable:
    """Return how each metric goes with the length of the answer, by the judge and by human labels."""
    rows: list[Row] = [
        {
            "Metric": title_of(effect.metric),
            "Judge": Number(effect.judge.value, 2),
            "95 % interval": ends_of(effect.judge, 2),
            "Samples": effect.judge.n,
            "Human labels": _correlation(effect.human),
        }
        for effect in effects
    ]
    return ResultTable("Spearman's rank correlation with the length of the answer", tuple(rows))


def _correlation(human: Agreement | None) -> Cell:
    if human is None:
        return None
    return f"{number(human.value)} {interval_text(human.low, human.high)}, n = {human.n:,}"


def agreement_table(agreements: Sequence[Agreement], ratings: HumanRatings) -> ResultTable:
    """Return each statistic of agreement with human labels, and what it means."""
    yes, no = answer_words(ratings.key)
    rows: list[Row] = [
        {
            "Agreement": _AGREEMENTS[agreement.name][0],
            "Value": Number(agreement.value, 2),
            "95 %": ends_of(agreement, 2),
            "n": Count(agreement.n),
            "Meaning": _AGREEMENTS[agreement.name][1].format(yes=yes, no=no),
        }
        for agreement in agreements
    ]
    return ResultTable("Agreement with human labels", tuple(rows))


def evaluator_table(accuracy: EvaluatorAccuracy, name: str) -> ResultTable:
    """Return the rate that an evaluator finds, corrected and raw, with its agreement with human labels."""
    corrected, kappa, rate = accuracy.corrected, accuracy.kappa, accuracy.rate
    is_corrected = bool(np.isfinite(corrected.value))
    rows: tuple[Row, ...] = (
        {
            "": "Rate, corrected",
            "Value": Share(corrected.value),
            "95 %": ShareEnds(corrected.low, corrected.high),
            "n": f"{count(rate.n_scored, 'question')}, {accuracy.pairs.n:,} labelled",
            "How": "Rogan-Gladen, parametric bootstrap"
            if is_corrected
            else "no better than chance: cannot be corrected",
        },
        _rate_row("Rate, as judged", rate, f"{rate.n_scored:,} of {count(rate.n_applicable, 'question')}"),
        _rate_row("True positive rate", accuracy.true_positive, f"{accuracy.positives:,} with the failure"),
        _rate_row("True negative rate", accuracy.true_negative, f"{accuracy.negatives:,} without"),
        {
            "": "Cohen's kappa",
            "Value": Number(kappa.value, 2),
            "95 %": ends_of(kappa, 2),
            "n": f"{kappa.n:,} labelled",
            "How": METHODS.get(kappa.method, "no interval"),
        },
    )
    return ResultTable(f"What evaluator {name} finds, and its agreement with human labels", rows)


def _rate_row(title: str, rate: Interval, n: str) -> Row:
    return {
        "": title,
        "Value": Share(rate.mean),
        "95 %": ShareEnds(rate.low, rate.high),
        "n": n,
        "How": METHODS.get(rate.method, "no interval"),
    }


def taxonomy_table(counts: Sequence[LabelCount], run_id: str) -> ResultTable:
    """Return the failure labels of a project with their definitions and cases."""
    rows: list[Row] = [
        {
            "Failure label": label.label,
            "Definition": label.definition or None,
            "Cases, this run": label.by_run.get(run_id, 0),
            "Cases, project": label.cases,
            "Defined by": f"{label.who}, {label.at[:10]}" if label.defined else "not in the taxonomy yet",
        }
        for label in counts
    ]
    return ResultTable("Failure labels with their definitions", tuple(rows))
