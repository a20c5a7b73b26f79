"""The experiment on display: its choice, its findings and its arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.experiments.registry import experiment_parts
from ragtriage.dashboard.experiments.view import Opening, Part, arm_table
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import choose_row, clicked, draw, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, go_to_page, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.experiments.experiment import ArmRecord, Experiment, experiments
from ragtriage.data.experiments.registry import KINDS
from ragtriage.data.experiments.summary import ExperimentSummary, summary_of_runs
from ragtriage.metrics.number_text import count

MOST_OFFERED = 12  # experiments of other projects


def show_experiment(view: View, summary: ExperimentSummary) -> None:
    """Draw the parts of an experiment, a part beside the one before it where it says so, then its arms."""
    parts = experiment_parts(summary)
    for at, part in enumerate(parts):
        after = parts[at + 1] if at + 1 < len(parts) else None
        if part.beside and at:
            continue  # drawn with the part before it
        if after is not None and after.beside:
            left, right = st.columns([1.5, 1], gap="medium")
            with left:
                _show(view, part)
            with right:
                _show(view, after)
        else:
            _show(view, part)
    # list the arms; a chosen one can be opened, and compared with the first
    st.markdown("##### Arms")
    chosen = choose_row(arm_table(summary), "arms_table", "choose a row to open its cases or to compare it")
    if chosen is not None:
        _arm_buttons(view, summary, summary.arms[chosen].arm)


def _show(view: View, part: Part) -> None:
    if part.heading:
        st.markdown(f"##### {markdown_text(part.heading)}")
    if part.chart is not None:
        _show_chart(view, part)
    facts(*[markdown_text(text) for text in part.facts])
    if part.table is not None and part.folded:
        with st.expander(part.folded):
            show_table(part.table)
    elif part.table is not None and part.rows:
        chosen = choose_row(part.table, part.key or "rows", "choose a row to open the case as asked")
        if chosen is not None:
            _buttons(view, [part.rows[chosen]])
    elif part.table is not None:
        show_table(part.table)
    _buttons(view, part.openings)


def _show_chart(view: View, part: Part) -> None:
    theme: Literal["streamlit"] | None = None
    if callable(part.chart):
        figure = part.chart(THEMES[current_theme()])
    elif part.chart is not None:
        figure, theme = plotly_figure(part.chart), "streamlit"
    if part.cells is None:
        draw(figure, part.key, part.alt, theme=theme)
        return
    point = clicked(figure, part.key, part.alt, theme=theme)
    opening = None if point is None else part.cells(point)
    if opening is not None:
        open_cases(project=view.project, **opening.selection)


def _buttons(view: View, openings: Sequence[Opening]) -> None:
    if not openings:
        return
    with st.container(horizontal=True):
        for at, opening in enumerate(openings):
            if st.button(markdown_text(opening.label), key=f"open_{at}_{opening.label}"):
                if opening.page == "cases":
                    open_cases(project=view.project, **opening.selection)
                else:
                    go_to_page(opening.page, **opening.selection)


def _arm_buttons(view: View, summary: ExperimentSummary, arm: ArmRecord) -> None:
    if not arm.run_id:
        st.caption("This arm has no run yet: the same command goes on from here.")
        return
    openings = [Opening(f"Cases of {arm.title}", {"run": arm.run_id})]
    if others := tuple(run_id for run_id in summary.experiment.run_ids if run_id != arm.run_id):
        together = {"run": others[0], "baseline": arm.run_id, "versions": others, "other": ""}
        openings.append(Opening("Compare all arms with this one", together, "compare"))
    _buttons(view, openings)


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


def elsewhere(view: View) -> None:
    """Offer the experiments of other projects, folded away."""
    others = [entry for entry in experiments(view.store.workspace) if entry.project != view.project]
    offered = [entry for entry in others if entry.run_ids and entry.kind in KINDS][:MOST_OFFERED]
    if not offered:
        return
    box = st.expander(f"{count(len(offered), 'experiment')} of other projects")
    for entry in offered:

        def show(entry: Experiment = entry) -> None:
            keep(
                project=entry.project,
                run=entry.run_ids[0],
                experiment=entry.experiment_id,
                **{"baseline": "", "versions": (), "other": "", "case": "", "page": 1},
            )

        label = f"Open {markdown_text(_title(entry))}"
        box.button(label, key=f"experiment_{entry.experiment_id}", type="tertiary", on_click=show)


def summary_of(view: View, experiment: Experiment, quality: str = "") -> ExperimentSummary:
    """Return what an experiment shows, computed once for its runs as they are scored now."""
    runs = {run.run_id: run for run in view.runs}
    scored = [view.scored(runs[run_id]) for run_id in experiment.run_ids if run_id in runs]
    return _summary(experiment, scored, quality)


_summary = kept(summary_of_runs)
