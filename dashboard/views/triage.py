"""Triage: does this version hold up, and what should be fixed first?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from dashboard.charts.overview import trend
from dashboard.charts.plotly_figure import plotly_figure
from dashboard.sections.triage.gates import gate_report, gate_section, verdict_card
from dashboard.sections.triage.overview import (
    against_baseline,
    baseline_card,
    changes,
    fix_first_section,
    measured_note,
    metric_table,
    of_questions,
    run_facts,
    slices,
    trend_metrics,
    trend_points,
    warnings_box,
)
from dashboard.shell.components import draw, facts, finding_list, metric_title
from dashboard.shell.session import current_view
from dashboard.shell.widgets import choose
from dashboard.wording.diagnosis import rate_title
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count, interval_text, percent
from data.comparison.compare import GOOD_SHARE

view = current_view()
diagnosis = view.diagnosis(view.run)
summary = view.summary(view.run)
name = view.labels[view.run.run_id]
rate, bad = diagnosis.pass_rate, int(diagnosis.bad.bad.sum())

st.title(f"Does {markdown_text(name)} hold up, and what should be fixed first?")
facts(run_facts(view))
warnings_box(view.findings(view.run))

gates = gate_report(view)
comparison = against_baseline(view)
with st.container(horizontal=True):
    verdict_card(gates)
    st.metric(
        markdown_text(rate_title(diagnosis)),
        percent(rate.mean),
        border=True,
        height="stretch",
        delta=f"{interval_text(rate.low, rate.high)}, n = {of_questions(rate)}",
        delta_color="off",
        delta_arrow="off",
        help="Share of measured cases that miss no cut-off, fail no check, do not refuse what has an answer "
        "and were not marked bad; repeats averaged first; with its 95 % interval.",
    )
    st.metric(
        "Bad cases",
        f"{bad:,} of {view.run.n:,}",
        border=True,
        height="stretch",
        delta=measured_note(diagnosis),
        delta_color="off",
        delta_arrow="off",
    )
    baseline_card(comparison)
rests_on = diagnosis.coverage.clause()
facts([f"Pass rate: {markdown_text(rests_on)}" if rests_on else ""])

st.subheader("What to fix first")
fix_first_section(view, diagnosis)

st.subheader("Gates")
gate_section(view, gates)

st.subheader("What changed since the baseline")
changes(comparison)

st.subheader("Where it does worst")
slices(diagnosis)

st.subheader("All metrics")
metric_table(view, summary, comparison)

with st.expander(f"Checks on the numbers ({len(view.findings(view.run))})"):
    finding_list(view.findings(view.run))

st.subheader("Trend over the runs of the project")
options = [GOOD_SHARE, *trend_metrics(view)]
metric = choose("Metric", "metric", options, metric_title)
points = trend_points(view, metric)
if sum(point.mean is not None for point in points) > 1:
    base = view.baseline.run_id if view.baseline else ""
    level = next(
        (point.mean for point, run in zip(points, view.sampled, strict=True) if run.run_id == base), None
    )
    draw(
        plotly_figure(trend(points, metric_title(metric), level)),
        "trend",
        "The metric over runs with 95 % intervals",
    )
    missing = int(np.sum([point.mean is None for point in points]))
    facts(
        [
            "oldest run left",
            "bars are 95 % intervals",
            f"not measured in {count(missing, 'run')}" if missing else "",
        ]
    )
else:
    st.info("A trend needs two runs that measured this metric.")
