"""Which experiment is on display, its cached summary, and what stands in its place where there is none."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, keep
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.experiments.record import Experiment, experiments
from ragtriage.data.experiments.registry import KINDS
from ragtriage.data.experiments.summary import ExperimentSummary, summary_of_runs
from ragtriage.data.scoring.scored_run import ScoredRun

MOST_OFFERED = 12  # experiments of other projects


def project_experiments(view: View) -> list[Experiment]:
    """List the experiments of the project on display whose kind is known, the newest first."""
    listed = experiments(view.store.workspace)
    return [entry for entry in listed if entry.project == view.project and entry.kind in KINDS]


def chosen_experiment(view: View, listed: list[Experiment]) -> Experiment:
    """Return the experiment that the link names, else that of the run on display, else the newest."""
    wanted = view.selection.experiment or view.run.config.get("experiment")
    return next((entry for entry in listed if entry.experiment_id == wanted), listed[0])


def experiment_picker(listed: list[Experiment], shown: Experiment) -> None:
    """Draw the box with the experiments of the project."""
    titles = {entry.experiment_id: _title(entry) for entry in listed}
    choose(
        "Experiment",
        "experiment",
        list(titles),
        titles,
        {"shown_metric": ""},
        shown=shown.experiment_id,
        width=520,
    )


def _title(entry: Experiment) -> str:
    state = "" if entry.state == "done" else ", unfinished"
    return (
        f"{KINDS[entry.kind].title}: {entry.questions} on {entry.system} ({entry.created_at:%Y-%m-%d}{state})"
    )


def elsewhere(view: View) -> bool:
    """Offer the experiments of other projects; return whether there are any."""
    others = [entry for entry in experiments(view.store.workspace) if entry.project != view.project]
    offered = [entry for entry in others if entry.run_ids and entry.kind in KINDS][:MOST_OFFERED]
    if offered:
        st.caption("Experiments of other projects:")
    for entry in offered:

        def show(entry: Experiment = entry) -> None:
            keep(
                project=entry.project,
                run=entry.run_ids[0],
                experiment=entry.experiment_id,
                **{"baseline": "", "versions": (), "other": "", "case": "", "page": 1},
            )

        label = f"Open {markdown_text(_title(entry))}"
        st.button(label, key=f"experiment_{entry.experiment_id}", on_click=show)
    return bool(offered)


def summary_of(view: View, experiment: Experiment, quality: str = "") -> ExperimentSummary:
    """Return what an experiment shows, computed once for its runs as they are scored now."""
    runs = {run.run_id: run for run in view.runs}
    scored = [view.scored(runs[run_id]) for run_id in experiment.run_ids if run_id in runs]
    return _summary(experiment, scored, quality)


@kept
def _summary(experiment: Experiment, scored: list[ScoredRun], quality: str) -> ExperimentSummary:
    return summary_of_runs(experiment, scored, quality)
