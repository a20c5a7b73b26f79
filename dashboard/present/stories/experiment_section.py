"""The section of a report on the experiment that a run is an arm of."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.dashboard.charts.chart import Chart
from ragtriage.dashboard.experiments.arm_results import arm_chart, arm_table
from ragtriage.dashboard.experiments.registry import experiment_headline, experiment_parts
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.experiments.record import Experiment, find_experiment
from ragtriage.data.experiments.registry import KINDS
from ragtriage.data.experiments.run_experiment import EXPERIMENT
from ragtriage.data.experiments.summary import experiment_summary
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import text_rows


def experiment_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return what the experiment of the run shows."""
    experiment = _experiment_of(view)
    if experiment is None:
        said = "The run is no arm of an experiment."
        return RenderedSection("experiment", "What did the experiment show?", said, measured=False)
    summary = experiment_summary(view.store, experiment)
    parts = experiment_parts(summary)
    table = next((part.table for part in parts if part.is_result and part.table), arm_table(summary))
    drawn = next((part for part in parts if isinstance(part.chart, Chart)), arm_chart(summary))
    return RenderedSection(
        "experiment",
        f"{KINDS[experiment.kind].title}: what did the experiment show?",
        experiment_headline(summary).text,
        chart=drawn.chart if isinstance(drawn.chart, Chart) else None,
        rows=text_rows(table),
        facts=[
            count(experiment.n_questions, "question"),
            summary.source,
            "95 % intervals",
            *([table.note] if table.note else []),
            *experiment.notes,
        ],
        alt=drawn.alt,
    )


def _experiment_of(view: StoryView) -> Experiment | None:
    """Return the experiment of the run, where it is still kept and its kind is known."""
    wanted = view.run.config.get(EXPERIMENT)
    if not isinstance(wanted, str) or not wanted:
        return None
    try:
        experiment = find_experiment(view.store.workspace, wanted)
    except WorkspaceError:
        return None
    return experiment if experiment.kind in KINDS else None
