"""Judge: what does the judge say, and is it right?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.judge.calibration import calibration_section
from dashboard.sections.judge.error_analysis import error_analysis_section
from dashboard.sections.judge.progress import judge_jobs
from dashboard.sections.judge.results import current_result, verdict_section
from dashboard.sections.judge.start import judge_form
from dashboard.shell.session import current_view
from dashboard.shell.widgets import pick
from dashboard.wording.escaping import markdown_text
from data.labels.reviewed_cases import reviewed_cases

PARTS = {"": "The judge", "people": "Compare with human labels", "errors": "Error analysis"}

view = current_view()
st.title("What does the judge say, and is it right?")
reviewed = reviewed_cases(view.store.ledger, [view.run.run_id])
st.caption(
    f"{reviewed.cases:,} of {view.run.n:,} answers of {markdown_text(view.labels[view.run.run_id])} "
    "have been reviewed by annotators. Review 50 to 100 before trusting a judge on the rest."
)
part = pick("part", PARTS)
if part == "people":
    calibration_section(view)
elif part == "errors":
    error_analysis_section(view)
else:
    judge_result = current_result(view)
    running = judge_jobs(view)
    if judge_result is None:
        st.info(
            "No judge has evaluated this run. Claude can: one evaluation per answer gives faithfulness, "
            "answer relevancy, context recall and precision, correctness, refusals and the used documents. "
            "It needs an API key; everything else here works without one."
        )
    else:
        verdict_section(view, judge_result)
    if not running:
        st.subheader("Let Claude evaluate the answers" if judge_result is None else "Judge again, or more")
        judge_form(view)
