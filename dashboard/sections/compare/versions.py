"""The pieces of the Compare page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard.case_html.case import STYLE
from dashboard.case_html.compared_case import compared_cases_html
from dashboard.charts.style import VERDICT_LABELS
from dashboard.shell.components import export_menu, facts, metric_title, show_table
from dashboard.shell.session import View, current_selection, keep
from dashboard.shell.widgets import choose, show_in
from dashboard.wording.comparisons import tested_text
from dashboard.wording.escaping import markdown_text, shorten
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number, p_value, percent, signed
from data.cases.cases import page_of, read_case
from data.comparison.compare import GOOD_SHARE, Changes, Comparison, MetricDifference, QuestionChange
from data.comparison.metric_families import FAMILIES, in_family, shared_metrics
from data.store.workspace import Run
from metrics.metric_registry import declared

__all__ = [
    "change_list",
    "detail_rows",
    "everything",
    "family",
    "is_share",
    "matrix",
    "question_pair",
    "versions_picker",
]

FIRST_VERSIONS = 3
PAGE = 15


def versions_picker(view: View) -> list[Run]:
    """Let a person choose the versions beside the baseline; at first the run on display and its like."""
    by_id = {
        run.run_id: run
        for run in reversed(view.sampled)
        if view.baseline and run.run_id != view.baseline.run_id
    }
    chosen = [one for one in view.selection.versions if one in by_id]
    if not chosen:
        near = [
            view.run.run_id,
            *(run.run_id for run in view.sampled if run.created_at == view.run.created_at),
        ]
        chosen = [one for one in dict.fromkeys(near) if one in by_id][:FIRST_VERSIONS]
    show_in("pick_versions", chosen)
    st.multiselect(
        "Versions",
        list(by_id),
        format_func=lambda run_id: view.labels[run_id],
        key="pick_versions",
        on_change=lambda: keep(versions=tuple(st.session_state["pick_versions"]), case="", other=""),
        max_selections=20,
        help="From one to twenty, each against the baseline chosen at the left.",
    )
    return [by_id[one] for one in chosen]


def family(view: View, base: Run, versions: Sequence[Run]) -> list[str]:
    """Let a person choose a family of metrics, and name those of it that baseline and versions all have."""
    scored_runs = [view.scored(run) for run in (base, *versions)]
    every = shared_metrics(scored_runs)
    offered = [one for one in FAMILIES if any(in_family(name, one) for name in every)]
    chosen = choose(
        "Family of metrics",
        "family",
        offered or ["all"],
        FAMILIES,
        {"metric": ""},
        width=380,
        help="The correction for looking at many metrics is over this family: a smaller one sees more.",
    )
    return [name for name in every if in_family(name, chosen)]


def everything(view: View, base: Run, versions: Sequence[Run]) -> list[str]:
    """Name the metrics of any family that baseline and versions all have and that lie from 0 to 1."""
    return [
        name for name in shared_metrics([view.scored(run) for run in (base, *versions)]) if is_share(name)
    ]


def is_share(metric: str) -> bool:
    """Say whether a metric lies on the scale from 0 to 1, as most do."""
    found = declared(metric)
    return metric == GOOD_SHARE or (found is not None and found.bounds == (0.0, 1.0) and metric != "win_rate")


def matrix(view: View, base: Run, versions: Sequence[Run], sides: Sequence[Comparison]) -> None:
    """Draw the table of metrics by versions: the mean, the signed difference, and its verdict's mark."""
    rows = []
    for at, one in enumerate(sides[0].differences):
        row = {
            "Metric": metric_title(one.metric),
            f"{view.labels[base.run_id]} (baseline)": _level(one.metric, one.base),
        }
        for run, side in zip(versions, sides, strict=True):
            row[view.labels[run.run_id]] = _cell(side.differences[at])
            row[f"Interval of the verdict, {view.labels[run.run_id]}"] = _span(side.differences[at])
        rows.append(row)
    show_table(rows, "Metrics by version, with differences to the baseline")
    pairs = [len(side.matched.base) for side in sides]
    facts(
        [
            "▲ better, ▼ worse, · cannot tell (the interval includes 0), = unchanged",
            tested_text(sides[0]),
            f"{min(pairs):,} to {max(pairs):,} shared questions"
            if min(pairs) != max(pairs)
            else f"n = {count(pairs[0], 'shared question')}",
            "means over the questions that both sides have",
        ]
    )


def _level(metric: str, value: float) -> str:
    return percent(value) if metric == GOOD_SHARE else number(value)


def _span(one: MetricDifference) -> str:
    return interval_text(one.low, one.high) if one.difference.n_pairs else NOT_MEASURED


def _cell(one: MetricDifference) -> str:
    mark = VERDICT_LABELS[one.verdict].split(" ")[0]
    if not one.difference.n_pairs:
        return NOT_MEASURED
    return f"{_level(one.metric, one.other)}  ({signed(one.difference.difference)} {mark})"


def detail_rows(side: Comparison) -> list[dict[str, str]]:
    """Give the numbers of one comparison in full."""
    return [
        {
            "Metric": f"{metric_title(one.metric)}{' (primary)' if one.primary else ''}",
            "Baseline": number(one.base),
            "Version": number(one.other),
            "Difference": signed(one.difference.difference),
            "Interval": interval_text(one.low, one.high),
            "By itself, 95 %": interval_text(one.difference.low, one.difference.high),
            "p": p_value(one.difference.p),
            "p (corrected)": p_value(one.adjusted_p),
            "Pairs": f"{one.difference.n_pairs:,}",
            "Better / worse / same": _counts(one),
            "Verdict": VERDICT_LABELS[one.verdict],
        }
        for one in side.differences
    ]


def _counts(one: MetricDifference) -> str:
    return f"{one.difference.better:,} / {one.difference.worse:,} / {one.difference.same:,}"


def change_list(view: View, found: Changes, other: Run, higher: bool) -> QuestionChange | None:
    """Draw the shared questions by the size of their change, a page at a time; give the open one."""
    if not len(found):
        st.info("No question has this metric on both sides.")
        return None
    at = found.find(current_selection().case)
    pages = -(-len(found) // PAGE)
    page = at // PAGE + 1
    shown = [found[place] for place in range((page - 1) * PAGE, min(page * PAGE, len(found)))]
    texts = page_of(view.scored(other), _rows(shown), 1, PAGE).cases
    key = f"changes_{page}_{at}_{other.run_id}"
    rows = [_change_row(one, text["question"], higher) for one, text in zip(shown, texts, strict=True)]
    st.dataframe(
        rows,
        hide_index=True,
        key=key,
        on_select=lambda: _open(key, shown),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [at % PAGE]}},
        height="content",
        alt="Questions by the size of their change",
    )
    export_menu(rows, f"Questions by the size of their change, page {page}")
    if pages > 1:
        st.pagination(pages, default=page, key=f"pager_{key}", on_change=lambda: _turn(f"pager_{key}", found))
    return found[at]


def _rows(shown: Sequence[QuestionChange]) -> Any:
    import numpy as np

    return np.array([one.row for one in shown], dtype=np.int64)


def _change_row(one: QuestionChange, question: str, higher: bool) -> dict[str, str]:
    better = (one.change > 0) == higher
    mark = "=" if one.change == 0 else ("▲ better" if better else "▼ worse")
    return {
        "Question": shorten(question, 90),
        "Baseline": number(one.base),
        "Version": number(one.other),
        "Change": signed(one.change),
        "": mark,
    }


def _open(key: str, shown: Sequence[QuestionChange]) -> None:
    chosen = st.session_state[key]["selection"]["rows"]
    if chosen and chosen[0] < len(shown):
        keep(case=shown[chosen[0]].question_id)


def _turn(key: str, found: Changes) -> None:
    keep(case=found[(st.session_state[key] - 1) * PAGE].question_id)


def question_pair(view: View, base: Run, other: Run, change: QuestionChange) -> None:
    """Write one question on both sides: answers with a word diff, contexts with rank moves."""
    left, right = read_case(view.scored(base), change.base_row), read_case(view.scored(other), change.row)
    st.html(STYLE)
    st.markdown(f"**{markdown_text(right['question'])}**")
    sides = zip((base, other), (left, right), compared_cases_html(left, right), strict=True)
    for column, (run, sample, html) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with column:
            st.caption(f"**{markdown_text(view.labels[run.run_id])}**, repeat {sample['repeat']}")
            st.html(html)
    facts(
        [
            "orange struck through: only in the baseline",
            "green underlined: only in the version",
            "first repeat shown",
        ]
    )
