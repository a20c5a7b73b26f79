"""The Triage page without its gates: pass rate, what to fix first, changes, slices, metrics and trend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from dashboard.charts.overview import Point, fix_first_bars, trend
from dashboard.charts.plotly_figure import plotly_figure
from dashboard.charts.style import VERDICT_BADGES, VERDICT_LABELS
from dashboard.shell.components import draw, facts, metric_title, read_first_box, show_table
from dashboard.shell.session import View, go_to_page, open_cases
from dashboard.shell.widgets import choose
from dashboard.wording.comparisons import correction_text, not_compared_text, tested_text
from dashboard.wording.diagnosis import doubted_by, fix_first_sentence, no_bad_case, rate_title, stage_title
from dashboard.wording.escaping import capital, markdown_text
from dashboard.wording.formatting import (
    NOT_MEASURED,
    count,
    interval_text,
    number,
    p_value,
    percent,
    signed,
    source_text,
)
from dashboard.wording.runs import baseline_text
from data.comparison.band_scales import SCALE_TITLES, band_scale, interpretations
from data.comparison.compare import GOOD_SHARE, Comparison, MetricDifference
from data.comparison.metric_families import shared_metrics
from data.comparison.trend import versions_of
from data.diagnosis.diagnosis import Diagnosis
from data.diagnosis.doubts import metric_doubts
from data.scoring.summaries import MetricSummary
from data.store.workspace import Run
from metrics.diagnosis.fix_first import UNEXPLAINED
from metrics.metric_registry import declared, imported_declarations, title_of
from metrics.sanity.documents import read_first
from metrics.sanity.run import Finding

__all__ = [
    "baseline_card",
    "change_section",
    "compared_with_baseline",
    "fix_first_section",
    "metric_table",
    "pass_rate_cards",
    "run_facts",
    "since_text",
    "slice_section",
    "trend_section",
    "warnings_box",
]

MOST_WARNINGS = 4
MOST_SLICES = 6


def run_facts(view: View) -> list[str]:
    """List the size, date, dataset and baseline of the run on display."""
    run = view.run
    repeats = f" × {run.n / run.n_questions:.0f} repeats" if run.n > run.n_questions else ""
    dataset = f"dataset {markdown_text(f'{run.dataset} {run.dataset_version}')}" if run.dataset else ""
    baseline = f"baseline: {markdown_text(baseline_text(view.found, view.previous, view.labels))}"
    return [
        f"{count(run.n_questions, 'question')}{repeats} = {count(run.n, 'case')}",
        f"made {run.created_at:%Y-%m-%d %H:%M} UTC",
        dataset,
        baseline,
    ]


def warnings_box(findings: Sequence[Finding]) -> None:
    """Show what must be read first in full, and the titles of the other errors and warnings."""
    read_first_box(findings)
    first = read_first(findings)
    serious = [
        finding for finding in findings if finding.severity in ("error", "warning") and finding not in first
    ]
    if not serious:
        return
    lines = [markdown_text(finding.title) for finding in serious[:MOST_WARNINGS]]
    if len(serious) > MOST_WARNINGS:
        lines.append(f"and {len(serious) - MOST_WARNINGS} more")
    st.warning(
        "\n".join(f"- {line}" for line in lines),
        title="Read before trusting these numbers (details under “Sanity checks” below)",
    )


def pass_rate_cards(diagnosis: Diagnosis) -> None:
    """Show the pass rate with its interval, and the number of bad cases."""
    rate, bad = diagnosis.pass_rate, int(diagnosis.bad.bad.sum())
    st.metric(
        markdown_text(rate_title(diagnosis)),
        percent(rate.mean),
        border=True,
        height="stretch",
        delta=f"{interval_text(rate.low, rate.high)}, "
        f"n = {rate.n_scored:,} of {count(rate.n_applicable, 'question')}",
        delta_color="off",
        delta_arrow="off",
        help="Share of measured cases that fall below no threshold, fail no check, do not refuse a question "
        "that has an answer, and were not labelled bad. Repeats are averaged first; 95 % interval.",
    )
    incomplete = int((~diagnosis.coverage.fully).sum())
    st.metric(
        "Bad cases",
        f"{bad:,} of {diagnosis.scored.n:,}" if diagnosis.measured.any() else NOT_MEASURED,
        border=True,
        height="stretch",
        delta=f"{incomplete:,} not fully measured" if incomplete else "every case measured",
        delta_color="off",
        delta_arrow="off",
    )


def compared_with_baseline(view: View) -> Comparison | None:
    """Compare the run with its baseline; None without one."""
    if view.baseline is None:
        return None
    metrics = shared_metrics([view.scored(view.baseline), view.scored(view.run)])
    return view.comparison(view.baseline, view.run, metrics)


def since_text(view: View) -> str:
    """Return what changes are counted from."""
    return "since the run before" if view.found.run is None and view.previous else "since the baseline"


def baseline_card(view: View, comparison: Comparison | None) -> None:
    """Show the change of the pass rate since the baseline, or since the run before."""
    if comparison is None:
        st.metric(
            "Since the baseline",
            NOT_MEASURED,
            border=True,
            height="stretch",
            delta="this run is the baseline" if view.found.itself else "no other run",
            delta_color="off",
            delta_arrow="off",
        )
        return
    change = next(row for row in comparison.differences if row.metric == GOOD_SHARE)
    difference = change.difference
    st.metric(
        f"Pass rate {since_text(view)}",
        f"{signed(100 * difference.difference, 0)} points" if difference.n_pairs else NOT_MEASURED,
        border=True,
        height="stretch",
        delta=f"{VERDICT_LABELS[change.verdict]}, n = {count(difference.n_pairs, 'shared question')}",
        delta_color="off",
        delta_arrow="off",
        help=f"Paired by question; interval of the verdict {interval_text(change.low, change.high)}, "
        f"{correction_text(comparison, change)}, p {p_value(change.adjusted_p)}; "
        f"the pass rate's interval by itself {interval_text(difference.low, difference.high)}.",
    )


def fix_first_section(view: View, diagnosis: Diagnosis) -> None:
    """Draw the failure stages by their bad cases, explain the first one, and link to the cases."""
    entries = diagnosis.fix_first
    if not entries:
        message = markdown_text(no_bad_case(diagnosis))
        if diagnosis.measured.any():
            st.success(message, title="Nothing to fix at these thresholds")
        else:
            st.info(message, title="Nothing measured yet")
        return
    findings = view.findings(view.run)
    entries = [replace(entry, title=stage_title(diagnosis, entry.key, findings)) for entry in entries]
    draw(plotly_figure(fix_first_bars(entries)), "fix_first", "Failure stages by number of bad cases")
    bound = (
        "Read some of them; gold documents, claims or judge results would explain more."
        if entries[0].key == UNEXPLAINED
        else "If that stage were perfect, the pass rate would be at most "
        f"{percent(entries[0].pass_rate_if_perfect)} (now {percent(diagnosis.pass_rate.mean)}): an upper "
        "bound, since a repaired case may still fail at a later stage."
    )
    st.markdown(markdown_text(fix_first_sentence(diagnosis, findings, bound)))
    titles = {entry.key: f"{entry.title}: {entry.n_bad:,}" for entry in entries}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        stage = st.selectbox(
            "Failure stage", list(titles), format_func=titles.__getitem__, key="triage_stage"
        )
        if st.button("Open these cases", type="primary", key="open_stage"):
            open_cases(stage=stage)


def change_section(view: View, comparison: Comparison | None) -> None:
    """List the metrics that moved since the baseline, and link to the full comparison."""
    if comparison is None:
        none = "There is no other run in this project to compare with."
        itself = "This run is the baseline and compared with nothing; *Compare* shows the others beside it."
        st.info(itself if view.found.itself else none)
        return
    for warning in comparison.warnings:
        st.caption(f"⚠ {markdown_text(warning)}")
    nothing = not_compared_text(comparison)
    if nothing:
        st.write(f"{capital(nothing)}.")
        return
    moved = [change for change in comparison.differences if change.verdict in ("better", "worse")]
    if not moved:
        st.write("No metric moved more than chance explains.")
    for change in moved:
        difference = change.difference
        st.markdown(
            f":{VERDICT_BADGES[change.verdict]}-badge[{VERDICT_LABELS[change.verdict]}] "
            f"{markdown_text(metric_title(change.metric))}: {number(change.base)} → {number(change.other)} "
            f"({signed(difference.difference)}, {interval_text(change.low, change.high)}, "
            f"{correction_text(comparison, change)}, n = {count(difference.n_pairs, 'pair')})",
            help=f"By itself, 95 %: {interval_text(difference.low, difference.high)}.",
        )
    st.caption(tested_text(comparison))
    if st.button("Compare in full", key="to_compare"):
        go_to_page("compare")


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
    rows = [
        {
            "Slice": title,
            "Bad": f"{finding.n_bad:,} of {finding.n:,}",
            "Share": percent(finding.rate),
            "The rest": percent(finding.rate_rest),
            "p (Holm)": p_value(finding.adjusted_p),
        }
        for title, finding in zip(titles, shown, strict=True)
    ]
    show_table(rows, "Slices with the highest share of bad cases")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = st.selectbox("Slice", range(len(titles)), format_func=titles.__getitem__, key="triage_slice")
        if st.button("Open its bad cases", key="open_slice"):
            open_cases(slices={shown[at].name: shown[at].value}, bad="yes")


def metric_table(view: View, summaries: Mapping[str, MetricSummary], comparison: Comparison | None) -> None:
    """List every metric of the run with its mean, interval, n, source and change.

    Baseline and change are over the questions with a value in both runs; where the mean is over more of them,
    or nothing is compared, the column beside says so.
    """
    changes = {change.metric: change for change in comparison.differences} if comparison else {}
    base_title = f"{view.labels[view.previous.run_id]} (run before)" if view.previous else "Baseline"
    show_all = st.toggle("Show every k, and metrics without a value", key="every_metric")
    scale = band_scale(
        view.store.workspace, choose("Bands", "bands", list(SCALE_TITLES), SCALE_TITLES, width=320)
    )
    findings = view.findings(view.run)
    readings = interpretations(view.scored(view.run), summaries, scale)
    rows = []
    for name, summary in summaries.items():
        if not show_all and (not summary.n_scored or not _is_usual_k(name)):
            continue
        metric, change, reading = declared(name), changes.get(name), readings[name]
        compared = change is not None and change.difference.n_pairs > 0
        few = " few" if summary.too_few and summary.n_scored else ""
        doubts = doubted_by(metric_doubts(view.scored(view.run), findings, name))
        rows.append(
            {
                "Metric": f"{metric_title(name)}{' ⚠' if doubts else ''}",
                "Stage": "imported"
                if metric is None or name in imported_declarations()
                else metric.component,
                "Mean": number(summary.mean),
                "Band": reading.standing,
                "95 % interval": f"{interval_text(summary.low, summary.high)}{few}",
                "n": f"{summary.n_scored:,} of {summary.n_applicable:,}",
                "Obtained": source_text(summary),
                base_title: number(change.base) if change and compared else NOT_MEASURED,
                "Change": _change_text(change) if change and compared else NOT_MEASURED,
                "Compared over": _compared_over(view, name, summary, change),
                "In words": f"{capital(f'{doubts}. ') if doubts else ''}{reading.sentence} {reading.meaning}",
            }
        )
    show_table(rows, "Every metric with mean, interval, number of questions and source")
    missing = view.scored(view.run).missing
    if missing:
        with st.expander(f"Not computable from what this run records ({len(missing)})"):
            reasons = [
                {"Metric": title_of(name.replace("@k", "@5")).replace("@5", "@k"), "Why": reason}
                for name, reason in missing.items()
            ]
            show_table(reasons, "Metrics that this run does not allow, and why")


def _compared_over(view: View, metric: str, summary: MetricSummary, change: MetricDifference | None) -> str:
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
    if not np.isfinite(scored.values(metric)).any():
        return f"no value in {view.labels[view.baseline.run_id]}"
    return "not compared: of several k, 5 alone"


def _change_text(change: MetricDifference) -> str:
    return f"{signed(change.difference.difference)} {VERDICT_LABELS[change.verdict].split(' ')[0]}"


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
