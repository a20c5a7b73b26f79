"""One run: its metrics, its worst slices, what it does not allow to measure, its reported means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ragtriage.dashboard.wording.comparisons import OUTCOME_MARKS
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.formatting import metric_label, source_text
from ragtriage.data.comparison.compare import MetricDifference
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.bands import Interpretation
from ragtriage.metrics.diagnosis.slices import SliceFinding
from ragtriage.metrics.metric_registry import declared, imported_declarations, title_of
from ragtriage.metrics.number_text import interval_text, signed
from ragtriage.metrics.result_table import Number, Of, PValue, ResultTable, Row, Share


def metric_table(
    summaries: Mapping[str, MetricSummary],
    readings: Mapping[str, Interpretation],
    doubts: Mapping[str, str],
    changes: Mapping[str, MetricDifference],
    base_title: str,
    compared_over: Callable[[MetricSummary], str],
) -> ResultTable:
    """Return every metric with its mean, interval, n, source and change.

    Baseline and change are over the questions with a value in both runs; where the mean is over more of them,
    or nothing is compared, the column beside says so.

    Args:
        summaries: metric -> its mean, of the metrics to list.
        readings: metric -> what its mean says.
        doubts: metric -> what a check says against it, "" for nothing.
        changes: metric -> its difference to the baseline.
        base_title: of the baseline's column.
        compared_over: returns the questions that a metric is compared over, or why it is not.
    """
    rows: list[Row] = []
    for name, summary in summaries.items():
        metric, change, reading, doubt = declared(name), changes.get(name), readings[name], doubts[name]
        compared = change if change is not None and change.difference.n_pairs else None
        is_imported = metric is None or name in imported_declarations()
        few = " few" if summary.too_few and summary.n_scored else ""
        rows.append(
            {
                "Metric": f"{capital(title_of(name))}{' ⚠' if doubt else ''}",
                "Stage": "imported" if metric is None or is_imported else metric.component,
                "Mean": Number(summary.mean, 2),
                "Band": reading.standing,
                "95 % interval": f"{interval_text(summary.low, summary.high)}{few}",
                "n": Of(summary.n_scored, summary.n_applicable),
                "Obtained": source_text(summary),
                base_title: Number(compared.base, 2) if compared else None,
                "Change": _change(compared) if compared else None,
                "Compared over": compared_over(summary),
                "In words": f"{capital(f'{doubt}. ') if doubt else ''}{reading.sentence} {reading.meaning}",
            }
        )
    return ResultTable("Every metric with mean, interval, number of questions and source", tuple(rows))


def _change(change: MetricDifference) -> str:
    return f"{signed(change.difference.difference)} {OUTCOME_MARKS[change.verdict]}"


def missing_table(missing: Mapping[str, str]) -> ResultTable:
    """Return the metrics that a run does not allow, with the reasons."""
    rows: list[Row] = [
        {"Metric": title_of(name.replace("@k", "@5")).replace("@5", "@k"), "Why": reason}
        for name, reason in missing.items()
    ]
    return ResultTable("Metrics that this run does not allow, and why", tuple(rows))


def worst_slice_table(slices: Sequence[SliceFinding]) -> ResultTable:
    """Return the share of bad cases in each slice and in the rest."""
    rows: list[Row] = [
        {
            "Slice": f"{each.name}: {each.value}",
            "Bad": Of(each.n_bad, each.n),
            "Share": Share(each.rate),
            "The rest": Share(each.rate_rest),
            "p (Holm)": PValue(each.adjusted_p),
        }
        for each in slices
    ]
    return ResultTable("Slices with the highest share of bad cases", tuple(rows))


def reported_means_table(summaries: Mapping[str, MetricSummary]) -> ResultTable:
    """Return the means of a run of which nothing else is known."""
    rows: list[Row] = [
        {
            "Metric": metric_label(name),
            "Mean, %": None if summary.mean is None else Number(100 * summary.mean, 1),
            "Obtained": "imported mean",
        }
        for name, summary in summaries.items()
    ]
    return ResultTable("The reported means of this run", tuple(rows))
