"""Compare: did the change help, for whom, and at which stage?"""

from __future__ import annotations

import streamlit as st

from dashboard.charts.overview import difference_forest, stage_transition_map
from dashboard.charts.plotly_figure import plotly_figure
from dashboard.headlines.compare import NO_SECOND_RUN
from dashboard.sections.compare.ablation import cost_section, factor_section
from dashboard.sections.compare.headline import page_headline
from dashboard.sections.compare.versions import (
    change_list,
    detail_rows,
    family,
    is_share,
    matrix,
    question_pair,
    shared_shares,
    versions_picker,
)
from dashboard.shell.blocks import bundled_example, open_page, run_facts
from dashboard.shell.components import config_table, draw, facts, metric_title, show_table
from dashboard.shell.session import current_view
from dashboard.shell.widgets import choose
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count
from data.comparison.compare import GOOD_SHARE
from metrics.metric_registry import declared

view = current_view()
if view.comparison_base is None or len(view.sampled) < 2:
    open_page(NO_SECOND_RUN, run_facts(view))
    bundled_example("iris", "colbert", "compares six versions with a baseline")
    st.stop()
base = view.comparison_base
band = st.container()
versions = versions_picker(view)

metrics = family(view, base, versions)
comparisons = [view.comparison(base, run, metrics) for run in versions]
with band:
    open_page(page_headline(view, base, versions, comparisons), run_facts(view))
for run, comparison in zip(versions, comparisons, strict=True):
    for warning in comparison.warnings:
        st.warning(f"{markdown_text(view.labels[run.run_id])}: {markdown_text(warning)}")

st.subheader("Metrics")
matrix(view, base, versions, comparisons)

by_id = {run.run_id: (run, comparison) for run, comparison in zip(versions, comparisons, strict=True)}
default = view.run.run_id if view.run.run_id in by_id else versions[0].run_id
shown = choose("In detail", "other", list(by_id), view.labels, {"case": ""}, shown=default)
other, comparison = by_id[shown]
name, base_name = view.labels[other.run_id], view.labels[base.run_id]

st.subheader("Differences")
on_scale = [difference for difference in comparison.differences if is_share(difference.metric)]
higher_is_better = {
    name: declaration.higher_is_better for name in metrics if (declaration := declared(name)) is not None
}
draw(
    plotly_figure(difference_forest(on_scale, higher_is_better)),
    "forest",
    f"Differences of {name} to {base_name} with the intervals of their verdicts",
)
left_out = len(comparison.differences) - len(on_scale)
facts(
    [f"{count(left_out, 'metric')} not on the scale from 0 to 1: see the numbers below" if left_out else ""]
)
with st.expander("The numbers"):
    show_table(detail_rows(comparison), "Differences in full")
    facts(
        [metric.difference.method for metric in comparison.differences[:1]]
        + ["paired on question, repeats averaged"]
    )

st.subheader("Flow of failure stages")
flow = view.flow(base, other)
draw(stage_transition_map(flow, base_name, name), "flow", "How questions moved between failure stages")
n = count(sum(flow.values()), "shared question")
facts([f"n = {n}", "off the diagonal: moved", "a question counts for the stage of most of its repeats"])

factor_section(view, [base, *versions], metrics)
cost_section(view, [base, *versions], shared_shares(view, base, versions))

st.subheader("Questions that got better or worse")
options = [GOOD_SHARE, *metrics]
metric = choose("Metric", "metric", options, metric_title, {"case": ""})
direction = declared(metric)
changes = view.changes(base, other, metric)
rises_are_better = True if metric == GOOD_SHARE else None if direction is None else direction.higher_is_better
better, worse = (
    (changes.falls, changes.rises) if rises_are_better is False else (changes.rises, changes.falls)
)
same = len(changes) - better - worse
facts(
    [
        f"{better:,} rose" if rises_are_better is None else f"▲ {better:,} better",
        f"{worse:,} fell" if rises_are_better is None else f"▼ {worse:,} worse",
        f"= {same:,} unchanged",
        "largest change first",
    ]
)
open_question = change_list(view, changes, other, rises_are_better)
if open_question is not None:
    question_pair(view, base, other, open_question)

st.subheader("Configurations")
config_table(view, [base, *versions])
