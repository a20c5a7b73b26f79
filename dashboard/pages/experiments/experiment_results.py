"""The chosen experiment: its picture, the questions that turn, its other findings and its arms."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.experiments.registry import effect_of, experiment_parts
from ragtriage.dashboard.experiments.view import Opening, Part, ShownEffect, arm_table
from ragtriage.dashboard.pages.experiments.experiment_list import MOST_SHOWN, title_of
from ragtriage.dashboard.shell.components import (
    choose_row,
    clicked,
    current_theme,
    draw,
    facts,
    how_measured,
    show_table,
)
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, go_to_page, keep, open_cases
from ragtriage.dashboard.shell.widgets import draw_folded, draw_tabs
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.experiments.experiment import ArmRecord, Experiment, experiments
from ragtriage.data.experiments.registry import (
    KINDS,
    ExperimentSummary,
    kind_of,
    summary_of_runs,
    turned_questions,
)
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import ResultTable

MOST_TURNED = 8
MOST_OFFERED = 12  # experiments of other projects


def show_chosen(view: View, summary: ExperimentSummary) -> None:
    """Draw the picture of an experiment, with what its numbers rest on behind one line."""
    first = experiment_parts(summary)[0]
    st.markdown(f"##### {markdown_text(first.heading or kind_of(summary.experiment.kind).title)}")
    if first.chart is not None:
        _show_chart(view, first)
    elif first.table is not None:
        show_table(replace(first.table, note=""))
    _buttons(view, first.openings)
    notes = [text for part in experiment_parts(summary) for text in part.facts]
    notes += [arm_table(summary).note, *summary.experiment.notes]
    changes = kind_of(summary.experiment.kind).changes
    system = f"Changed: {changes}. System: {summary.experiment.system}. Every arm asks the same questions."
    how_measured(*map(markdown_text, [system, *notes]))


def experiment_tabs(view: View, summary: ExperimentSummary) -> None:
    """Draw the questions that turn, the other parts of the experiment, and its arms, each as a tab."""
    effect, tabs = effect_of(summary), dict[str, tuple[str, Callable[[], object]]]()
    if effect is not None and all(effect.arms):
        tabs["questions"] = ("Questions that turn", lambda: _turned(view, summary, effect))
    first, *others = experiment_parts(summary)
    kept_table = replace(first, heading="", chart=None, facts=(), openings=(), folded="")
    parts = [*([kept_table] if first.table is not None and first.chart is not None else []), *others]
    for at, part in enumerate(part for part in parts if part.chart is not None or part.table is not None):
        title = part.heading or (part.table.title if part.table is not None else part.alt)
        tabs[f"part{at}"] = (markdown_text(title), partial(_show, view, replace(part, heading="", folded="")))
    tabs["arms"] = ("Arms", lambda: _arms(view, summary))
    draw_tabs(tabs, "experiment_tabs")


def _arms(view: View, summary: ExperimentSummary) -> None:
    """List the arms; a chosen one can be opened, and compared with the first."""
    chosen = choose_row(arm_table(summary), "arms_table", "choose a row to open its cases or to compare it")
    if chosen is not None:
        _arm_buttons(view, summary, summary.arms[chosen].arm)


def _turned(view: View, summary: ExperimentSummary, effect: ShownEffect) -> None:
    """List the questions that pass under one of two conditions alone; a row opens its case."""
    runs = {run.run_id: run for run in view.runs}
    if not all(run_id in runs for run_id in effect.arms):
        st.caption("A run of this experiment was deleted.")
        return
    first, second = (runs[run_id] for run_id in effect.arms)
    turned = _turned_questions(view.scored(first), view.scored(second), summary.quality)
    lost = sum(question.is_lost for question in turned)
    before, after = view.labels[first.run_id], view.labels[second.run_id]
    with st.container(horizontal=True, vertical_alignment="center"):
        won = len(turned) - lost
        turn = f"{count(lost, 'question')} turned wrong and {won:,} right, from {before} to {after}"
        st.markdown(markdown_text(turn), width="stretch")
        together = {"run": second.run_id, "baseline": first.run_id, "versions": (second.run_id,), "other": ""}
        _buttons(view, [Opening("Compare the two arms", together, "compare")])
    if not turned:
        return
    rows = tuple(
        {
            "": "✕" if question.is_lost else "✓",
            "Question": shorten(question.question, 90),
            shorten(before, 40): shorten(question.first, 90),
            shorten(after, 40): shorten(question.second, 90),
        }
        for question in turned[:MOST_TURNED]
    )
    rest = f"the first {MOST_TURNED} of {len(turned):,}, all on Compare; " if turned[MOST_TURNED:] else ""
    table = ResultTable("Questions that turn", rows)
    chosen = choose_row(table, "turned", f"{rest}click a row for its case")
    if chosen is not None:
        open_cases(project=view.project, run=second.run_id, case=f"{turned[chosen].question_id}~0")


def _show(view: View, part: Part) -> None:
    if part.heading:
        st.markdown(f"##### {markdown_text(part.heading)}")
    if part.chart is not None:
        _show_chart(view, part)
    facts(*[markdown_text(text) for text in part.facts])
    if part.table is not None and part.folded:
        key = f"experiment_{re.sub(r'[^a-z]+', '_', part.folded.lower())}"
        draw_folded(part.folded, key, partial(show_table, part.table))
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

        label = f"Open {markdown_text(title_of(entry))}"
        box.button(label, key=f"experiment_{entry.experiment_id}", type="tertiary", on_click=show)


def summaries_of(
    view: View, listed: Sequence[Experiment], chosen: Experiment
) -> dict[str, ExperimentSummary]:
    """Return what the newest experiments of a project and the chosen one show, by their id."""
    shown = [chosen, *(entry for entry in listed if entry != chosen)][:MOST_SHOWN]
    return {entry.experiment_id: summary_of(view, entry) for entry in shown}


def summary_of(view: View, experiment: Experiment, quality: str = "") -> ExperimentSummary:
    """Return what an experiment shows, computed once for its runs as they are scored now."""
    runs = {run.run_id: run for run in view.runs}
    scored = [view.scored(runs[run_id]) for run_id in experiment.run_ids if run_id in runs]
    return _summary(experiment, scored, quality)


_summary = kept(summary_of_runs)
_turned_questions = kept(turned_questions)
