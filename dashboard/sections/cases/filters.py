"""The filters of the Cases page, all kept in the URL, and the rows that they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from dashboard.shell.components import metric_title
from dashboard.shell.session import View, current_selection, keep
from dashboard.shell.widgets import choose, search, show_in, toggle
from dashboard.wording.escaping import markdown_text
from data.cases.cases import case_rows
from data.cases.cohorts import cohort_title
from data.cases.comparison_cohorts import changed_cohort, newly_failing_baseline, oracle_gap_cohort
from data.comparison.newly_failing import newly_failing
from data.comparison.oracle_gap import lost_rows
from data.comparison.question_matrix import changed_rows
from data.diagnosis.diagnosis import Diagnosis
from data.errors import DataError
from metrics.diagnosis.patterns import PATTERNS
from metrics.diagnosis.stages import STAGES
from metrics.metric_registry import ordered
from metrics.schema.scores import IntArray

__all__ = [
    "filtered_rows",
    "filters",
]

FIRST_PAGE = {"page": 1, "case": ""}
ANY = "All"
YES_NO = {"": ANY, "yes": "Yes", "no": "No"}
LABELS = {"": ANY, "any": "Labelled", "none": "Not labelled", "pass": "Pass", "fail": "Fail"}


def filters(view: View, diagnosis: Diagnosis) -> None:
    """Draw the filters."""
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
    if current_selection().cohort:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Only cases where **{markdown_text(cohort_title(current_selection().cohort))}**")
            st.button("Show all", key="clear_mark", on_click=lambda: keep(cohort="", **FIRST_PAGE))


def sort_options(diagnosis: Diagnosis) -> dict[str, str]:
    """Return the ways to sort the list: as imported, most reasons to be bad, or by a metric."""
    scored = diagnosis.scored
    usual = [name for name in ordered(scored.metrics) if "@" not in name or name.endswith("@5")]
    shown = [name for name in usual if np.isfinite(scored.values(name)).any()]
    return {"": "As imported", "worst": "Worst first", **{name: metric_title(name) for name in shown}}


def _more_filters(view: View, diagnosis: Diagnosis) -> None:
    labels = [label for labels in diagnosis.human_labels.labels.values() for label in labels]
    failures = sorted({label.failure for label in labels if label.failure})
    annotators = sorted({label.annotator for label in labels})
    slices = [by for by in diagnosis.scored.slices if len(by.labels) <= 40]
    if not (failures or annotators or slices):
        return
    active = bool(view.selection.slices or view.selection.failure or view.selection.annotator)
    with (
        st.expander("More filters: tags, question types, annotators", expanded=active),
        st.container(horizontal=True),
    ):
        if failures:
            choose("Failure label", "failure", ["", *failures], lambda key: key or ANY, FIRST_PAGE, width=190)
        if annotators:
            choose(
                "Labelled by", "annotator", ["", *annotators], lambda key: key or ANY, FIRST_PAGE, width=190
            )
        for by in slices[:12]:
            _slice_filter(by.name, by.labels)


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
    slices = {other: value for other, value in current_selection().slices.items() if other != name}
    if st.session_state[key]:
        slices[name] = st.session_state[key]
    keep(slices=slices, page=1, case="")


def filtered_rows(view: View, diagnosis: Diagnosis) -> IntArray:
    """Return the rows of a run that the selection's filter keeps, in its order.

    Raises:
        DataError: the cohort names a run that is not in the project.
    """
    chosen = view.selection.filter()
    baseline = newly_failing_baseline(chosen.cohort)
    gap, changed = oracle_gap_cohort(chosen.cohort), changed_cohort(chosen.cohort)
    if changed is not None:
        before = next((run for run in view.sampled if run.run_id == changed.baseline), None)
        if before is None:
            raise DataError(
                f"cohort {chosen.cohort[:60]!r}: run {changed.baseline[:20]!r} is not in {view.project}; "
                "accepted: the id of a run with samples"
            )
        kept = changed_rows(view.diagnosis(before), diagnosis, changed.metric, changed.sign)
    elif baseline is not None:
        base = next((run for run in view.store.runs() if run.run_id == baseline and not run.means), None)
        if base is None:
            raise DataError(
                f"cohort {chosen.cohort[:60]!r}: no run {baseline[:20]!r}; accepted: the id of a run "
                "with samples"
            )
        kept = newly_failing(view.usual_diagnosis(base), view.usual_diagnosis(view.run)).samples
    elif gap is not None:
        oracle = next((run for run in view.sampled if run.run_id == gap.oracle), None)
        if oracle is None:
            raise DataError(
                f"cohort {chosen.cohort[:60]!r}: run {gap.oracle[:20]!r} is not in {view.project}; accepted: "
                "the id of a run with answers from the gold documents"
            )
        kept = lost_rows(diagnosis, view.diagnosis(oracle), gap.outcome_metric, gap.component)
    else:
        return case_rows(diagnosis, chosen)
    rows = case_rows(diagnosis, replace(chosen, cohort=""))
    return np.asarray(rows[kept[rows]], dtype=np.int64)
