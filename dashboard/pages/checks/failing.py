"""The list of checks, a page at a time: expected, actual, reason, and the case of each."""

from __future__ import annotations

from math import ceil

import pandas as pd
import streamlit as st

from ragtriage.dashboard.shell.components import export_menu, facts
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, pick, show_in
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.cases.suite_cohorts import check_cohort, suite_cohort
from ragtriage.data.suites.summary import (
    CheckFilter,
    CheckPage,
    CheckRow,
    CheckState,
    SuiteSummary,
    check_page,
)
from ragtriage.metrics.number_text import count

PAGE_SIZE = 20
TITLES = {"": "Failed", "unmeasured": "Not measured", "passed": "Passed", "all": "All"}
STATES: dict[str, CheckState] = {"": "failed", "unmeasured": "not measured", "passed": "passed", "all": ""}


def failing_section(view: View, summary: SuiteSummary) -> None:
    """Draw the checks of a suite that failed, or those of another verdict; a row opens its case."""
    st.markdown("### Checks, one by one")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        verdict = pick("verdict", TITLES)
        name = _chosen(summary, "check", "Check", [one.name for one in summary.names])
        reasons = (
            summary.reasons if verdict == "" else summary.not_measured if verdict == "unmeasured" else ()
        )
        reason = _chosen(summary, "reason", "Reason", [text for text, _ in reasons])
    chosen = CheckFilter(summary.key, name, reason, STATES[verdict])
    # draw the button that opens every case of the suite that fails
    failed = summary.n_samples_failed
    if failed and st.button(f"Open {count(failed, 'failing case')}", key="failing_cases"):
        open_cases(cohort=suite_cohort(summary.key))
    page = check_page(view.scored(view.run), chosen, current_selection().check_page, PAGE_SIZE)
    if not page.rows:
        st.caption(f"No check of this suite {_none(verdict)}.")
        return
    _rows(summary, page)
    _pages(page)


def _none(verdict: str) -> str:
    if verdict == "unmeasured":
        return "is without a verdict"
    return "passed" if verdict == "passed" else "failed" if verdict == "" else "is recorded"


def _chosen(summary: SuiteSummary, field: str, label: str, options: list[str]) -> str:
    """Draw the box of a filter; a value from a link that is no option counts as no filter."""
    options = list(dict.fromkeys(option for option in options if option))
    if len(options) < 2:
        return ""
    values, every = ["", *options], f"all of “{shorten(summary.title, 30)}”"
    return choose(
        label,
        field,
        values,
        lambda value: shorten(value, 70) or every,  # options are plain text
        {"check_page": 1},
        width=300,
    )


def _rows(summary: SuiteSummary, page: CheckPage) -> None:
    rows = [_cells(row, summary, bool(current_selection().verdict)) for row in page.rows]
    event = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"checks_{summary.key}_{page.page}",
        height="content",
        alt=f"Checks of the suite {summary.title}",
        on_select="rerun",
        selection_mode="single-row",
    )
    export_menu(rows, f"{summary.title}: checks")
    chosen = event["selection"]["rows"]
    if chosen and chosen[0] < len(page.rows):
        row = page.rows[chosen[0]]
        cohort = check_cohort(row.suite, row.name) if row.state == "failed" else ""
        open_cases(cohort=cohort, case=f"{row.question_id}~{row.repeat}")


def _cells(row: CheckRow, summary: SuiteSummary, with_result: bool) -> dict[str, str]:
    case = row.question_id if not row.repeat else f"{row.question_id}, repeat {row.repeat}"
    return {
        "Case": shorten(case, 40),
        "Question": shorten(row.question, 90),
        **({"Check": shorten(row.name, 60)} if len(summary.names) > 1 else {}),
        **({"Result": row.state} if with_result else {}),
        "Reason": shorten(row.why, 160),
        "Expected": shorten(row.expected, 120),
        "Actual": shorten(row.actual, 120),
    }


def _pages(page: CheckPage) -> None:
    first = (page.page - 1) * PAGE_SIZE + 1
    facts(
        [
            f"{first:,} to {first + len(page.rows) - 1:,} of {count(page.total, 'check')}",
            "click a row for its case",
        ]
    )
    if page.pages > 1:
        show_in("pick_check_page", page.page)
        st.number_input(
            f"Page of {ceil(page.total / PAGE_SIZE):,}",
            1,
            page.pages,
            key="pick_check_page",
            on_change=lambda: keep(check_page=st.session_state["pick_check_page"]),
            width=140,
        )
