"""Triage: does this version hold up, and what should be fixed first?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from dashboard import triage_parts as parts
from dashboard.charts import fix_first_bars, trend
from dashboard.controls import choose
from dashboard.drawing import draw, facts
from dashboard.rounding import count, interval_text, percent
from dashboard.session import current_view, open_cases
from dashboard.text import markdown_text
from data.comparisons import GOOD_SHARE

view = current_view()
diagnosis = view.diagnosis(view.run)
summary = view.summary(view.run)
name = view.labels[view.run.run_id]
rate, bad = diagnosis.pass_rate, int(diagnosis.bad.bad.sum())

st.title(f"Does {markdown_text(name)} hold up, and what should be fixed first?")
facts(parts.run_facts(view))
parts.loud(view.findings(view.run))

gates = parts.gate_results(summary)
comparison = parts.against_baseline(view)
with st.container(horizontal=True):
    parts.verdict_card(gates)
    st.metric(
        "Pass rate",
        percent(rate.mean),
        border=True,
        height="stretch",
        delta=f"{interval_text(rate.low, rate.high)}, n = {parts.of_questions(rate)}",
        delta_color="off",
        delta_arrow="off",
        help="Share of measured cases that miss no cut-off, fail no check and were not marked bad; "
        "repeats averaged first; with its 95 % interval.",
    )
    st.metric(
        "Bad cases",
        f"{bad:,} of {view.run.n:,}",
        border=True,
        height="stretch",
        delta=parts.measured_note(diagnosis),
        delta_color="off",
        delta_arrow="off",
    )
    parts.baseline_card(comparison)

st.subheader("What to fix first")
if diagnosis.fix_first:
    draw(fix_first_bars(diagnosis.fix_first), "fix_first", "Failure stages by number of bad cases")
    top = diagnosis.fix_first[0]
    st.markdown(
        f"**{top.title}** owns {top.n_bad:,} of {bad:,} bad cases. If that stage were perfect, the pass "
        f"rate would be **at most {percent(top.pass_rate_if_perfect)}** (now {percent(rate.mean)}): "
        "an upper bound, since a repaired case may still fail later."
    )
    titles = {entry.key: f"{entry.title} ({entry.n_bad:,})" for entry in diagnosis.fix_first}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Failure stage", list(titles), format_func=titles.__getitem__, key="triage_stage"
        )
        if st.button("Open these cases", type="primary", key="open_stage"):
            open_cases(stage=chosen)
else:
    st.success("No case misses a cut-off.", title="Nothing to fix at these cut-offs")

st.subheader("Gates")
parts.gate_table(gates)
st.caption("PASS and FAIL need the whole 95 % interval on one side; INCONCLUSIVE spans the threshold.")

st.subheader("What changed since the baseline")
parts.changes(comparison)

st.subheader("Where it does worst")
parts.slices(diagnosis)

st.subheader("All metrics")
parts.metric_table(view, summary, comparison)

with st.expander(f"Checks on the numbers ({len(view.findings(view.run))})"):
    parts.finding_list(view.findings(view.run))

st.subheader("Trend over the runs of the project")
options = [GOOD_SHARE, *parts.trend_metrics(view)]
metric = choose("Metric", "metric", options, parts.metric_title)
points = parts.trend_points(view, metric)
if sum(point.mean is not None for point in points) > 1:
    base = view.baseline.run_id if view.baseline else ""
    level = next(
        (point.mean for point, run in zip(points, view.sampled, strict=True) if run.run_id == base), None
    )
    draw(
        trend(points, parts.metric_title(metric), level), "trend", "The metric over runs with 95 % intervals"
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
