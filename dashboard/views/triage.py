"""Triage: does this version hold up, and what should be fixed first?"""

from __future__ import annotations

import streamlit as st

from dashboard.headlines.triage import gates_unreadable, report_headline
from dashboard.sections.triage.gates import gate_report, gate_section, verdict_card
from dashboard.sections.triage.overview import (
    baseline_card,
    change_section,
    compared_with_baseline,
    fix_first_section,
    metric_table,
    pass_rate_cards,
    since_text,
    slice_section,
    trend_section,
    warnings_box,
)
from dashboard.shell.blocks import open_page, run_facts
from dashboard.shell.components import facts, finding_list
from dashboard.shell.session import current_view
from dashboard.wording.diagnosis import doubted_by
from dashboard.wording.escaping import markdown_text
from data.diagnosis.doubts import pass_rate_doubts
from data.errors import DataError

view = current_view()
diagnosis = view.diagnosis(view.run)
summaries = view.summary(view.run)
findings = view.findings(view.run)

report = gate_report(view)
if isinstance(report, DataError):
    headline = gates_unreadable(view.run.name, str(report))
else:
    headline = report_headline(report)
open_page(headline, meta=run_facts(view))
warnings_box(findings)

comparison = compared_with_baseline(view)
with st.container(horizontal=True):
    verdict_card(report)
    pass_rate_cards(diagnosis)
    baseline_card(view, comparison)
coverage = diagnosis.coverage.clause()
doubts = doubted_by(pass_rate_doubts(diagnosis, findings))
told = "; ".join(filter(None, [coverage, doubts]))
facts([f"Pass rate: {markdown_text(told)}" if told else ""])

st.subheader("What to fix first")
fix_first_section(view, diagnosis)

st.subheader("Gates")
gate_section(view, report)

st.subheader(f"What changed {since_text(view)}")
change_section(view, comparison)

st.subheader("Where it does worst")
slice_section(diagnosis)

st.subheader("All metrics")
metric_table(view, summaries, comparison)

with st.expander(f"Sanity checks ({len(findings)})"):
    finding_list(findings)

st.subheader("Trend over the runs of the project")
trend_section(view, summaries)
