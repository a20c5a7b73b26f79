"""The list of cases, its filters, and how many cases they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from ragtriage.dashboard.charts.tokens import THEMES, Tokens
from ragtriage.dashboard.headlines.cases import (
    cases_headline,
    count_cases,
    none_contradicted,
    stage_counts,
)
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.present.page_html.pictures import ScoreBar, score_bars
from ragtriage.dashboard.shell.components import current_theme, facts, metric_title, tool_downloads
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep
from ragtriage.dashboard.shell.widgets import choose, search, show_in, toggle
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.cases.cases import CaseFilter, CasePage, case_rows, keep_mask, stage_order
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.comparison_cohorts import changed_cohort, newly_failing_baseline, oracle_gap_cohort
from ragtriage.data.cases.export import export_rows
from ragtriage.data.comparison.oracle_gap import lost_rows
from ragtriage.data.comparison.question_changes import changed_rows, newly_failing
from ragtriage.data.diagnosis.diagnosis import Diagnosis, diagnose, row_of
from ragtriage.data.diagnosis.doubts import pass_rate_doubts
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.patterns import PATTERNS
from ragtriage.metrics.diagnosis.stages import STAGES, FailureStage, stage_code
from ragtriage.metrics.metric_registry import ordered
from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import IntArray

MARKS = {"pass": "✓", "fail": "✗", None: "✎"}  # of human labels
KEY = "case_list"
ROW_HEIGHT, HEADER_HEIGHT, LIST_HEIGHT = 34, 34, 478
SCORES = "C F R"
STATE_HELP = "Failure stage of a bad case. The evidence is shown with the open case."
SCORES_HELP = (
    "Context metric, faithfulness and answer relevancy from 0 to 1. The line across each bar is the case "
    "threshold; a dashed box was not measured."
)
FIRST_PAGE = {"page": 1, "case": ""}
ANY = "All"
YES_NO = {"": ANY, "yes": "Yes", "no": "No"}
AS_IMPORTED = "imported"
NAMED_ORDERS = {"": "Sorted by priority", "worst": "Most reasons first", AS_IMPORTED: "As imported"}
CONTRADICTED = "answer:contradicted"
KINDS = {  # cohorts of answers that the filters offer, each with its number of cases
    CONTRADICTED: "Contradicted",
    "refusal:over_refusal": "Needlessly refused",
    "answer:right_without_context": "Right without context",
}
LABELS = {"": ANY, "any": "Labelled", "none": "Not labelled", "pass": "Pass", "fail": "Fail"}


def case_list(page: CasePage, diagnosis: Diagnosis, current: int | None) -> None:
    """Draw one page of the list; a click anywhere on a row opens its case."""
    tokens = THEMES[current_theme()]
    frame = pd.DataFrame([_list_row(case, diagnosis, tokens) for case in page.cases])
    open_row = [case["row"] for case in page.cases].index(current) if current is not None else -1
    colour = f"background-color: {tokens.sequential[1]}"
    # the states on a page with whose each is
    cells = frame["State"]
    owners = {short_name(stage): str(stage.owner) for stage in STAGES}
    names = sorted({name for cell in cells for name in cell})
    states = {name: owners.get(name, "good" if name == "Good" else "") for name in names}
    st.dataframe(
        # A selected row would draw a column of check boxes: the open case is a coloured row instead
        frame.style.apply(lambda row: [colour if row.name == open_row else ""] * len(row), axis=1),
        hide_index=True,
        key=KEY,
        on_select=lambda: _open_selected(page.cases),
        selection_mode="single-cell",
        row_height=ROW_HEIGHT,
        height=min(HEADER_HEIGHT + ROW_HEIGHT * max(len(page.cases), 1) + 2, LIST_HEIGHT),
        column_config={
            "State": st.column_config.MultiselectColumn(
                width=108,
                help=STATE_HELP,
                options=list(states),
                color=[_state_colour(owner, tokens) for owner in states.values()],
            ),
            SCORES: st.column_config.ImageColumn(width=74, help=SCORES_HELP),
            "✎": st.column_config.TextColumn(width=34, help="Human labels"),
            "Question": st.column_config.TextColumn(),
        },
        alt=f"Cases that the filters keep, {page.total:,} in all",
    )
    facts("C = context, F = faithfulness, R = relevancy. Line: threshold. Dashed: not measured.")


def _list_row(case: dict[str, Any], diagnosis: Diagnosis, tokens: Tokens) -> dict[str, object]:
    row, thresholds = case["row"], diagnosis.settings.thresholds
    features = diagnosis.features
    bars = [
        ScoreBar(float(features.known(name)[row]), threshold)
        for name, threshold in (
            ("context", thresholds.context),
            ("faithfulness", thresholds.faithfulness),
            ("answer_relevancy", thresholds.answer_relevancy),
        )
    ]
    cells: dict[str, object] = {"State": [case_state(diagnosis, row)[0]], SCORES: score_bars(bars, tokens)}
    if diagnosis.human_labels.labels:
        labels = diagnosis.human_labels.labels.get(row, ())
        cells["✎"] = " ".join(MARKS[label.verdict] for label in labels)
    repeated = diagnosis.scored.n > len(diagnosis.scored.question_ids)
    cells["Question"] = shorten(case["question"], 110) + (f"  ({case['repeat']})" if repeated else "")
    return cells


def case_state(diagnosis: Diagnosis, row: int) -> tuple[str, str]:
    """Return the short name of a case's state, and whose it is: an owner of stages, "good" or ""."""
    stage = int(diagnosis.stages.stage[row])
    if stage >= 0:
        return short_name(STAGES[stage]), STAGES[stage].owner
    return ("Good", "good") if diagnosis.measured[row] else ("Not measured", "")


def _state_colour(owner: str, tokens: Tokens) -> str:
    if owner == "good":
        return tokens.good.tint
    colours = {str(key): colour for key, colour in tokens.stages.items()}
    return mixed(colours[owner], tokens.background, 0.2) if owner in colours else tokens.unmeasured.tint


def mixed(colour: str, surface: str, share: float) -> str:
    """Return a colour mixed into a surface, both as #RRGGBB."""
    parts = [(int(colour[at : at + 2], 16), int(surface[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(share * top + (1 - share) * below):02X}" for top, below in parts)


def _open_selected(cases: Sequence[dict[str, Any]]) -> None:
    cells = st.session_state[KEY]["selection"]["cells"]
    st.session_state[KEY] = {
        "selection": {"rows": [], "columns": [], "cells": []}
    }  # the same can be clicked again
    if cells and cells[0][0] < len(cases):
        case = cases[cells[0][0]]
        keep(case=f"{case['question_id']}~{case['repeat']}")


def position_of(diagnosis: Diagnosis, rows: IntArray) -> int | None:
    """Return the position of the open case among the listed rows; the first where none of them is open."""
    if not len(rows):
        return None
    question, _, repeat = current_selection().case.rpartition("~")
    number = whole_number(repeat)
    row = row_of(diagnosis.scored, question, number) if question and number is not None else None
    positions = np.flatnonzero(rows == (-1 if row is None else row))
    return int(positions[0]) if len(positions) else 0


def case_name(scored: ScoredRun, row: int) -> str:
    """Return the name of a case in the URL."""
    return f"{scored.question_ids[scored.question[row]]}~{scored.repeats[row]}"


def export_menu(view: View, diagnosis: Diagnosis, rows: IntArray) -> None:
    """Offer the cases on the list as files, written on download."""
    with st.popover(
        "Export", icon=":material/download:", type="tertiary", on_change="rerun", help="These cases as a file"
    ) as box:
        if box.open:
            for form, title in (("jsonl", "JSONL, can be imported again"), ("csv", "CSV for a spreadsheet")):
                st.download_button(
                    title,
                    partial(export_rows, diagnosis, rows, form),
                    file_name=f"{diagnosis.scored.run.run_id}-{len(rows)}-cases.{form}",
                    key=f"export_{form}",
                )
            tool_downloads(diagnosis, view.store.ledger, rows, "export")


def pager(page: CasePage, rows: IntArray, scored: ScoredRun, size: int) -> None:
    """Draw the page numbers of the list; turning a page opens its first case."""
    key = f"pager_{page.page}_{page.pages}"

    def turn() -> None:
        keep(case=case_name(scored, int(rows[(st.session_state[key] - 1) * size])))

    st.pagination(page.pages, default=page.page, max_visible_pages=5, key=key, on_change=turn)


def filter_bar(diagnosis: Diagnosis, candidates: IntArray) -> None:
    """Draw the filters: a chip for each state with its count, the search, the rest in a popover.

    Args:
        diagnosis: of the run.
        candidates: the rows that all filters but the chips keep; the chips count them.
    """
    _state_chips(diagnosis, candidates)
    _kind_chips(diagnosis)
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
    if chosen.refused == "yes":
        st.markdown("Only **refused** cases, whatever the context held; the chips say what failed first")
    if chosen.cohort:
        st.markdown(f"Only cases where **{markdown_text(cohort_title(chosen.cohort))}**")


def _state_chips(diagnosis: Diagnosis, candidates: IntArray) -> None:
    """Draw a chip for all bad cases, for each failure stage that has some, and for the good ones.

    That none is bad is a result of the whole run alone.
    """
    bad = diagnosis.bad.bad[candidates]
    good = int((diagnosis.measured[candidates] & ~bad).sum())
    stages = stage_counts(diagnosis, candidates)
    chosen = current_selection()
    if chosen.stage:
        stages.setdefault(chosen.stage, 0)
    whole = len(candidates) == diagnosis.scored.n
    chips = {"bad": f"Bad {int(bad.sum()):,}"} if whole or bad.any() or chosen.bad == "yes" else {}
    chips |= {key: f"{short_name(STAGES[stage_code(key)])} {n:,}" for key, n in stages.items()}
    chips |= {"good": f"Good {good:,}"} if good or chosen.bad == "no" else {}
    if not chips:
        return
    show_in("state_chips", chosen.stage or {"yes": "bad", "no": "good"}.get(chosen.bad))
    st.pills(
        "State of the cases",
        list(chips),
        format_func=chips.__getitem__,
        key="state_chips",
        label_visibility="collapsed",
        wrap=True,
        on_change=_take_state,
    )


def kind_counts(scored: ScoredRun, checked: int) -> dict[str, int]:
    """Return key of a cohort of answers -> its cases, of those that are some.

    None contradicted is a result as well, where claims were checked.
    """
    counts = {key: int(cohort_rows(scored, key).sum()) for key in KINDS}
    return {key: n for key, n in counts.items() if n or (key == CONTRADICTED and checked)}


_kind_counts = kept(kind_counts)


def contradictions_checked(diagnosis: Diagnosis) -> int:
    """Return in how many cases it is known whether a document contradicts the answer."""
    return int(np.isfinite(diagnosis.features.known("contradicts_context")).sum())


def _kind_chips(diagnosis: Diagnosis) -> None:
    """Draw a chip for each kind of answers that can be asked for; nothing where the run has none."""
    cohort = current_selection().cohort
    counts = dict(_kind_counts(diagnosis.scored, contradictions_checked(diagnosis)))
    if cohort in KINDS:
        counts.setdefault(cohort, 0)
    if not counts:
        return
    show_in("answer_kind", cohort if cohort in KINDS else None)
    st.pills(
        "Kind of answers",
        list(counts),
        format_func=lambda key: f"{KINDS[key]} {counts[key]:,}",
        key="answer_kind",
        label_visibility="collapsed",
        wrap=False,
        on_change=_take_kind,
    )


def _take_kind() -> None:
    keep(**FIRST_PAGE, cohort=st.session_state["answer_kind"] or "")


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


_without_labels = kept(diagnose)
_fix_first_order = kept(stage_order)


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


def list_headline(view: View, diagnosis: Diagnosis, rows: IntArray) -> Headline:
    """Return what the list concludes; that a cohort has no case is a result where nothing else is chosen."""
    name, chosen = view.store.names()[view.run.run_id], current_selection()
    alone = replace(chosen.filter(), cohort="", sort="", descending=False) == CaseFilter()
    if alone and chosen.cohort == CONTRADICTED and not len(rows):
        return none_contradicted(name, contradictions_checked(diagnosis), diagnosis.answers.n)
    where = cohort_title(chosen.cohort) if alone and chosen.cohort else ""
    findings = pass_rate_doubts(diagnosis, view.findings(view.run))
    doubt = "; ".join(dict.fromkeys(finding.clause for finding in findings))
    return cases_headline(count_cases(name, diagnosis, rows), doubt, where)


def short_name(stage: FailureStage) -> str:
    """Return the name of a stage in chips; that a case is inferred is said on the case."""
    return stage.title.removesuffix(" (inferred)")
