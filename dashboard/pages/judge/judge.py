"""Judge: what does the judge say, and is it right?"""

import streamlit as st

from ragtriage.dashboard.headlines.judge import judge_headline
from ragtriage.dashboard.pages.judge.calibration import (
    calibration_section,
    judged_agreements,
    judged_cases,
    rated_cases,
    trust_section,
)
from ragtriage.dashboard.pages.judge.error_analysis import error_analysis_section
from ragtriage.dashboard.pages.judge.jobs import judge_form, judge_jobs
from ragtriage.dashboard.pages.judge.judged import current_result, verdict_section
from ragtriage.dashboard.shell.components import open_page, run_facts
from ragtriage.dashboard.shell.empty_pages import example_section
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import pick
from ragtriage.data.labels.failure_taxonomy import reviewed_cases

PARTS = {"": "Judge", "people": "Against people", "errors": "What people found"}
view = current_view()
reviewed = reviewed_cases(view.store.ledger, [view.run.run_id])
agreements = judged_agreements(view)
open_page(
    judge_headline(agreements, judged_cases(view), max(reviewed.cases, rated_cases(view))),
    [*run_facts(view)[:1], f"{reviewed.cases:,} reviewed here"],
)
part = pick("part", PARTS)
if part == "people":
    trust_section(agreements)
    calibration_section(view)
elif part == "errors":
    error_analysis_section(view)
else:
    judge_result = current_result(view)
    running = judge_jobs(view)
    if judge_result is None:
        if not agreements:
            example_section("judge")
    else:
        verdict_section(view, judge_result)
    if not running:
        st.subheader("Let Claude evaluate the answers" if judge_result is None else "Judge again, or more")
        judge_form(view)
