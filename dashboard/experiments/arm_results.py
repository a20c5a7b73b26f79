"""The arms of an experiment with their quality: what every kind shows."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.charts.experiments.curves import arm_dots
from ragtriage.dashboard.experiments.view import Part
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.dashboard.wording.formatting import methods
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, p_value
from ragtriage.metrics.result_table import Number, ResultTable, Row, ends_of

LONGEST_NAME = 32
MCNEMAR = "exact McNemar test, paired on the question; p corrected by Holm over these pairs"


def name_of(summary: ExperimentSummary) -> str:
    """Return the system under test, short enough for a headline."""
    return shorten(summary.experiment.system, LONGEST_NAME)


def quality_title(summary: ExperimentSummary) -> str:
    """Return the title of the metric that the arms are measured by."""
    return capital(title_of(summary.quality))


def p_text(value: float) -> str:
    """Return a p value as it follows the letter: = 0.034, < 0.001."""
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def joined(facts: Sequence[str]) -> str:
    """Return facts as the note of a table, without the empty ones."""
    return "; ".join(filter(None, facts))


def arm_chart(summary: ExperimentSummary) -> Part:
    """Return the quality of each arm as dots with intervals."""
    title = quality_title(summary)
    return Part(
        chart=arm_dots(summary.arms, title), alt=f"{title} of each arm with its interval", key="arm_dots"
    )


def arm_table(summary: ExperimentSummary) -> ResultTable:
    """Return the arms with their quality."""
    title = quality_title(summary)
    rows: tuple[Row, ...] = tuple(
        {
            "Arm": result.arm.title,
            title: Number(result.quality.mean),
            "95 % interval": ends_of(result.quality),
            "n": f"{result.quality.n_scored:,} / {result.n:,}",
            "Without answer or value": result.n - result.quality.n_scored if result.arm.run_id else None,
            "Run": result.arm.run_id or "not asked to the end",
        }
        for result in summary.arms
    )
    notes = (
        f"{count(summary.experiment.n_questions, 'question')}, the same in every arm",
        f"{title}: {summary.source}",
        methods([result.quality for result in summary.arms]),
    )
    return ResultTable("Arms of the experiment", rows, joined(notes))
