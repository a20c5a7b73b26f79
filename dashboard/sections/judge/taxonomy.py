"""The failure labels of a project: how many cases bear each, what it means, and changes to the list."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.charts.judge import MOST_BARS, label_bars
from dashboard.shell.components import clicked, facts, show_table
from dashboard.shell.session import View, open_cases
from dashboard.shell.user import attempt, current_user, may_write, only_reads
from dashboard.wording.escaping import markdown_text, shorten
from dashboard.wording.formatting import count
from data.labels.failure_taxonomy import (
    LabelCount,
    define_label,
    label_counts,
    merge_labels,
    remove_label,
    rename_label,
)

__all__ = ["taxonomy_section"]

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
        rows = [_row(one, view.run.run_id) for one in counts]
        show_table(rows, "Failure labels with their definitions", WIDTHS)
    else:
        st.caption(
            "None yet. Gather them from notes above, give one on Cases beside Fail, or define one here "
            "before you read."
        )
    if may_write():
        _editor(view, ids, counts)
    else:
        only_reads("Changes of the taxonomy")


def _bars(view: View, counts: Sequence[LabelCount]) -> None:
    """Draw the counts of the run on display; a bar opens its cases."""
    here = [one for one in counts if one.by_run.get(view.run.run_id)]
    if not here:
        st.caption("No case of this run has a failure label.")
        return
    hit = clicked(label_bars(here, view.run.run_id), "label_bars", "Cases by failure label")
    facts(
        [
            "cases of this run that at least one person gave the label; a case may bear several",
            f"the {MOST_BARS} most frequent of {len(here):,}" if len(here) > MOST_BARS else "",
            "counts of what was read, not rates of the run: no interval",
            "click a bar for its cases",
        ]
    )
    with st.popover("Open cases of a label"):
        for at, one in enumerate(here[:BUTTONS]):
            title = f"{markdown_text(shorten(one.label, 60))} ({one.by_run[view.run.run_id]:,})"
            if st.button(title, key=f"open_label_{at}", width="stretch"):
                open_cases(failure=one.label)
    if hit is not None:
        open_cases(failure=str(hit[0]))


def _row(one: LabelCount, run_id: str) -> dict[str, object]:
    return {
        "Failure label": one.label,
        "Definition": one.definition or None,
        "Cases, this run": one.by_run.get(run_id, 0),
        "Cases, project": one.cases,
        "Defined by": f"{one.who}, {one.at[:10]}" if one.defined else "not in the taxonomy yet",
    }


def _editor(view: View, ids: Sequence[str], counts: Sequence[LabelCount]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Define a label"):
            _define(view, counts)
        if counts:
            with st.popover("Rename or merge"):
                _rename(view, ids, counts)
        if any(one.defined for one in counts):
            with st.popover("Remove"):
                _remove(view, counts)
        if not current_user():
            st.caption("Give your name above to change the taxonomy.")


def _define(view: View, counts: Sequence[LabelCount]) -> None:
    """Let a person put a label into the taxonomy, or define it anew."""
    known = {one.label: one.definition for one in counts}
    label = st.selectbox(
        "Failure label", list(known), index=None, key="define_label", accept_new_options=True,
        placeholder="choose one, or type a new one", width=340,
    )  # fmt: skip
    key = f"definition_{label}"
    text = st.text_area(
        "Definition: when does a case bear it, and when not?",
        value=known.get(label or "", ""),
        key=key,
        max_chars=LONGEST_DEFINITION,
        placeholder="e.g. The answer names a date that no document states.",
    )

    def save() -> str:
        define_label(view.store.ledger, view.project, label or "", st.session_state[key], current_user())
        return f"Defined **{markdown_text(label or '')}**."

    ready = bool(label and current_user() and (text.strip() or label not in known))
    st.button("Save", key="define", type="primary", disabled=not ready, on_click=attempt, args=(save,))


def _rename(view: View, ids: Sequence[str], counts: Sequence[LabelCount]) -> None:
    """Let a person give a label another name, or make one label of two."""
    known = {one.label: one.cases for one in counts}
    old = st.selectbox("Failure label", list(known), key="rename_from", width=340)
    new = st.selectbox(
        "New name, or the label to merge it into", [one for one in known if one != old], index=None,
        key="rename_to", accept_new_options=True, placeholder="type a new one, or choose one", width=340,
    )  # fmt: skip
    change = merge_labels if new in known else rename_label

    def save() -> str:
        changed = change(view.store.ledger, view.project, ids, old, new or "", current_user())
        st.session_state["rename_to"] = None
        done = "Merged" if new in known else "Renamed"
        return f"{done} into **{markdown_text(new or '')}**: {count(changed, 'label')} of people."

    st.caption(f"Changes the label of {count(known[old], 'case')} over all runs of the project.")
    text = f"Merge into {markdown_text(shorten(new, 40))}" if new in known and new else "Rename"
    ready = bool(new and new != old and current_user())
    st.button(text, key="rename", type="primary", disabled=not ready, on_click=attempt, args=(save,))


def _remove(view: View, counts: Sequence[LabelCount]) -> None:
    """Let a person take a label out of the taxonomy."""
    known = {one.label: one.cases for one in counts if one.defined}
    label = st.selectbox("Failure label", list(known), key="remove_label", width=340)

    def remove() -> str:
        remove_label(view.store.ledger, view.project, label)
        return f"Removed **{markdown_text(label)}** from the taxonomy."

    if known[label]:
        st.caption(f"{count(known[label], 'case')} keep the label; merge it to change them too.")
    st.button("Remove", key="remove", disabled=not current_user(), on_click=attempt, args=(remove,))
