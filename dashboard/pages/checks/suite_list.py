"""All suites of a run on one scale, of which one is chosen, and what follows from it."""

from collections.abc import Mapping, Sequence

import streamlit as st

from ragtriage.dashboard.present.page_html.blocks import ScaleRow, Strip, scale_row
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.suites.headline import ENOUGH, suite_state
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.cases.suite_cohorts import check_cohort, suite_cohort
from ragtriage.data.comparison.suite_changes import SuiteChange, suite_changes
from ragtriage.data.suites.check import DIFFERS
from ragtriage.data.suites.check_table import SuiteSummary, suite_summaries
from ragtriage.metrics.diagnosis.check_kinds import CHECK_KINDS, CRITICAL_SUITES
from ragtriage.metrics.number_text import count, percent, points
from ragtriage.metrics.statistics.intervals import METHODS

MOST_SUITES, MOST_REASONS = 8, 3
NAME_WIDTH = 150
ADVICE = {kind.key: kind.advice for kind in CHECK_KINDS}
suites_in = kept(suite_summaries)
_changes = kept(suite_changes)
AGAIN = {"check": "", "reason": "", "check_page": 1, "tab": ""}


def changes_since(view: View) -> Mapping[str, SuiteChange]:
    """Return what became of each suite since the baseline; nothing where there is none."""
    base = view.baseline
    if base is None or base == view.run:
        return {}
    return _changes(view.scored(base), view.scored(view.run))


def suite_list(
    summaries: Sequence[SuiteSummary], changes: Mapping[str, SuiteChange], base_name: str
) -> SuiteSummary:
    """Draw the suites, the worst first, each a button; return the chosen one, else the worst."""
    by_key = {summary.key: summary for summary in summaries}
    chosen = by_key.get(current_selection().suite, summaries[0])
    st.markdown(f"##### {count(len(summaries), 'suite')}, share of checks passed")
    listed = list(summaries[:MOST_SUITES])
    if chosen not in listed:
        listed[-1] = chosen
    for summary in listed:
        with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
            st.button(
                markdown_text(shorten(summary.title, 40)),
                key=f"suite_{summary.key}",
                type="secondary" if summary is chosen else "tertiary",
                width=NAME_WIDTH,
                on_click=keep,
                kwargs={**AGAIN, "suite": summary.key},
            )
            st.html(scale_row(_row(summary, changes.get(summary.key), base_name)))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"0–100 %; tick: target; bar: 95 % interval{'; diamond: ' if changes else ''}{_plain(base_name)}"
        )
        if len(summaries) > MOST_SUITES:
            _other_suites(by_key, chosen)
    return chosen


def _plain(name: str) -> str:
    return markdown_text(shorten(name, 24))


def _other_suites(by_key: Mapping[str, SuiteSummary], chosen: SuiteSummary) -> None:
    with st.popover(f"All {len(by_key)} suites", type="tertiary"):
        for key, summary in by_key.items():
            st.button(
                markdown_text(f"{shorten(summary.title, 60)}: {_counts(summary)}"),
                key=f"every_suite_{key}",
                disabled=summary is chosen,
                type="tertiary",
                on_click=keep,
                kwargs={**AGAIN, "suite": key},
            )


def _counts(summary: SuiteSummary) -> str:
    if not summary.n_decided:
        return f"{count(summary.n_checks, 'check')} without a verdict"
    return f"{summary.n_passed:,} of {summary.n_decided:,}"


def _row(summary: SuiteSummary, change: SuiteChange | None, base_name: str) -> ScaleRow:
    rate, state = summary.rate, suite_state(summary)
    critical = summary.key in CRITICAL_SUITES
    measured = bool(summary.n_decided)
    notes = [
        percent(rate.mean) if measured else "",
        "critical" if critical else "",
        f"{points(change.now - change.before)} vs {shorten(base_name, 16)}" if change else "",
    ]
    needed = "no failure" if critical else f"{percent(ENOUGH)}"
    return ScaleRow(
        state,
        _counts(summary),
        " · ".join(filter(None, notes)),
        Strip(
            rate.mean if measured else None,
            rate.low if measured else None,
            rate.high if measured else None,
            1.0 if critical else ENOUGH,
            change.before if change else None,
            state,
            f"{summary.title}: {percent(rate.mean)} of the checks pass",
            higher_is_better=True,
        ),
        f"{span(rate)}; needed: {needed}; mean over questions, {METHODS.get(rate.method, rate.method)}",
    )


def what_follows(summary: SuiteSummary, change: SuiteChange | None, base_name: str) -> None:
    """List what to do about the chosen suite, each step with the cases that it is about."""
    steps = _steps(summary, change, base_name)
    st.markdown("##### What follows")
    if not steps:
        st.caption("Nothing in this suite fails." if summary.n_decided else "Import the actual values first.")
    for at, (text, label, cohort) in enumerate(steps, 1):
        with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
            st.markdown(f"**{at}** {text}", width="stretch")
            if cohort and st.button(
                label, key=f"follow_{at}", type="tertiary", icon=":material/arrow_forward:",
                icon_position="right",
            ):  # fmt: skip
                open_cases(cohort=cohort)


def _steps(summary: SuiteSummary, change: SuiteChange | None, base_name: str) -> list[tuple[str, str, str]]:
    """Return text, label of the button and cohort of each step, the most urgent first."""
    steps: list[tuple[str, str, str]] = []
    if summary.n_failed:
        cases = count(summary.n_samples_failed, "failing case")
        advice = ADVICE.get(summary.key, "Read what was expected beside what came.")
        steps.append((markdown_text(advice), cases, suite_cohort(summary.key)))
    reasons = [(text, n) for text, n in summary.reasons if text != DIFFERS]
    for text, n in reasons[:MOST_REASONS]:
        cohort = check_cohort(summary.key, "", text)
        steps.append((f"Most often: {markdown_text(shorten(text, 90))}", count(n, "check"), cohort))
    if not reasons and len(summary.names) > 1:
        worst = min(summary.names, key=lambda named: named.rate.mean if named.n_decided else 2.0)
        failed = worst.n_decided - worst.n_passed
        if failed:
            text = f"Begin with “{markdown_text(shorten(worst.name, 40))}”, the worst check"
            steps.append(
                (text, f"{failed:,} of {worst.n_decided:,} fail", check_cohort(summary.key, worst.name))
            )
    if change is not None and change.broken:
        newly = count(len(change.broken), "question")
        steps.append((f"{newly} passed in {_plain(base_name)} and fail now: see the tab of changes", "", ""))
    if summary.n_not_measured:
        undecided = count(summary.n_not_measured, "check")
        steps.append((f"{undecided} without a verdict: import the actual values", "", ""))
    return steps
