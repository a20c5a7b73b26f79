"""The headline means of the runs of a project side by side."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.pages.runs.chosen_run import run_labels
from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.wording.formatting import metric_label
from ragtriage.data.comparison.answered import Answered, answered_of
from ragtriage.data.diagnosis.run_checks import means_of
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import imported_declarations
from ragtriage.metrics.number_text import NOT_MEASURED, interval_text, number
from ragtriage.metrics.sanity.means import looks_uncomputed

HEADLINE = ("faithfulness", "answer_relevancy", "context_recall", "context_precision")
MOST_IMPORTED = 4  # declared scores that the table of runs has room for
WIDTHS = {"": 28, "Created": 122, "Questions": 72, "Samples": 80, "Format": 110, "Id": 110}  # pixels


def run_table(view: View) -> None:
    """List the runs of the project, newest first."""
    labels = run_labels(view)
    measured = {name for run in view.runs for name in view.summary(run)}
    imported = [name for name in imported_declarations() if name in measured][:MOST_IMPORTED]
    answered = answered_of([view.scored(run) for run in view.sampled])
    rows = []
    for run in reversed(view.runs):
        summary = view.summary(run)
        rows.append(
            {
                "": "▸" if run == view.run else "",
                "Run": view.labels[run.run_id],
                "Created": f"{run.created_at:%Y-%m-%d %H:%M}",
                "Questions": _questions_cell(run, answered.get(run.run_id)),
                "Samples": f"{run.n:,}" if run.n else "means only",
                **{key: _mean_cell(run, summary.get(key)) for key in (*HEADLINE, *imported)},
                "Tags": ", ".join(labels.get(run.run_id, [])),
                "Format": run.origin["format"],
                "Id": run.run_id,
            }
        )
    titles = {"faithfulness": "Faithfulness", "answer_relevancy": "Relevancy", "context_recall": "Ctx recall"}
    titles |= {"context_precision": "Ctx precision"} | {name: metric_label(name) for name in imported}
    means = {
        name: st.column_config.TextColumn(titles.get(name), width=128) for name in (*HEADLINE, *imported)
    }
    small = {name: st.column_config.TextColumn(width=width) for name, width in WIDTHS.items()}
    show_table(rows, "Runs of the project", {**means, **small})
    facts(["means over questions with 95 % intervals; n and source of each on Triage", "– not measured"])


def _questions_cell(run: Run, answered: Answered | None) -> str:
    """Return how many questions a run has, or how many of the test set it answered where that is not all."""
    if answered is not None and not answered.complete:
        return f"{answered.answered:,} of {answered.asked:,} answered"
    return f"{run.n_questions:,}" if run.n_questions else "not stated"


def _mean_cell(run: Run, summary: MetricSummary | None) -> str:
    """Format a mean with its interval; a 0 that looks uncomputed is not shown as 0."""
    if summary is None or summary.mean is None:
        return NOT_MEASURED
    if run.means and summary.metric in looks_uncomputed(means_of(run)):
        return "not computed?"
    interval = interval_text(summary.low, summary.high)
    return number(summary.mean) if interval == NOT_MEASURED else f"{number(summary.mean)} {interval}"
