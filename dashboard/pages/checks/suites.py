"""The suites of a run: a tile for each, the section of the one on display, and its checks one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

import pandas as pd
import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.present.page_html.blocks import Strip, Tile
from ragtriage.dashboard.shell.blocks import draw_tiles
from ragtriage.dashboard.shell.components import choose_row, clicked, export_menu, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, pick, show_in
from ragtriage.dashboard.suites.headline import ENOUGH, suite_state
from ragtriage.dashboard.suites.registry import ShownSuite, shown_suite
from ragtriage.dashboard.suites.summary import check_name_table, counts_text, reason_table, source_of
from ragtriage.dashboard.suites.view import SuiteChart
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.cases.suite_cohorts import check_cohort, suite_cohort
from ragtriage.data.suites.check import DIFFERS
from ragtriage.data.suites.check_table import (
    CheckFilter,
    CheckPage,
    CheckRow,
    CheckState,
    SuiteSummary,
    check_page,
    suite_summaries,
)
from ragtriage.data.suites.router import RouterFindings, RouterScores
from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES
from ragtriage.metrics.number_text import NOT_MEASURED, count, number, percent, points
from ragtriage.metrics.result_table import ResultTable
from ragtriage.metrics.statistics.intervals import METHODS

MOST_TILES = 8
WORDS: Mapping[State, str] = {
    "good": "enough",
    "bad": f"below {percent(ENOUGH)}",
    "cannot tell": "cannot tell",
    "not measured": "not measured",
}
suites_in = kept(suite_summaries)
_shown = kept(shown_suite)
PAGE_SIZE = 20
TITLES = {"": "Failed", "unmeasured": "Not measured", "passed": "Passed", "all": "All"}
STATES: dict[str, CheckState] = {"": "failed", "unmeasured": "not measured", "passed": "passed", "all": ""}
WEIGHTS = {  # kind of wrong route -> title of the box for its cost
    "refused": "Cost of a wrong “%s”",
    "added": "Cost of a missed “%s”",
    "mixed_up": "Cost of another mix-up",
}
HIGHEST = 1000.0


def tile_section(view: View, summaries: Sequence[SuiteSummary]) -> None:
    """Draw a tile for each of the worst suites, beside its rate in the baseline where that has it."""
    before: dict[str, SuiteSummary] = {}
    if view.baseline is not None and view.baseline != view.run:
        before = {summary.key: summary for summary in suites_in(view.scored(view.baseline))}
    shown = list(summaries[:MOST_TILES])
    draw_tiles([_tile(view, summary, before.get(summary.key)) for summary in shown])
    if len(summaries) > MOST_TILES:
        st.caption(f"The {MOST_TILES} worst of {count(len(summaries), 'suite')}; the box below has all.")


def _tile(view: View, summary: SuiteSummary, before: SuiteSummary | None) -> Tile:
    rate, state = summary.rate, suite_state(summary)
    base = before.rate.mean if before is not None and before.n_decided else None
    failed = bool(summary.key in CRITICAL_SUITES and summary.n_failed)
    change = ""
    if base is not None and summary.n_decided and view.baseline is not None:
        other = shorten(view.labels[view.baseline.run_id], 14)
        change = f"{points(rate.mean - base)} vs {other}"
    measured = bool(summary.n_decided)
    return Tile(
        shorten(summary.title, 28),
        percent(rate.mean) if measured else NOT_MEASURED,
        state,
        f"{summary.n_failed:,} failed" if failed else WORDS[state],
        change,
        f"{span(rate)} · {summary.n_passed:,} of {summary.n_decided:,}"
        if measured
        else f"{count(summary.n_checks, 'check')} without a verdict",
        Strip(
            rate.mean if measured else None,
            rate.low if measured else None,
            rate.high if measured else None,
            1.0 if summary.key in CRITICAL_SUITES else ENOUGH,
            base,
            state,
            f"{summary.title}: {percent(rate.mean)} of the checks pass",
            higher_is_better=True,
        ),
        f"Share of checks passed, mean over questions; {METHODS.get(rate.method, rate.method)}",
    )


def suite_picker(summaries: Sequence[SuiteSummary]) -> SuiteSummary:
    """Draw the box that chooses the suite on display; without a choice it is the worst."""
    by_key = {summary.key: summary for summary in summaries}
    key = choose(
        "Suite",
        "suite",
        list(by_key),
        lambda key: shorten(by_key[key].title, 60),  # options are plain text
        {"check": "", "reason": "", "check_page": 1},
        width=320,
    )
    return by_key[key]


def suite_section(view: View, summary: SuiteSummary) -> None:
    """Draw the suite on display: what it tells of itself, then its checks by name and by reason."""
    st.markdown(f"### {markdown_text(shorten(summary.title, 60))}")
    facts(counts_text(summary), *source_of(summary))
    shown = _shown(view.scored(view.run), summary.key)
    if shown is not None:
        _findings(shown, summary.key)
    if len(summary.names) > 1:
        st.markdown("#### By check")
        _linked_table(check_name_table(summary), f"{summary.key}_names")
        facts("failing cases: click a row")
    reasons = reason_table(summary)
    if any(row["Reason"] != DIFFERS for row in reasons.rows):
        st.markdown("#### Why")
        _linked_table(reasons, f"{summary.key}_reasons")
        facts("the commonest reasons; a check that is not measured is neither passed nor failed")


def _findings(shown: ShownSuite, suite: str) -> None:
    """Draw what a suite shows beyond its pass rate."""
    if shown.statement:
        st.markdown(markdown_text(shown.statement))
    if shown.chart is not None:
        _chart(shown.chart, suite)
    if isinstance(shown.findings, RouterFindings):
        expected_cost(shown.findings.main)
    for at, table in enumerate(shown.tables):
        st.markdown(f"#### {markdown_text(table.title)}")
        _linked_table(replace(table, note=""), f"{suite}_{at}")
        facts(markdown_text(table.note), "click a row for its cases" if any(table.cohorts) else "")


def _chart(shown: SuiteChart, key: str) -> None:
    if shown.heading:
        st.markdown(f"#### {shown.heading}")
    point = clicked(
        plotly_figure(shown.chart), f"{key}_chart", f"{shown.alt}; the tables below have the numbers"
    )
    facts(*[markdown_text(fact) for fact in shown.facts])
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
    st.markdown("### Checks, one by one")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        verdict = pick("verdict", TITLES)
        name = _chosen(summary, "check", "Check", [entry.name for entry in summary.names])
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
        "Reason": shorten(row.why, 160),
        "Expected": shorten(row.expected, 120),
        "Actual": shorten(row.actual, 120),
    }


def _pages(page: CheckPage) -> None:
    first = (page.page - 1) * PAGE_SIZE + 1
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
