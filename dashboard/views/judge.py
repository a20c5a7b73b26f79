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

PARTS = {"": "The judge", "people": "Judge against people", "errors": "What people found"}

view = current_view()
st.title("What does the judge say, and is it right?")
read = reviewed_cases(view.store.ledger, [view.run.run_id])
st.caption(
    f"People have read {read.cases:,} of {view.run.n:,} answers of "
    f"{markdown_text(view.labels[view.run.run_id])}. "
    "Read 50 to 100 before trusting what a judge says of the rest."
)
part = pick("part", PARTS)
if part == "people":
    calibration_section(view)
elif part == "errors":
    error_analysis_section(view)
else:
    made = current_result(view)
    running = judge_jobs(view)
    if made is None:
        st.info(
            "No judge has read this run. Claude can: one reading an answer gives faithfulness, answer "
            "relevancy, context recall and precision, correctness, refusals and the documents that were "
            "used. "
            "It needs an API key; everything else here works without one."
        )
    else:
        verdict_section(view, made)
    if not running:
        st.subheader("Let Claude read the answers" if made is None else "Judge again, or more")
        judge_form(view)
