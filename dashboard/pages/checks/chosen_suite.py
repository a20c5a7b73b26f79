"""The chosen suite: what it says of itself, what changed, why it fails, its checks one by one."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil

import pandas as pd
import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import (
    choose_row,
    clicked,
    export_menu,
    facts,
    how_measured,
    show_table,
)
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, draw_tabs, pick, show_in
from ragtriage.dashboard.suites.headline import (
    check_name_table,
    counts_text,
    flips_text,
    reason_table,
    source_of,
)
from ragtriage.dashboard.suites.registry import ShownSuite, shown_suite
from ragtriage.dashboard.suites.router import ROUTE_COSTS
from ragtriage.dashboard.suites.view import SuiteChart
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.cases.checks import plain_value
from ragtriage.data.cases.suite_cohorts import check_cohort
from ragtriage.data.comparison.suite_changes import SuiteChange
from ragtriage.data.suites.check import DIFFERS
from ragtriage.data.suites.check_table import (
    CheckFilter,
    CheckPage,
    CheckRow,
    CheckState,
    SuiteSummary,
    check_page,
)
from ragtriage.data.suites.router import RouterFindings, RouterScores
from ragtriage.data.suites.suite import SuiteFindings
from ragtriage.metrics.number_text import count, number, p_value
from ragtriage.metrics.result_table import ResultTable

_shown = kept(shown_suite)
PAGE_SIZE = 8
TITLES = {"": "Failed", "unmeasured": "Not measured", "passed": "Passed", "all": "All"}
STATES: dict[str, CheckState] = {"": "failed", "unmeasured": "not measured", "passed": "passed", "all": ""}
WEIGHTS = {  # kind of wrong route -> title of the box for its cost
    "refused": "Cost of a wrong “%s”",
    "added": "Cost of a missed “%s”",
    "mixed_up": "Cost of another mix-up",
}
HIGHEST = 1000.0
MOST_FLIPS = 200


def suite_section(view: View, summary: SuiteSummary) -> ShownSuite | None:
    """Draw the chosen suite: what it says of itself, and its chart, else its most telling table."""
    st.markdown(f"##### {markdown_text(shorten(summary.title, 60))}")
    shown = _shown(view.scored(view.run), summary.key)
    st.markdown(markdown_text(shown.statement if shown and shown.statement else counts_text(summary)))
    if shown is not None and shown.chart is not None:
        _chart(shown.chart, summary.key)
    elif shown is not None and shown.tables:
        _linked_table(replace(shown.tables[0], note=""), f"{summary.key}_0")
    else:
        _linked_table(_reasons(summary), f"{summary.key}_reasons")
    chart_facts = [] if shown is None or shown.chart is None else shown.chart.facts
    first = [] if shown is None or shown.chart or not shown.tables else [shown.tables[0].note]
    notes = [*chart_facts, *first, *source_of(summary)]
    how_measured(counts_text(summary), *map(markdown_text, notes))
    return shown


def _reasons(summary: SuiteSummary) -> ResultTable:
    """Return the checks by name where there are several, else by reason."""
    return check_name_table(summary) if len(summary.names) > 1 else reason_table(summary)


def suite_tabs(
    view: View, summary: SuiteSummary, shown: ShownSuite | None, change: SuiteChange | None, base_name: str
) -> None:
    """Draw the failing checks of the chosen suite; what flipped, why, and its other tables, each as a tab."""
    tabs: dict[str, tuple[str, Callable[[], object]]] = {
        "checks": ("Failing checks", lambda: failing_section(view, summary))
    }
    if change is not None and (change.fixed or change.broken):
        flips = len(change.fixed) + len(change.broken)
        label = f"{flips:,} changed since {shorten(base_name, 20)}"
        tabs["changes"] = (markdown_text(label), lambda: _flips(change, summary, base_name))
    if shown is not None and len(summary.names) > 1:
        tabs["names"] = (
            "By check",
            partial(_linked_table, check_name_table(summary), f"{summary.key}_names"),
        )
    reasons = reason_table(summary)
    if any(row["Reason"] != DIFFERS for row in reasons.rows):
        tabs["why"] = ("Why", partial(_linked_table, reasons, f"{summary.key}_why"))
    if shown is not None:
        for table in shown.tables[0 if shown.chart else 1 :]:
            draw = partial(_table_tab, table, f"{summary.key}_{table.title}", shown.findings)
            tabs[table.title] = (markdown_text(table.title), draw)
    draw_tabs(tabs, "checks_tabs")


def _table_tab(table: ResultTable, key: str, findings: SuiteFindings) -> None:
    _linked_table(replace(table, note=""), key)
    facts(markdown_text(table.note), "click a row for its cases" if any(table.cohorts) else "")
    if isinstance(findings, RouterFindings) and table.title == ROUTE_COSTS:
        expected_cost(findings.main)


def _flips(change: SuiteChange, summary: SuiteSummary, base_name: str) -> None:
    """List the questions that fail in one of the two runs alone; a row opens its case."""
    flips = [(name, "passed", "fails") for name in change.broken]
    flips += [(name, "failed", "passes") for name in change.fixed]
    rows = tuple({"Question": name, base_name: before, "Now": now} for name, before, now in flips)
    facts(
        f"of {count(change.n, 'question')} {flips_text(change)}",
        f"exact McNemar test, p {p_value(change.p)}, corrected over the suites",
        "click a row for its case",
    )
    chosen = choose_row(ResultTable(f"{summary.title}: changes", rows[:MOST_FLIPS]), f"flips_{summary.key}")
    if chosen is not None:
        open_cases(case=f"{flips[chosen][0]}~0")


def _chart(shown: SuiteChart, key: str) -> None:
    point = clicked(
        plotly_figure(shown.chart), f"{key}_chart", f"{shown.alt}; the tables below have the numbers"
    )
    for label, cohort in shown.openings:
        if st.button(label, key=f"open_{cohort}"):
            open_cases(cohort=cohort)
    if point is not None:
        open_cases(cohort=str(point[0]))


def _linked_table(table: ResultTable, key: str) -> None:
    """Draw a table whose rows open their cases where they name a cohort."""
    if not any(table.cohorts):
        show_table(table)
        return
    chosen = choose_row(table, f"suite_{key}")
    if chosen is not None and table.cohorts[chosen]:
        open_cases(cohort=table.cohorts[chosen])


def failing_section(view: View, summary: SuiteSummary) -> None:
    """Draw the checks of a suite that failed, or those of another verdict; a row opens its case."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        verdict = pick("verdict", TITLES)
        name = _chosen(summary, "check", "Check", [entry.name for entry in summary.names])
        reasons = (
            summary.reasons if verdict == "" else summary.not_measured if verdict == "unmeasured" else ()
        )
        reason = _chosen(summary, "reason", "Reason", [text for text, _ in reasons])
    chosen = CheckFilter(summary.key, name, reason, STATES[verdict])
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
    """Draw the box of a filter; a value from a link that is not an option counts as no filter."""
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
        **({} if all(text == DIFFERS for text, _ in summary.reasons) else {"Reason": shorten(row.why, 160)}),
        "Expected": shorten(plain_value(row.expected), 120),
        "Actual": shorten(plain_value(row.actual), 120),
    }


def _pages(page: CheckPage) -> None:
    first = (page.page - 1) * PAGE_SIZE + 1
    with st.container(horizontal=True, vertical_alignment="center"):
        _page_box(page, first)


def _page_box(page: CheckPage, first: int) -> None:
    facts(
        f"{first:,} to {first + len(page.rows) - 1:,} of {count(page.total, 'check')}",
        "click a row for its case",
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


def expected_cost(main: RouterScores) -> None:
    """Draw a box for the weight of each kind of wrong route, and what a decision costs under them."""
    fallback = main.decisions.fallback
    if fallback is None:
        return
    name, weights = main.decisions.routes[fallback][:24], current_selection().route_weights
    chosen: dict[str, float] = {}
    with st.container(horizontal=True):
        for key, label in WEIGHTS.items():
            if key == "mixed_up" and len(main.decisions.routes) < 3:
                continue
            chosen[key] = st.number_input(
                markdown_text(label.replace("%s", name)),
                0.0,
                HIGHEST,
                _weight(weights.get(key, "1")),
                key=f"weight_{key}",
                width=220,
                on_change=_keep_weight,
                args=(key,),
            )
    costs = [main.constant_cost(code, **chosen) for code in range(len(main.decisions.routes))]
    best = min(range(len(costs)), key=costs.__getitem__)
    constant = markdown_text(main.decisions.routes[best])
    facts(
        f"a decision of this router costs {number(main.cost(**chosen), 3)}",
        f"always “{constant}”, the best constant router, {number(costs[best], 3)}",
        f"n = {int(main.scores.support.sum()):,}",
        "your weights, an assumption",
    )


def _weight(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return value if 0 <= value <= HIGHEST else 1.0


def _keep_weight(key: str) -> None:
    weights = {**current_selection().route_weights, key: f"{st.session_state[f'weight_{key}']:g}"}
    keep(route_weights=weights)
