"""Diagnosis: what the pattern of metrics says of the cases, and at which stage the bad ones fail."""

import streamlit as st

from ragtriage.dashboard.headlines.diagnosis import diagnosis_headline
from ragtriage.dashboard.pages.diagnosis.failures import (
    map_section,
    pattern_rows,
    refusal_table,
    source_facts,
    stage_order,
    stage_rows,
    symptom_section,
    threshold_controls,
)
from ragtriage.dashboard.pages.diagnosis.oracle_gap import oracle_gap_section
from ragtriage.dashboard.present.page_html.blocks import page_style
from ragtriage.dashboard.shell.components import current_theme, facts, open_page, run_facts
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import draw_tabs

view = current_view()
findings = view.findings(view.run)
diagnosis = view.diagnosis(view.run)
open_page(
    diagnosis_headline(view.store.names()[view.run.run_id], diagnosis, findings, "answer" in view.run.fields),
    meta=run_facts(view),
)
st.html(page_style("diagnosis", current_theme()))

table, chart = st.columns([1.9, 1.1], gap="medium")
with table:
    st.markdown("### What the metrics of each case look like")
    pattern_rows(diagnosis, findings)
    threshold_controls(view, diagnosis)
with chart:
    st.markdown("### Cases by context and faithfulness")
    map_section(diagnosis)

st.markdown("### At which stage the bad cases fail")
st.caption(
    "Each case has one pattern above; each bad case also has one stage, the first whose rule it meets. The "
    "colours of a pattern's bar are the stages of its bad cases, grey are cases that are not bad."
)
stage_rows(diagnosis, findings)
facts(*source_facts(diagnosis))

TABS = {
    "oracle": ("Retrieval or generation", lambda: oracle_gap_section(view)),
    "refusals": ("Refusals", lambda: refusal_table(diagnosis)),
    "symptoms": ("Symptoms", lambda: symptom_section(diagnosis)),
    "order": ("Order of the stages", lambda: stage_order(view.selection.order)),
}
draw_tabs(TABS, "diagnosis_tab")
