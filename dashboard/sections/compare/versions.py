"""Metrics by version, and questions by the size of their change: sections of the Compare page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.case_html.case import STYLE
from dashboard.case_html.compared_case import compared_cases_html
from dashboard.charts.style import VERDICT_LABELS
from dashboard.shell.components import export_menu, facts, metric_title, show_table
from dashboard.shell.session import View, current_selection, keep
from dashboard.shell.widgets import choose, show_in
from dashboard.wording.comparisons import not_compared_text, tested_text, undirected_text
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
    "family",
    "is_share",
    "matrix",
    "question_pair",
    "shared_shares",
    "versions_picker",
]

FIRST_VERSIONS = 3
PAGE = 15


def versions_picker(view: View) -> list[Run]:
    """Return the versions to compare: by default the run on display and its batch, else the newest run."""
    by_id = {
        run.run_id: run
        for run in reversed(view.sampled)
        if view.comparison_base and run.run_id != view.comparison_base.run_id
    }
    chosen = [run_id for run_id in view.selection.versions if run_id in by_id]
    if not chosen:
        same_batch = [run.run_id for run in view.sampled if run.created_at == view.run.created_at]
        candidates = dict.fromkeys([view.run.run_id, *same_batch])
        chosen = [run_id for run_id in candidates if run_id in by_id][:FIRST_VERSIONS] or list(by_id)[:1]
    show_in("pick_versions", chosen)
    st.multiselect(
        "Versions",
        list(by_id),
        format_func=lambda run_id: view.labels[run_id],
        key="pick_versions",
        on_change=lambda: keep(versions=tuple(st.session_state["pick_versions"]), case="", other=""),
        max_selections=20,
        help="One to twenty versions, each compared with the baseline chosen on the left.",
    )
    return [by_id[run_id] for run_id in chosen]


def family(view: View, base: Run, versions: Sequence[Run]) -> list[str]:
    """Return the metrics of the chosen family that the baseline and all versions have."""
    scored_runs = [view.scored(run) for run in (base, *versions)]
    shared = shared_metrics(scored_runs)
    offered = [family_key for family_key in FAMILIES if any(in_family(name, family_key) for name in shared)]
    chosen = choose(
        "Family of metrics",
        "family",
        offered or ["all"],
        FAMILIES,
        {"metric": ""},
        width=380,
        help="The correction for multiple comparisons covers this family; a smaller family has more power.",
    )
    return [name for name in shared if in_family(name, chosen)]


def shared_shares(view: View, base: Run, versions: Sequence[Run]) -> list[str]:
    """List the metrics from 0 to 1, of any family, that the baseline and all versions have."""
    return [
        name for name in shared_metrics([view.scored(run) for run in (base, *versions)]) if is_share(name)
    ]


def is_share(metric: str) -> bool:
    """Return whether a metric is on the scale from 0 to 1, as most are."""
    declaration = declared(metric)
    has_bounds = declaration is not None and declaration.bounds == (0.0, 1.0)
    return metric == GOOD_SHARE or (has_bounds and metric != "win_rate")


def matrix(view: View, base: Run, versions: Sequence[Run], comparisons: Sequence[Comparison]) -> None:
    """Draw the table of metrics by version: mean, difference to the baseline, and its outcome."""
    rows = []
    for at, first in enumerate(comparisons[0].differences):
        row = {
            "Metric": metric_title(first.metric),
            f"{view.labels[base.run_id]} (baseline)": _level(first.metric, first.base),
        }
        for run, comparison in zip(versions, comparisons, strict=True):
            difference = comparison.differences[at]
            row[view.labels[run.run_id]] = _cell(difference)
            row[f"Interval of the verdict, {view.labels[run.run_id]}"] = _span(difference)
            row[f"n, {view.labels[run.run_id]}"] = f"{difference.difference.n_pairs:,}"
        rows.append(row)
    narrow = {  # right of their version; with its name they would be wider than their numbers
        f"{what}, {view.labels[run.run_id]}": st.column_config.TextColumn(title, width=width)
        for run in versions
        for what, title, width in (("Interval of the verdict", "Interval", 118), ("n", "n", 55))
    }
    named = {view.labels[run.run_id]: st.column_config.TextColumn(width=135) for run in versions}
    show_table(rows, "Metrics by version, with differences to the baseline", {**narrow, **named})
    tested = next((each for each in comparisons if not not_compared_text(each)), comparisons[0])
    pairs = [len(comparison.matched.base) for comparison in comparisons]
    facts(
        [
            "▲ better, ▼ worse, · cannot tell (the interval includes 0), = unchanged, ? no direction",
            tested_text(tested),
            f"{min(pairs):,} to {max(pairs):,} shared questions"
            if min(pairs) != max(pairs)
            else count(pairs[0], "shared question"),
            "n, and both means: over those of them with a value in both runs",
        ]
    )
    undirected = undirected_text(tested)
    if undirected:
        st.info(markdown_text(undirected))


def _level(metric: str, value: float) -> str:
    return percent(value) if metric == GOOD_SHARE else number(value)


def _span(metric: MetricDifference) -> str:
    return interval_text(metric.low, metric.high) if metric.difference.n_pairs else NOT_MEASURED


def _cell(metric: MetricDifference) -> str:
    if not metric.difference.n_pairs:
        return NOT_MEASURED
    symbol = VERDICT_LABELS[metric.verdict].split(" ")[0]
    return f"{_level(metric.metric, metric.other)}  ({signed(metric.difference.difference)} {symbol})"


def detail_rows(comparison: Comparison) -> list[dict[str, str]]:
    """Return all numbers of metric comparison, a row per metric."""
    return [
        {
            "Metric": f"{metric_title(metric.metric)}{' (primary)' if metric.primary else ''}",
            "Baseline": number(metric.base),
            "Version": number(metric.other),
            "Difference": signed(metric.difference.difference),
            "Interval": interval_text(metric.low, metric.high),
            "By itself, 95 %": interval_text(metric.difference.low, metric.difference.high),
            "p": p_value(metric.difference.p),
            "p (corrected)": p_value(metric.adjusted_p),
            "Pairs": f"{metric.difference.n_pairs:,}",
            "Better / worse / same": _counts(metric),
            "Verdict": VERDICT_LABELS[metric.verdict],
        }
        for metric in comparison.differences
    ]


def _counts(metric: MetricDifference) -> str:
    difference = metric.difference
    rises, falls = (" rose", " fell") if metric.verdict == "no direction" else ("", "")
    return f"{difference.better:,}{rises} / {difference.worse:,}{falls} / {difference.same:,}"


def change_list(
    view: View, changes: Changes, other: Run, higher_is_better: bool | None
) -> QuestionChange | None:
    """Draw a page of the shared questions by the size of their change; return the open question."""
    if not len(changes):
        st.info("No question has this metric in both runs.")
        return None
    at = changes.find(current_selection().case)
    pages = -(-len(changes) // PAGE)
    page = at // PAGE + 1
    shown = [changes[position] for position in range((page - 1) * PAGE, min(page * PAGE, len(changes)))]
    samples = np.array([change.row for change in shown], dtype=np.int64)
    texts = page_of(view.scored(other), samples, 1, PAGE).cases
    key = f"changes_{page}_{at}_{other.run_id}"
    rows = [
        _change_row(change, text["question"], higher_is_better)
        for change, text in zip(shown, texts, strict=True)
    ]
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
        st.pagination(
            pages, default=page, key=f"pager_{key}", on_change=lambda: _turn_page(f"pager_{key}", changes)
        )
    return changes[at]


def _change_row(change: QuestionChange, question: str, higher_is_better: bool | None) -> dict[str, str]:
    outcome = "▲ better" if (change.change > 0) == higher_is_better else "▼ worse"
    if higher_is_better is None:
        outcome = "rose" if change.change > 0 else "fell"
    return {
        "Question": shorten(question, 90),
        "Baseline": number(change.base),
        "Version": number(change.other),
        "Change": signed(change.change),
        "": "=" if change.change == 0 else outcome,
    }


def _open(key: str, shown: Sequence[QuestionChange]) -> None:
    chosen = st.session_state[key]["selection"]["rows"]
    if chosen and chosen[0] < len(shown):
        keep(case=shown[chosen[0]].question_id)


def _turn_page(key: str, changes: Changes) -> None:
    keep(case=changes[(st.session_state[key] - 1) * PAGE].question_id)


def question_pair(view: View, base: Run, other: Run, change: QuestionChange) -> None:
    """Show one question in both runs: answers with a word diff, contexts with rank changes."""
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
