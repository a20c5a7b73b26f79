"""Diagnosis: where do the cases go wrong, and what does the pattern of metrics say?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from dashboard.charts.overview import case_map
from dashboard.headlines.diagnosis import diagnosis_headline
from dashboard.sections.diagnosis.failures import (
    pattern_table,
    refusal_table,
    source_facts,
    stage_order,
    stage_table,
    symptom_edges,
    symptom_list,
)
from dashboard.sections.diagnosis.oracle_gap import oracle_gap_section
from dashboard.shell.blocks import open_page, run_facts
from dashboard.shell.components import draw, facts, metric_title
from dashboard.shell.session import current_view
from dashboard.shell.widgets import choose, slide
from dashboard.wording.diagnosis import (
    context_metric_text,
    doubted_metrics,
    unused_context_metrics,
)
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count
from data.diagnosis.context import context_choice, context_metrics_of

view = current_view()
selection = view.selection

findings = view.findings(view.run)
diagnosis = view.diagnosis(view.run)
open_page(
    diagnosis_headline(view.store.names()[view.run.run_id], diagnosis, findings, "answer" in view.run.fields),
    meta=run_facts(view),
)
context_metrics = context_metrics_of(view.scored(view.run))
with st.container(border=True):
    metric_column, context_column, faithfulness_column, relevancy_column = st.columns(4, gap="medium")
    with metric_column:
        if context_metrics:
            titles = {name: metric_title(name) for name in context_metrics}
            options = context_metrics
            if len(context_choice(view.scored(view.run)).metrics) == 1:
                titles[context_metrics[0]] += " (default)"
            else:
                titles[""], options = "by what each question has (default)", ["", *context_metrics]
            choose("Context metric", "context_metric", options, titles, shown=options[0])
        else:
            st.caption("Context metric")
            st.write("none recorded")
    with context_column:
        slide("Context threshold", "context", "Below this, the context lacks what the question needs.")
    with faithfulness_column:
        slide(
            "Faithfulness threshold",
            "faithfulness",
            "Below this, the answer makes claims that its context does not support.",
        )
    with relevancy_column:
        slide(
            "Answer relevancy threshold", "relevancy", "Below this, the answer does not address the question."
        )

facts(source_facts(diagnosis))
for sentence in unused_context_metrics(diagnosis):
    st.caption(f"⚠ {markdown_text(sentence)}")

st.subheader("Metric pattern")
for sentence in doubted_metrics(diagnosis, findings):
    st.caption(f"⚠ {markdown_text(sentence)}")
pattern_table(diagnosis, findings)

st.subheader("Failure stage of the bad cases")
st.caption("The first rule that matches wins; the order can be changed below.")
stage_table(diagnosis, findings)

st.subheader("Refusals")
refusal_table(diagnosis)

oracle_gap_section(view)

st.subheader("Cases by context metric and faithfulness")
context, faithfulness = (diagnosis.features.known(name) for name in ("context", "faithfulness"))
n = int((np.isfinite(context) & np.isfinite(faithfulness)).sum())
if diagnosis.context_metric and n:
    thresholds = (selection.context, selection.faithfulness)
    draw(
        case_map(context, faithfulness, thresholds, context_metric_text(diagnosis)),
        "case_map",
        "Number of cases by context metric and faithfulness, with the thresholds",
    )
    facts([f"n = {n:,} of {count(view.run.n, 'case')} with both values", "dashed: thresholds"])
else:
    st.info("This map needs a context metric and faithfulness; the run does not have both.")

st.subheader("Symptoms in the means")
symptom_list(diagnosis)
with st.expander("Edges of the symptoms"):
    symptom_edges()

with st.expander("Order of the failure stages"):
    stage_order(selection.order)
