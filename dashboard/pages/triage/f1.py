"""The F1 tree on the Triage page: what costs F1, the cases behind it, and what the team expects to gain."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.stages.f1_tree import f1_bars
from ragtriage.dashboard.shell.blocks import bundled_example
from ragtriage.dashboard.shell.components import clicked, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.user import attempt, current_user, may_write, name_box, only_reads
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.tables.f1_tree import expected_table, f1_table
from ragtriage.dashboard.wording.escaping import capital, markdown_text
from ragtriage.dashboard.wording.f1_tree import (
    BOUND_NOTE,
    expected_text,
    f1_sentence,
    largest_leaf,
    left_out_text,
    part_title,
)
from ragtriage.data.comparison.published_results import SCALE_TITLES, band_scale
from ragtriage.data.diagnosis.f1_tree import F1Diagnosis, f1_diagnosis
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.strategy.expected_gains import expect_gain, outlook_of, undo_gain
from ragtriage.metrics.diagnosis.f1_tree import F1Tree
from ragtriage.metrics.number_text import signed

_PART, _GAIN, _MEASURE = "expected_part", "expected_gain", "expected_measure"


@kept
def _f1(scored: ScoredRun) -> F1Diagnosis:
    return f1_diagnosis(scored)


def f1_section(view: View) -> None:
    """Draw the tree of a run, its table, what to try, and the expected gains."""
    diagnosis = _f1(view.scored(view.run))
    st.markdown(f"**{markdown_text(f1_sentence(diagnosis))}**")
    tree = diagnosis.tree
    if tree is None:
        st.caption(f"`ragtriage judge {view.run.run_id}` has the claims of answers and references labelled.")
        bundled_example("handbook", "V1 baseline", "shows why F1 is low")
        return
    bar = clicked(plotly_figure(f1_bars(tree)), "f1_tree", "F1 that each perfect part would add, at most")
    if bar is not None and bar[0]:
        open_cases(cohort=bar[0])
    facts(
        [
            "click a bar to open its cases",
            BOUND_NOTE,
            left_out_text(diagnosis),
            f"source: {markdown_text(diagnosis.sources)}",
        ]
    )
    _part_table(view, tree)
    _expected(view, tree)


def _part_table(view: View, tree: F1Tree) -> None:
    scale = band_scale(
        view.store.workspace, choose("Bands", "bands", list(SCALE_TITLES), SCALE_TITLES, width=320)
    )
    show_table(f1_table(tree, scale))
    parts = {branch.part.key: branch for branch in tree.branches if branch.n_cases}
    if not parts:
        return
    leaf = largest_leaf(tree)
    first = 0 if leaf is None else list(parts).index(leaf.part.key)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = st.selectbox("Part", list(parts), first, format_func=part_title, key="f1_part", width=320)
        if st.button(f"Open its {parts[key].n_cases:,} cases", key="open_f1_part"):
            open_cases(cohort=f"f1:{key}")
    st.markdown("\n".join(f"- {measure}" for measure in parts[key].part.measures))


def _expected(view: View, tree: F1Tree) -> None:
    """Draw what the team expects its measures to bring: assumptions, apart from what is computed."""
    st.markdown("#### What you expect to gain")
    st.caption(
        "Assumptions of the team, not computed: entered with name and date, added up, and held against the "
        "next run of the project."
    )
    outlook = outlook_of(view.store, view.run, tree)
    if outlook.gains:
        show_table(expected_table(outlook.gains))
        st.markdown(markdown_text(expected_text(outlook)))
    for caution in outlook.cautions:
        st.caption(f"⚠ {markdown_text(capital(caution))}.")
    if may_write():
        _expectation_form(view, tree)
    else:
        only_reads("Expected gains")


def _expectation_form(view: View, tree: F1Tree) -> None:
    keys = [branch.part.key for branch in tree.branches if branch.part.costs_f1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Measure", key=_MEASURE, max_chars=200, placeholder="What is to be done", width=300)
        st.selectbox("Works on", keys, format_func=part_title, key=_PART, width=260)
        st.number_input(
            "Expected F1", min_value=0.01, max_value=1.0, step=0.01, value=0.02, key=_GAIN, width=130
        )
        name_box()
        named = bool(current_user())
        st.button("Add", key="expect_add", disabled=not named, on_click=_add, args=(view,))
        st.button(
            "Undo", key="expect_undo", disabled=not named, type="tertiary", on_click=_undo, args=(view,)
        )


def _add(view: View) -> None:
    def change() -> None:
        chosen = st.session_state
        expect_gain(
            view.store.ledger,
            view.run.run_id,
            chosen[_PART],
            float(chosen[_GAIN]),
            chosen[_MEASURE],
            current_user(),
        )

    attempt(change)


def _undo(view: View) -> None:
    def change() -> str:
        entry = undo_gain(view.store.ledger, view.run.run_id, current_user())
        if entry is None:
            return "You have no entry on this run."
        return f"Removed: {markdown_text(entry.measure or part_title(entry.part))} {signed(entry.gain)}"

    attempt(change)
