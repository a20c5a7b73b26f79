"""Trend: did it get better or worse over time?"""

import streamlit as st

from ragtriage.dashboard.headlines.trend import TrendFacts, trend_headline
from ragtriage.dashboard.pages.trend.headline_metrics import (
    newest_comparison,
    show_small_charts,
    since_release,
    small_metrics,
    trend_facts,
)
from ragtriage.dashboard.pages.trend.versions import (
    comparability_warnings,
    methods_of,
    metrics_of,
    show_chart,
    show_numbers,
    show_releases,
    tally,
    trend_of,
    unanswered_text,
    versions_shown,
)
from ragtriage.dashboard.shell.components import bundled_example, facts, metric_title, open_page
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import choose, chosen_of, draw_folded, draw_tabs, pick
from ragtriage.dashboard.wording.diagnosis import rate_title
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.declarations import HOW_TO_DECLARE
from ragtriage.data.store.versions import releases_of
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.number_text import count

AXES = {"": "Equal steps", "time": "By time"}
view = current_view()
versions = versions_shown(view)
metrics = metrics_of(view, versions)
if not metrics:
    open_page(trend_headline(TrendFacts(len(versions.runs), 0, "")))
    bundled_example("iris", "", "shows a trend")
    st.stop()
trend = trend_of(view, versions, chosen_of("metric", metrics))
base, versions, metric = trend.baseline, trend.versions, trend.metric
compared = newest_comparison(view, trend)
small = small_metrics(metrics, metric, compared)
family = f"{count(compared.comparison.n_family + 1, 'headline metric')} tested" if compared else ""
open_page(trend_headline(trend_facts(view, trend, compared)), [count(len(versions.runs), "version"), family])
with st.container(horizontal=True, vertical_alignment="bottom"):
    choose("Metric", "metric", metrics, metric_title, {}, width=280)
    pick("axis", AXES)

left, right = st.columns([1, 1] if small else [1, 0.001], gap="medium")
with left:
    if base is not None:
        reason = "" if trend.chosen else ", the oldest version with this metric; another can be set on Runs"
        st.caption(f"Marks: against the baseline, {markdown_text(view.labels[base.run_id])}{reason}")
    of_rate = metric == GOOD_SHARE and not view.run.means
    show_chart(view, trend, rate_title(view.diagnosis(view.run)) if of_rate else metric_title(metric))
with right:
    if small:
        than = markdown_text(compared.base_name) if compared else "the baseline"
        st.caption(f"Other metrics: ▲ better, ▼ worse than {than}; hollow: cannot tell")
        show_small_charts(view, versions, small, compared)

st.markdown(tally(trend.changes, versions.older))
if since := since_release(view, trend, compared):
    st.markdown(since)
if metric != GOOD_SHARE and declared(metric) is None:
    st.info(f"{markdown_text(metric_title(metric))} has no direction: {markdown_text(HOW_TO_DECLARE)}.")
missing = len(versions.runs) - trend.measured
reported = sum(level.reported for level in trend.levels.values())
timestamps = len({run.created_at for run in versions.runs})
facts(
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
    "values: each version over the questions that it scored; differences: over shared questions",
)
unanswered = unanswered_text(trend, view.labels)
if unanswered:
    st.warning(
        f"{markdown_text(unanswered)}. Their means leave the other questions out, so comparing them with "
        "complete versions says little; the differences are over shared questions.",
        title="Not every version answered every question",
    )
warnings = [markdown_text(line) for line in comparability_warnings(trend.changes, view.labels)]
if warnings:
    title = f"Not fully comparable with the baseline (squares in the chart): {count(len(warnings), 'note')}"
    draw_folded(title, "trend_caveats", lambda: st.markdown("\n".join(f"- {line}" for line in warnings)))

n_releases = len(releases_of(view.store.ledger, view.project))
TABS = {
    "numbers": ("Numbers", lambda: show_numbers(view, trend)),
    "releases": (f"Releases ({n_releases})", lambda: show_releases(view, trend)),
}
draw_tabs(TABS, "trend_tabs")
