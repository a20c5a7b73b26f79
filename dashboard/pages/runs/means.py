"""The headline means of the runs of a project side by side."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.pages.runs.chosen_run import run_labels
from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.tables.runs import run_table
from ragtriage.dashboard.wording.formatting import metric_label
from ragtriage.data.comparison.answered import answered_of
from ragtriage.metrics.metric_registry import imported_declarations

HEADLINE = ("faithfulness", "answer_relevancy", "context_recall", "context_precision")
MOST_IMPORTED = 4  # declared scores that the table of runs has room for
WIDTHS = {"": 28, "Created": 122, "Questions": 72, "Samples": 80, "Format": 110, "Id": 110}  # pixels


def means_section(view: View) -> None:
    """List the runs of the project, newest first."""
    measured = {name for run in view.runs for name in view.summary(run)}
    imported = [name for name in imported_declarations() if name in measured][:MOST_IMPORTED]
    answered = answered_of([view.scored(run) for run in view.sampled])
    runs = list(reversed(view.runs))
    summaries = {run.run_id: view.summary(run) for run in runs}
    shown = (*HEADLINE, *imported)
    table = run_table(runs, view.run, view.labels, run_labels(view), summaries, answered, shown)
    titles = {"faithfulness": "Faithfulness", "answer_relevancy": "Relevancy", "context_recall": "Ctx recall"}
    titles |= {"context_precision": "Ctx precision"} | {name: metric_label(name) for name in imported}
    means = {name: st.column_config.TextColumn(titles.get(name), width=128) for name in shown}
    small = {name: st.column_config.TextColumn(width=width) for name, width in WIDTHS.items()}
    show_table(table, {**means, **small})
    facts(["means over questions with 95 % intervals; n and source of each on Triage", "– not measured"])
