"""Triage: may this version ship, where are its cases lost, and what has changed?"""

import streamlit as st

from ragtriage.dashboard.headlines.triage import gates_unreadable, report_headline
from ragtriage.dashboard.pages.triage.lists import change_list, fix_list, gate_list, question_link
from ragtriage.dashboard.pages.triage.overview import pipeline_section, triage_tiles
from ragtriage.dashboard.pages.triage.run_tabs import (
    compared_with_baseline,
    f1_section,
    gate_report,
    gate_section,
    metric_section,
    slice_section,
    trend_section,
)
from ragtriage.dashboard.present.page_html.blocks import page_style
from ragtriage.dashboard.shell.components import (
    current_theme,
    draw_tiles,
    finding_list,
    open_page,
    run_facts,
    show_results,
)
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import draw_tabs
from ragtriage.data.errors import DataError

view = current_view()
diagnosis = view.diagnosis(view.run)
summaries = view.summary(view.run)
findings = view.findings(view.run)
found = gate_report(view)
report = None if isinstance(found, DataError) else found
headline = report_headline(report) if report else gates_unreadable(view.run.name, str(found))
open_page(headline, meta=run_facts(view))
show_results()
st.html(page_style("triage", current_theme()))

comparison = compared_with_baseline(view)
base = view.baseline
base_name = "" if base is None else base.name if base.name != view.run.name else view.labels[base.run_id]
draw_tiles(triage_tiles(diagnosis, summaries, findings, report, comparison, base_name))
pipeline_section(view, diagnosis, base_name)

lists = st.grid(3, min_column_width=230)
with lists.container(gap=None):
    fix_list(view, diagnosis, report)
with lists.container(gap=None):
    gate_list(view, report)
with lists.container(gap="xsmall"):
    change_list(view, comparison, report, base_name)
    question_link(view)

TABS = {
    "gates": ("All gates", lambda: gate_section(view, found)),
    "metrics": ("All metrics", lambda: metric_section(view, summaries, comparison)),
    "f1": ("Why F1", lambda: f1_section(view)),
    "slices": ("Worst slices", lambda: slice_section(diagnosis)),
    "trend": ("Trend", lambda: trend_section(view, summaries)),
    "findings": ("Findings", lambda: finding_list(findings)),
}
draw_tabs(TABS, "triage_tabs")
