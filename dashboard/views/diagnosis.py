"""Diagnosis: where do the cases go wrong, and what does the pattern of metrics say?"""

from __future__ import annotations

import streamlit as st

from dashboard.charts.overview import case_map
from dashboard.sections.diagnosis.failures import (
    both_known,
    context_metric_name,
    context_metric_title,
    obtained,
    pattern_table,
    stage_order,
    stage_table,
    symptom_list,
)
from dashboard.sections.diagnosis.oracle_gap import oracle_gap_section
from dashboard.shell.components import draw, facts
from dashboard.shell.session import current_view
from dashboard.shell.widgets import choose, slide
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count, interval_text, percent
from data.diagnosis.diagnosis import context_metrics_of

view = current_view()
selection = view.selection

st.title(f"Where do the cases of {markdown_text(view.labels[view.run.run_id])} go wrong?")
signals = context_metrics_of(view.scored(view.run))
with st.container(border=True):
    one, two, three, four = st.columns(4, gap="medium")
    with one:
        if signals:
            titles = {name: context_metric_title(name, signals[0]) for name in signals}
            choose("Context metric", "context_metric", signals, titles, shown=signals[0])
        else:
            st.caption("Context metric")
            st.write("none recorded")
    with two:
        slide("Context cut-off", "context", "A case below this has a context that lacks what it needs.")
    with three:
        slide(
            "Faithfulness cut-off",
            "faithfulness",
            "A case below this says what its context does not support.",
        )
    with four:
        slide("Answer relevancy cut-off", "relevancy", "A case below this does not address the question.")

diagnosis = view.diagnosis(view.run)
rate = diagnosis.pass_rate
facts(
    [
        f"{int(diagnosis.bad.bad.sum()):,} of {count(view.run.n, 'case')} bad",
        f"pass rate {percent(rate.mean)} {interval_text(rate.low, rate.high)}, "
        f"n = {rate.n_scored:,} of {count(rate.n_applicable, 'question')}",
        markdown_text(diagnosis.coverage.clause()),
        *obtained(diagnosis),
    ]
)

st.subheader("Metric pattern")
pattern_table(diagnosis)

st.subheader("Failure stage of the bad cases")
st.caption("First rule that matches wins; the order can be changed below.")
stage_table(diagnosis)

oracle_gap_section(view)

st.subheader("Where the cases lie")
values = diagnosis.features
context, faithful = values.known("context"), values.known("faithfulness")
if diagnosis.context_metric and both_known(context, faithful):
    signal = context_metric_name(diagnosis.context_metric)
    draw(
        case_map(context, faithful, (selection.context, selection.faithfulness), signal),
        "case_map",
        "Number of cases by context signal and faithfulness, with the cut-offs",
    )
    n = both_known(context, faithful)
    facts([f"n = {n:,} of {count(view.run.n, 'case')} with both values", "dashed: cut-offs"])
else:
    st.info("This map needs a context signal and faithfulness; the run has not both.")

st.subheader("Symptoms of the means")
symptom_list(diagnosis)

with st.expander("Order of the failure stages"):
    stage_order(selection.order)
