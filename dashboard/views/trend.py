"""Trend: did it get better or worse over time?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.trend import (
    comparability_warnings,
    methods_of,
    metrics_of,
    newest_sentence,
    show_chart,
    show_numbers,
    tally,
    trend_of,
    unanswered_text,
    versions_shown,
)
from dashboard.shell.components import facts, metric_title
from dashboard.shell.session import current_view
from dashboard.shell.widgets import choose, pick
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count
from data.comparison.compare import GOOD_SHARE
from data.comparison.trend import most_drop
from data.declarations import HOW_TO_DECLARE
from metrics.metric_registry import declared

AXES = {"": "Equal steps", "time": "By time"}
MOST_WARNINGS = 6

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
    reason = "" if trend.chosen else ", the oldest version with this metric; another can be set on Runs"
    st.caption(f"Baseline: {markdown_text(view.labels[base.run_id])}{reason}")
st.markdown(tally(trend.changes, most_drop(metric), trend.versions.older))
versions = trend.versions
compared = [run for run in versions.runs if run.run_id in trend.changes]
if compared and trend.changes[compared[-1].run_id].pair.difference.n_pairs:
    newest = compared[-1]
    st.markdown(newest_sentence(markdown_text(view.labels[newest.run_id]), trend.changes[newest.run_id]))

if metric != GOOD_SHARE and declared(metric) is None:
    st.info(f"{markdown_text(metric_title(metric))} has no direction: {markdown_text(HOW_TO_DECLARE)}.")
show_chart(view, trend, metric_title(metric))
missing = len(versions.runs) - trend.measured
reported = sum(level.reported for level in trend.levels.values())
timestamps = len({run.created_at for run in versions.runs})
facts(
    [
        "oldest left",
        methods_of(trend),
        f"{count(missing, 'version')} without this metric: not drawn" if missing else "",
        f"{count(reported, 'version')} with only a reported mean: hollow, no interval" if reported else "",
        f"{count(versions.older, 'older version')} left out: neither drawn nor compared"
        if versions.older
        else "",
        f"{count(versions.derived, 'run')} generated from another one left out" if versions.derived else "",
        f"{count(versions.trials, 'trial')} of a grid search left out" if versions.trials else "",
        f"{len(versions.runs):,} versions share {count(timestamps, 'timestamp')}: equal steps separate them"
        if view.selection.axis == "time" and timestamps < len(versions.runs)
        else "",
    ]
)
unanswered = unanswered_text(trend, view.labels)
if unanswered:
    st.warning(
        f"{markdown_text(unanswered)}. Their means leave the other questions out, so a place beside complete "
        "versions says little; the differences are over shared questions.",
        title="Not every version answered every question",
    )
warnings = [markdown_text(line) for line in comparability_warnings(trend.changes, view.labels)]
if warnings:
    shown = warnings[:MOST_WARNINGS]
    if len(warnings) > len(shown):
        shown.append(f"and {len(warnings) - len(shown)} more, in the table")
    st.warning(
        "\n".join(f"- {line}" for line in shown),
        title="Not fully comparable with the baseline (squares in the chart)",
    )

st.subheader("The numbers")
show_numbers(view, trend)
