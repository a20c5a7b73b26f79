"""The failure labels of a project: how many cases have each, its definition, and changes to the taxonomy."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ragtriage.dashboard.charts.judge import MOST_BARS, label_bars
from ragtriage.dashboard.shell.components import clicked, facts, show_table
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.user import attempt, current_user, may_write, only_reads
from ragtriage.dashboard.tables.judge import taxonomy_table
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.labels.failure_taxonomy import (
    LabelCount,
    define_label,
    label_counts,
    merge_labels,
    remove_label,
    rename_label,
)
from ragtriage.metrics.number_text import count

LONGEST_DEFINITION = 600
BUTTONS = 30
WIDTHS = {
    name: st.column_config.Column(width=width)
    for name, width in {
        "Failure label": 230,
        "Definition": 400,
        "Cases, this run": 110,
        "Cases, project": 110,
        "Defined by": 170,
    }.items()
}


def taxonomy_section(view: View, ids: Sequence[str]) -> None:
    """Draw the failure labels with their counts, and the editor of the taxonomy.

    Args:
        view: of the page.
        ids: runs of the project that cases are counted over.
    """
    counts = label_counts(view.store.ledger, view.project, ids)
    st.subheader("Failure labels")
    if counts:
        _bars(view, counts)
        show_table(taxonomy_table(counts, view.run.run_id), WIDTHS)
    else:
        st.caption(
            "None yet. Make them from notes above, give one on Cases beside Fail, or define one here first."
        )
    if may_write():
        _editor(view, ids, counts)
    else:
        only_reads("Changes of the taxonomy")


def _bars(view: View, counts: Sequence[LabelCount]) -> None:
    """Draw the counts of the run on display; a bar opens its cases."""
    here = [label_count for label_count in counts if label_count.by_run.get(view.run.run_id)]
    if not here:
        st.caption("No case of this run has a failure label.")
        return
    hit = clicked(label_bars(here, view.run.run_id), "label_bars", "Cases by failure label")
    facts(
        [
            "cases of this run that at least one annotator gave the label; a case may have several",
            f"the {MOST_BARS} most frequent of {len(here):,}" if len(here) > MOST_BARS else "",
            "counts over reviewed cases, not rates of the run: no interval",
            "click a bar for its cases",
        ]
    )
    with st.popover("Open cases of a label"):
        for at, label_count in enumerate(here[:BUTTONS]):
            title = (
                f"{markdown_text(shorten(label_count.label, 60))} ({label_count.by_run[view.run.run_id]:,})"
            )
            if st.button(title, key=f"open_label_{at}", width="stretch"):
                open_cases(failure=label_count.label)
    if hit is not None:
        open_cases(failure=str(hit[0]))


def _editor(view: View, ids: Sequence[str], counts: Sequence[LabelCount]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Define a label"):
            _define(view, counts)
        if counts:
            with st.popover("Rename or merge"):
                _rename(view, ids, counts)
        if any(label_count.defined for label_count in counts):
            with st.popover("Remove"):
                _remove(view, counts)
        if not current_user():
            st.caption("Give your name above to change the taxonomy.")


def _define(view: View, counts: Sequence[LabelCount]) -> None:
    """Draw the form that adds a label to the taxonomy, or changes its definition."""
    definitions = {label_count.label: label_count.definition for label_count in counts}
    label = st.selectbox(
        "Failure label", list(definitions), index=None, key="define_label", accept_new_options=True,
        placeholder="choose one, or type a new one", width=340,
    )  # fmt: skip
    key = f"definition_{label}"
    text = st.text_area(
        "Definition: when does a case have it, and when not?",
        value=definitions.get(label or "", ""),
        key=key,
        max_chars=LONGEST_DEFINITION,
        placeholder="e.g. The answer names a date that no document states.",
    )

    def save() -> str:
        define_label(view.store.ledger, view.project, label or "", st.session_state[key], current_user())
        return f"Defined **{markdown_text(label or '')}**."

    ready = bool(label and current_user() and (text.strip() or label not in definitions))
    st.button("Save", key="define", type="primary", disabled=not ready, on_click=attempt, args=(save,))


def _rename(view: View, ids: Sequence[str], counts: Sequence[LabelCount]) -> None:
    """Draw the form that renames a label, or merges it into another."""
    cases = {label_count.label: label_count.cases for label_count in counts}
    old = st.selectbox("Failure label", list(cases), key="rename_from", width=340)
    new = st.selectbox(
        "New name, or the label to merge it into", [label for label in cases if label != old], index=None,
        key="rename_to", accept_new_options=True, placeholder="type a new one, or choose one", width=340,
    )  # fmt: skip
    change = merge_labels if new in cases else rename_label

    def save() -> str:
        changed = change(view.store.ledger, view.project, ids, old, new or "", current_user())
        st.session_state["rename_to"] = None
        action = "Merged" if new in cases else "Renamed"
        return f"{action} into **{markdown_text(new or '')}**: {count(changed, 'human label')}."

    st.caption(f"Changes the label of {count(cases[old], 'case')} over all runs of the project.")
    text = f"Merge into {markdown_text(shorten(new, 40))}" if new in cases and new else "Rename"
    ready = bool(new and new != old and current_user())
    st.button(text, key="rename", type="primary", disabled=not ready, on_click=attempt, args=(save,))


def _remove(view: View, counts: Sequence[LabelCount]) -> None:
    """Draw the form that removes a label from the taxonomy."""
    cases = {label_count.label: label_count.cases for label_count in counts if label_count.defined}
    label = st.selectbox("Failure label", list(cases), key="remove_label", width=340)

    def remove() -> str:
        remove_label(view.store.ledger, view.project, label)
        return f"Removed **{markdown_text(label)}** from the taxonomy."

    if cases[label]:
        st.caption(f"{count(cases[label], 'case')} keep the label; merge it to change them too.")
    st.button("Remove", key="remove", disabled=not current_user(), on_click=attempt, args=(remove,))
