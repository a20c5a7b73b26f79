"""The filters of the Cases page; every one of them is part of the URL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.controls import choose, search, show_in, toggle
from dashboard.drawing import metric_title
from dashboard.session import View, current_selection, keep
from dashboard.text import markdown_text
from data.diagnoses import Diagnosis
from data.marks import mark_title
from metrics.catalogue import ordered
from metrics.diagnosis import PATTERNS
from metrics.stages import STAGES

__all__ = ["filters"]

FIRST_PAGE = {"page": 1, "case": ""}
ANY = "All"
YES_NO = {"": ANY, "yes": "Yes", "no": "No"}
LABELS = {"": ANY, "any": "Labelled", "none": "Not labelled", "pass": "Pass", "fail": "Fail"}


def filters(view: View, diagnosis: Diagnosis) -> None:
    """Draw the filters; every one of them is part of the URL."""
    search("Search", "text", "words in question, answer, reference or id", FIRST_PAGE)
    patterns = {"": ANY, **{entry.key: entry.title for entry in PATTERNS}}
    stages = {"": ANY, **{stage.key: stage.title for stage in STAGES}}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choose("Pattern", "pattern", list(patterns), patterns, FIRST_PAGE, width=190)
        choose("Failure stage", "stage", list(stages), stages, FIRST_PAGE, width=190)
        choose("Bad", "bad", list(YES_NO), YES_NO, FIRST_PAGE, width=90)
        choose("Refused", "refused", list(YES_NO), YES_NO, FIRST_PAGE, width=90)
        choose("Labels", "label", list(LABELS), LABELS, FIRST_PAGE, width=130)
        orders = sort_options(diagnosis)
        choose("Order", "sort", list(orders), orders, FIRST_PAGE, width=190)
        if current_selection().sort not in ("", "worst"):
            toggle("Highest first", "descending", FIRST_PAGE)
    _more_filters(view, diagnosis)
    if current_selection().mark:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Only cases where **{markdown_text(mark_title(current_selection().mark))}**")
            st.button("Show all", key="clear_mark", on_click=lambda: keep(mark="", **FIRST_PAGE))


def sort_options(diagnosis: Diagnosis) -> dict[str, str]:
    """Give the orders of a list: as imported, most reasons to be bad, or by a metric."""
    table = diagnosis.table
    measured = [name for name in ordered(table.metrics) if np.isfinite(table.values(name)).any()]
    shown = [name for name in measured if "@" not in name or name.endswith("@5")]
    return {"": "As imported", "worst": "Worst first", **{name: metric_title(name) for name in shown}}


def _more_filters(view: View, diagnosis: Diagnosis) -> None:
    failures = sorted(
        {one.failure for labels in diagnosis.people.labels.values() for one in labels if one.failure}
    )
    people = sorted({one.annotator for labels in diagnosis.people.labels.values() for one in labels})
    slices = [one for one in diagnosis.table.slices if len(one.labels) <= 40]
    if not (failures or people or slices):
        return
    active = bool(view.selection.slices or view.selection.failure or view.selection.annotator)
    with st.expander("More filters: tags, types, people", expanded=active), st.container(horizontal=True):
        if failures:
            choose("Failure label", "failure", ["", *failures], lambda key: key or ANY, FIRST_PAGE, width=190)
        if people:
            choose("Labelled by", "annotator", ["", *people], lambda key: key or ANY, FIRST_PAGE, width=190)
        for one in slices[:12]:
            _slice_filter(one.name, one.labels)


def _slice_filter(name: str, labels: Sequence[str]) -> None:
    key = f"slice_{name}"
    value = current_selection().slices.get(name, "")
    show_in(key, value if value in labels else "")
    st.selectbox(
        markdown_text(name),
        ["", *labels],
        format_func=lambda label: label or ANY,
        key=key,
        on_change=_take_slice,
        args=(name, key),
        width=190,
    )


def _take_slice(name: str, key: str) -> None:
    slices = {one: value for one, value in current_selection().slices.items() if one != name}
    if st.session_state[key]:
        slices[name] = st.session_state[key]
    keep(slices=slices, page=1, case="")
