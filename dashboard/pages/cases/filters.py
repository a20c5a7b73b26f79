"""The filters of the Cases page, all kept in the URL, and the rows that they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from ragtriage.dashboard.headlines.cases import stage_counts
from ragtriage.dashboard.pages.cases.counts import short_name
from ragtriage.dashboard.shell.components import metric_title
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep
from ragtriage.dashboard.shell.widgets import choose, search, show_in, toggle
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.cases.cases import CaseFilter, case_rows, keep_mask, stage_order
from ragtriage.data.cases.cohorts import cohort_title
from ragtriage.data.cases.comparison_cohorts import changed_cohort, newly_failing_baseline, oracle_gap_cohort
from ragtriage.data.comparison.oracle_gap import lost_rows
from ragtriage.data.comparison.question_changes import changed_rows, newly_failing
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.patterns import PATTERNS
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.metric_registry import ordered
from ragtriage.metrics.schema.scores import IntArray

FIRST_PAGE = {"page": 1, "case": ""}
ANY = "All"
YES_NO = {"": ANY, "yes": "Yes", "no": "No"}
AS_IMPORTED = "imported"
NAMED_ORDERS = {"": "Fix first, then worst", "worst": "Most reasons first", AS_IMPORTED: "As imported"}
LABELS = {"": ANY, "any": "Labelled", "none": "Not labelled", "pass": "Pass", "fail": "Fail"}


def filter_bar(diagnosis: Diagnosis, candidates: IntArray) -> None:
    """Draw the filters: a chip for each state with its count, the search, the rest in a popover.

    Args:
        diagnosis: of the run.
        candidates: the rows that all filters but the chips keep; the chips count them.
    """
    _state_chips(diagnosis, candidates)
    chosen = current_selection()
    others = [chosen.pattern, chosen.refused, chosen.label, chosen.failure, chosen.annotator, *chosen.slices]
    active = sum(bool(value) for value in others)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        search("Search", "text", "Search question, answer, id", FIRST_PAGE, label_visibility="collapsed")
        with st.popover(
            f"{active} more" if active else "More",
            icon=":material/tune:",
            help="Filter by pattern, refusal, labels or tags, and order the list",
            key="more_filters",
        ):
            _popover(diagnosis)
        if current_selection().unfiltered() != current_selection().with_(case=""):
            st.button("Clear filters", key="clear", type="tertiary", on_click=_clear_filters)
    if chosen.cohort:
        st.markdown(f"Only cases where **{markdown_text(cohort_title(chosen.cohort))}**")


def _state_chips(diagnosis: Diagnosis, candidates: IntArray) -> None:
    """Draw a chip for all bad cases, for each failure stage that has some, and for the good ones."""
    bad = diagnosis.bad.bad[candidates]
    good = int((diagnosis.measured[candidates] & ~bad).sum())
    stages = stage_counts(diagnosis, candidates)
    chosen = current_selection()
    if chosen.stage:
        stages.setdefault(chosen.stage, 0)
    chips = {"bad": f"Bad {int(bad.sum()):,}"} if len(stages) != 1 or chosen.bad == "yes" else {}
    chips |= {key: f"{short_name(STAGES[stage_code(key)])} {n:,}" for key, n in stages.items()}
    chips |= {"good": f"Good {good:,}"} if good or chosen.bad == "no" else {}
    show_in("state_chips", chosen.stage or {"yes": "bad", "no": "good"}.get(chosen.bad))
    st.pills(
        "State of the cases",
        list(chips),
        format_func=chips.__getitem__,
        key="state_chips",
        label_visibility="collapsed",
        wrap=False,
        on_change=_take_state,
    )


def _take_state() -> None:
    state = st.session_state["state_chips"]
    flag = {"bad": "yes", "good": "no"}.get(state, "")
    keep(**FIRST_PAGE, bad=flag, stage="" if flag or state is None else state)


def _popover(diagnosis: Diagnosis) -> None:
    patterns = {"": ANY, **{entry.key: entry.title for entry in PATTERNS}}
    choose("Pattern of the metrics", "pattern", list(patterns), patterns, FIRST_PAGE)
    with st.container(horizontal=True):
        choose("Refused", "refused", list(YES_NO), YES_NO, FIRST_PAGE, width=120)
        choose("Labels", "label", list(LABELS), LABELS, FIRST_PAGE, width=150)
    _more_filters(diagnosis)
    orders = sort_options(diagnosis)
    choose("Order", "sort", list(orders), orders, FIRST_PAGE)
    if current_selection().sort not in NAMED_ORDERS:
        toggle("Highest first", "descending", FIRST_PAGE)


def _clear_filters() -> None:
    keep(**vars(current_selection().unfiltered()))


def order_text() -> str:
    """Return in which order the list stands, as the end of a sentence."""
    sort = current_selection().sort
    if sort in NAMED_ORDERS:
        return NAMED_ORDERS[sort].lower()
    return f"by {metric_title(sort)}, {'highest' if current_selection().descending else 'lowest'} first"


def sort_options(diagnosis: Diagnosis) -> dict[str, str]:
    """Return the ways to sort the list: by what to fix first, most reasons to be bad, or by a metric."""
    scored = diagnosis.scored
    usual = [name for name in ordered(scored.metrics) if "@" not in name or name.endswith("@5")]
    shown = [name for name in usual if np.isfinite(scored.values(name)).any()]
    return {**NAMED_ORDERS, **{name: metric_title(name) for name in shown}}


def _more_filters(diagnosis: Diagnosis) -> None:
    labels = [label for labels in diagnosis.human_labels.labels.values() for label in labels]
    failures = sorted({label.failure for label in labels if label.failure})
    annotators = sorted({label.annotator for label in labels})
    slices = [by for by in diagnosis.scored.slices if len(by.labels) <= 40]
    if not (failures or annotators or slices):
        return
    st.markdown("Labels, tags and question types")
    with st.container(horizontal=True):
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


def listed_rows(view: View, diagnosis: Diagnosis) -> tuple[IntArray, IntArray]:
    """Return the rows that all filters but the state keep, and those of them in the chosen state, in order.

    Raises:
        DataError: the cohort names a run that is not in the project.
    """
    chosen = replace(view.selection.filter(), stage="", bad=None)
    sort = view.selection.sort
    rows = _filtered_rows(view, diagnosis, replace(chosen, sort="") if sort in ("", AS_IMPORTED) else chosen)
    if not sort:
        kept = np.zeros(diagnosis.scored.n, dtype=np.bool_)
        kept[rows] = True
        order = fix_first_order(diagnosis)
        rows = order[kept[order]]
    of_state = keep_mask(diagnosis, CaseFilter(stage=view.selection.stage, bad=view.selection.filter().bad))
    return rows, rows[of_state[rows]]


def fix_first_order(diagnosis: Diagnosis) -> IntArray:
    """(n,) the rows in the usual order: by stages as they are to be fixed, the worst first.

    Labels count for nothing in it, so that a case keeps its place when it is labelled.
    """
    unlabelled = diagnosis
    if diagnosis.human_labels.labels:
        unlabelled = _without_labels(diagnosis.scored, diagnosis.settings)
    return _fix_first_order(unlabelled)


@kept
def _without_labels(scored: ScoredRun, settings: DiagnosisSettings) -> Diagnosis:
    return diagnose(scored, settings)


@kept
def _fix_first_order(diagnosis: Diagnosis) -> IntArray:
    return stage_order(diagnosis)


def _filtered_rows(view: View, diagnosis: Diagnosis, chosen: CaseFilter) -> IntArray:
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
