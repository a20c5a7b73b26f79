"""The suites of a run: a tile for each, the picker, and the section of the one on display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.pages.checks.router import expected_cost
from ragtriage.dashboard.present.page_html.blocks import Strip, Tile
from ragtriage.dashboard.shell.blocks import draw_tiles
from ragtriage.dashboard.shell.components import choose_row, clicked, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.suites.headline import ENOUGH, suite_state
from ragtriage.dashboard.suites.registry import ShownSuite, shown_suite
from ragtriage.dashboard.suites.summary import check_name_table, counts_text, reason_table, source_of
from ragtriage.dashboard.suites.view import SuiteChart
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.dashboard.wording.formatting import METHODS, span
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check import DIFFERS
from ragtriage.data.suites.router import RouterFindings
from ragtriage.data.suites.summary import SuiteSummary, suite_summaries
from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES
from ragtriage.metrics.number_text import NOT_MEASURED, count, percent, points
from ragtriage.metrics.result_table import ResultTable

MOST_TILES = 8
WORDS: Mapping[State, str] = {
    "good": "enough",
    "bad": f"below {percent(ENOUGH)}",
    "cannot tell": "cannot tell",
    "not measured": "not measured",
}


@kept
def suites_in(scored: ScoredRun) -> list[SuiteSummary]:
    """Return the suites of a run, the worst first."""
    return suite_summaries(scored)


@kept
def _shown(scored: ScoredRun, suite: str) -> ShownSuite | None:
    return shown_suite(scored, suite)


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
    facts([counts_text(summary), *source_of(summary)])
    shown = _shown(view.scored(view.run), summary.key)
    if shown is not None:
        _findings(shown, summary.key)
    _common_tables(summary)


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
        facts([markdown_text(table.note), "click a row for its cases" if any(table.cohorts) else ""])


def _chart(shown: SuiteChart, key: str) -> None:
    if shown.heading:
        st.markdown(f"#### {shown.heading}")
    point = clicked(
        plotly_figure(shown.chart), f"{key}_chart", f"{shown.alt}; the tables below have the numbers"
    )
    facts([markdown_text(fact) for fact in shown.facts])
    for label, cohort in shown.openings:
        if st.button(label, key=f"open_{cohort}"):
            open_cases(cohort=cohort)
    if point is not None:
        open_cases(cohort=str(point[0]))


def _common_tables(summary: SuiteSummary) -> None:
    """Draw what every suite has: its checks by name, and the commonest reasons."""
    if len(summary.names) > 1:
        st.markdown("#### By check")
        _linked_table(check_name_table(summary), f"{summary.key}_names")
        facts(["failing cases: click a row"])
    reasons = reason_table(summary)
    if any(row["Reason"] != DIFFERS for row in reasons.rows):
        st.markdown("#### Why")
        _linked_table(reasons, f"{summary.key}_reasons")
        facts(["the commonest reasons; a check that is not measured is neither passed nor failed"])


def _linked_table(table: ResultTable, key: str) -> None:
    """Draw a table whose rows open their cases where they name a cohort."""
    if not any(table.cohorts):
        show_table(table)
        return
    chosen = choose_row(table, f"suite_{key}")
    if chosen is not None and table.cohorts[chosen]:
        open_cases(cohort=table.cohorts[chosen])
