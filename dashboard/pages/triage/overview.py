"""The second layer of the Triage page: every metric, the worst slices and the trend."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.overview import Point, trend
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import draw, facts, metric_title, show_table
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.tables.run import metric_table, missing_table, worst_slice_table
from ragtriage.dashboard.wording.comparisons import tested_text
from ragtriage.dashboard.wording.diagnosis import doubted_by
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.compared_metrics import shared_metrics
from ragtriage.data.comparison.published_results import SCALE_TITLES, band_scale, interpretations
from ragtriage.data.comparison.trend import versions_of
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import metric_doubts
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.number_text import count, number

MOST_SLICES = 6


def compared_with_baseline(view: View) -> Comparison | None:
    """Compare the run with its baseline; None without one."""
    if view.baseline is None:
        return None
    metrics = shared_metrics([view.scored(view.baseline), view.scored(view.run)])
    return view.comparison(view.baseline, view.run, metrics)


def slice_section(diagnosis: Diagnosis) -> None:
    """List the slices with the highest share of bad cases, and link to their cases."""
    findings = diagnosis.worst_slices
    if not findings:
        st.write("No slice (tag, question type, length) with enough questions does worse than the rest.")
        return
    certain = sum(finding.adjusted_p < 0.05 for finding in findings)
    st.caption(
        f"{findings[0].n_looked_at} slices tested; {certain} do worse than the rest "
        "(p (Holm) < 0.05; one-sided exact test, since a slice and the rest share no question to pair)."
    )
    shown = findings[:MOST_SLICES]
    titles = [f"{finding.name}: {finding.value}" for finding in shown]
    show_table(worst_slice_table(shown))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = st.selectbox("Slice", range(len(titles)), format_func=titles.__getitem__, key="triage_slice")
        if st.button("Open its bad cases", key="open_slice"):
            open_cases(slices={shown[at].name: shown[at].value}, bad="yes")


def metric_section(view: View, summaries: Mapping[str, MetricSummary], comparison: Comparison | None) -> None:
    """List every metric of the run with its mean, interval, n, source and change."""
    changes = {change.metric: change for change in comparison.differences} if comparison else {}
    base_title = f"{view.labels[view.previous.run_id]} (run before)" if view.previous else "Baseline"
    show_all = st.toggle("Show every k, and metrics without a value", key="every_metric")
    scale = band_scale(
        view.store.workspace, choose("Bands", "bands", list(SCALE_TITLES), SCALE_TITLES, width=320)
    )
    scored, findings = view.scored(view.run), view.findings(view.run)
    listed = {
        name: summary
        for name, summary in summaries.items()
        if show_all or (summary.n_scored and _is_usual_k(name))
    }
    show_table(
        metric_table(
            listed,
            interpretations(scored, listed, scale),
            {name: doubted_by(metric_doubts(scored, findings, name)) for name in listed},
            changes,
            base_title,
            lambda summary: _compared_over(view, summary, changes.get(summary.metric)),
        )
    )
    if comparison is not None:
        facts([markdown_text(tested_text(comparison))])
        for warning in comparison.warnings:
            st.caption(f"⚠ {markdown_text(warning)}")
    if scored.missing:
        with st.expander(f"Not computable from what this run records ({len(scored.missing)})"):
            show_table(missing_table(scored.missing))


def _compared_over(view: View, summary: MetricSummary, change: MetricDifference | None) -> str:
    """Return over how many questions a metric is compared, with the mean over them; or why it is not."""
    if view.baseline is None:
        return view.found.note if view.found.itself else "no other run"
    if change is not None:
        pairs = change.difference.n_pairs
        if not pairs:
            return "no question has a value in both"
        if pairs == summary.n_scored:
            return f"the same {count(pairs, 'question')}"
        return f"{pairs:,} of {count(summary.n_scored, 'question')}; mean here {number(change.other)}"
    if not summary.n_scored:
        return "no value here"
    scored = view.scored(view.baseline)
    if not np.isfinite(scored.values(summary.metric)).any():
        return f"no value in {view.labels[view.baseline.run_id]}"
    return "not compared: of several k, 5 alone"


def _is_usual_k(name: str) -> bool:
    return "@" not in name or name.endswith("@5")


def trend_section(view: View, summaries: Mapping[str, MetricSummary]) -> None:
    """Draw one metric over the runs of the project."""
    measured = [name for name, summary in summaries.items() if summary.n_scored and _is_usual_k(name)]
    metric = choose("Metric", "metric", [GOOD_SHARE, *measured], metric_title)
    base = view.comparison_base
    runs = versions_of(view.sampled, [run.run_id for run in (view.run, base) if run is not None]).runs
    points = [_trend_point(view, run, metric) for run in runs]
    missing = sum(point.mean is None for point in points)
    if len(points) - missing < 2:
        st.info("A trend needs two runs that measured this metric.")
        return
    baseline = next((point.mean for point, run in zip(points, runs, strict=True) if run == base), None)
    title = metric_title(metric)
    draw(plotly_figure(trend(points, title, baseline)), "trend", "The metric over runs with 95 % intervals")
    facts(
        [
            "oldest run left",
            "bars are 95 % intervals",
            f"not measured in {count(missing, 'run')}" if missing else "",
        ]
    )


def _trend_point(view: View, run: Run, metric: str) -> Point:
    made = f"{run.created_at:%Y-%m-%d %H:%M}"
    level = view.diagnosis(run).pass_rate if metric == GOOD_SHARE else view.summary(run).get(metric)
    if level is None or (metric == GOOD_SHARE and not level.n_scored):
        return Point(view.labels[run.run_id], made, None, None, None, 0, run == view.run)
    return Point(
        view.labels[run.run_id], made, level.mean, level.low, level.high, level.n_scored, run == view.run
    )
