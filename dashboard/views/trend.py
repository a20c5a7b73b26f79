"""Trend: did it get better or worse over time?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.trend import (
    grounds,
    methods_of,
    metrics_of,
    newest_sentence,
    show_chart,
    show_numbers,
    tally,
    trend_of,
    versions_shown,
)
from dashboard.shell.components import facts, metric_title
from dashboard.shell.session import current_view
from dashboard.shell.widgets import choose, pick
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count
from data.comparison.trend import most_drop

AXES = {"": "Equal steps", "time": "By time"}
MOST_GROUNDS = 6

view = current_view()
st.title("Did it get better or worse over time?")
versions = versions_shown(view)
metrics = metrics_of(view, versions)
if not metrics:
    st.info("No version of this project has a metric that can be drawn. Load or judge one first.")
    st.stop()
with st.container(horizontal=True, vertical_alignment="bottom"):
    metric = choose("Metric", "metric", metrics, metric_title, {}, width=280)
    pick("axis", AXES)
trend = trend_of(view, versions, metric)
base = trend.baseline

if len(versions.runs) < 2:
    st.info("This project has one version; a trend needs two. Load the next one on the Runs page.")
elif trend.measured < 2:
    st.info(
        f"{count(trend.measured, 'version')} of {len(versions.runs):,} has this metric; a trend needs two."
    )
if base is not None:
    how = (
        "" if trend.chosen else ", the oldest version with this metric; make another one the baseline on Runs"
    )
    st.caption(f"Baseline: {markdown_text(view.labels[base.run_id])}{how}")
st.markdown(tally(trend.changes, most_drop(metric)))
compared = [run for run in versions.runs if run.run_id in trend.changes]
if compared and trend.changes[compared[-1].run_id].pair.difference.n_pairs:
    newest = compared[-1]
    st.markdown(newest_sentence(markdown_text(view.labels[newest.run_id]), trend.changes[newest.run_id]))

show_chart(view, trend, metric_title(metric))
missing = len(versions.runs) - trend.measured
stated = sum(level.reported for level in trend.levels.values())
moments = len({run.created_at for run in versions.runs})
facts(
    [
        "oldest left",
        methods_of(trend),
        f"{count(missing, 'version')} without this metric: not drawn" if missing else "",
        f"{count(stated, 'version')} known by the mean alone: hollow, no interval" if stated else "",
        f"{count(versions.older, 'older version')} left out" if versions.older else "",
        f"{count(versions.derived, 'run')} generated from another one left out" if versions.derived else "",
        f"{len(versions.runs):,} versions share {count(moments, 'moment')}: equal steps part them"
        if view.selection.axis == "time" and moments < len(versions.runs)
        else "",
    ]
)
told = [markdown_text(line) for line in grounds(trend.changes, view.labels)]
if told:
    more = [f"and {len(told) - MOST_GROUNDS} more, in the table"] if len(told) > MOST_GROUNDS else []
    st.warning(
        "\n".join(f"- {line}" for line in [*told[:MOST_GROUNDS], *more]),
        title="Not on the same ground as the baseline (squares in the chart)",
    )

st.subheader("The numbers")
show_numbers(view, trend)
