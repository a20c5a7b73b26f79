"""The pieces of the Triage page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard.charts.overview import Point, fix_first_bars
from dashboard.charts.plotly_figure import plotly_figure
from dashboard.charts.style import VERDICT_BADGES, VERDICT_MARKS
from dashboard.shell.components import draw, metric_title, show_table
from dashboard.shell.session import View, open_cases
from dashboard.wording.diagnosis import inferred_words, no_bad_case, ownership
from dashboard.wording.escaping import markdown_text
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
from data.comparison.compare import GOOD_SHARE, Comparison
from data.comparison.metric_families import shared_metrics
from data.diagnosis.diagnosis import Diagnosis
from data.scoring.summaries import MetricSummary, interpretation_of
from metrics.diagnosis.fix_first import UNEXPLAINED, FixFirst
from metrics.diagnosis.slices import SliceFinding
from metrics.metric_registry import declared, title_of
from metrics.sanity.run import Finding
from metrics.statistics.intervals import Interval

__all__ = [
    "fix_first_section",
]

SIGNIFICANT = ("better", "worse")
RARELY = ("system",)


def run_facts(view: View) -> list[str]:
    """Say in short what the run is."""
    run = view.run
    repeats = f" × {run.n / run.n_questions:.0f} repeats" if run.n > run.n_questions else ""
    dataset = (
        f"dataset {markdown_text(run.dataset)} {markdown_text(run.dataset_version)}" if run.dataset else ""
    )
    base = view.labels[view.baseline.run_id] if view.baseline else ""
    return [
        f"{count(run.n_questions, 'question')}{repeats} = {count(run.n, 'case')}",
        f"made {run.created_at:%Y-%m-%d %H:%M} UTC",
        dataset.strip(),
        f"baseline: {markdown_text(base)}" if base else "",
    ]


def of_questions(rate: Interval) -> str:
    """Say on how many questions of how many a rate rests."""
    return f"{rate.n_scored:,} of {count(rate.n_applicable, 'question')}"


def warnings_box(findings: Sequence[Finding]) -> None:
    """Show in short what must be read before the numbers: the errors and warnings."""
    found = [one for one in findings if one.severity in ("error", "warning")]
    if found:
        lines = "\n".join(f"- {markdown_text(one.title)}" for one in found[:4])
        more = f"\n- and {len(found) - 4} more" if len(found) > 4 else ""
        st.warning(f"{lines}{more}", title="Read before trusting these numbers (more under Checks, below)")


def measured_note(diagnosis: Diagnosis) -> str:
    """Say what the diagnosis could not see."""
    unseen = int((~diagnosis.coverage.fully).sum())
    return f"{unseen:,} not fully measured" if unseen else "every case measured"


def against_baseline(view: View) -> Comparison | None:
    """Compare the run with its baseline, where there is one."""
    if view.baseline is None:
        return None
    metrics = shared_metrics([view.scored(view.baseline), view.scored(view.run)])
    return view.comparison(view.baseline, view.run, metrics)


def baseline_card(comparison: Comparison | None) -> None:
    """Show the change of the pass rate since the baseline."""
    if comparison is None:
        st.metric("Since the baseline", NOT_MEASURED, border=True, height="stretch")
        return
    one = comparison.differences[0]
    gap = one.difference
    points = f"{signed(100 * gap.difference, 0)} points" if gap.n_pairs else NOT_MEASURED
    st.metric(
        "Pass rate since the baseline",
        points,
        border=True,
        height="stretch",
        delta=f"{VERDICT_MARKS[one.verdict]}, n = {count(gap.n_pairs, 'shared question')}",
        delta_color="off",
        delta_arrow="off",
        help=f"Paired on question; 95 % interval {interval_text(gap.low, gap.high)}, "
        f"p (Holm) {p_value(one.adjusted_p)}.",
    )


def changes(comparison: Comparison | None) -> None:
    """Say which metrics moved, and lead to the comparison."""
    if comparison is None:
        st.info("There is no other run in this project to compare with.")
        return
    for warning in comparison.warnings:
        st.caption(f"⚠ {markdown_text(warning)}")
    moved = [one for one in comparison.differences if one.verdict in SIGNIFICANT]
    family = f"{len(comparison.differences)} metrics, Holm-corrected"
    if not moved:
        st.write(f"No metric moved by more than chance explains ({family}).")
    for one in moved:
        gap = one.difference
        st.markdown(
            f":{VERDICT_BADGES[one.verdict]}-badge[{VERDICT_MARKS[one.verdict]}] "
            f"{markdown_text(metric_title(one.metric))}: {number(one.base)} → {number(one.other)} "
            f"({signed(gap.difference)}, {interval_text(gap.low, gap.high)}, n = {gap.n_pairs}; {family})"
        )
    if st.button("Compare in full", key="to_compare"):
        st.switch_page("views/compare.py")


def slices(diagnosis: Diagnosis) -> None:
    """List the slices that do worse than the rest, each leading to its cases."""
    found = diagnosis.worst_slices
    if not found:
        st.write("No slice (tag, query type, length) has enough questions and does worse than the rest.")
        return
    real = [one for one in found if one.adjusted_p < 0.05]
    looked = found[0].n_looked_at
    st.caption(
        f"{looked} slices looked at; {len(real)} worse than the rest beyond chance (Holm-corrected p < 0.05)."
    )
    show_table([_slice_row(one) for one in found[:6]], "Slices with the highest share of bad cases")
    titles = [f"{one.name}: {one.value}" for one in found[:6]]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = st.selectbox("Slice", range(len(titles)), format_func=titles.__getitem__, key="triage_slice")
        if st.button("Open its bad cases", key="open_slice"):
            open_cases(slices={found[at].name: found[at].value}, bad="yes")


def _slice_row(one: SliceFinding) -> dict[str, str]:
    return {
        "Slice": f"{one.name}: {one.value}",
        "Bad": f"{one.n_bad:,} of {one.n:,}",
        "Share": percent(one.rate),
        "The rest": percent(one.rate_rest),
        "p (Holm)": p_value(one.adjusted_p),
    }


def metric_table(view: View, summary: Mapping[str, MetricSummary], comparison: Comparison | None) -> None:
    """List every metric of the run with its interval, n, source and change."""
    moved = {one.metric: one for one in comparison.differences} if comparison else {}
    base = view.summary(view.baseline) if view.baseline else {}
    rows = []
    every = st.toggle("Every rank cut-off and every metric without a value", key="every_metric")
    for name, one in summary.items():
        if not every and (not one.n_scored or ("@" in name and not name.endswith("@5"))):
            continue
        found, change, said = declared(name), moved.get(name), interpretation_of(name, one)
        rows.append(
            {
                "Metric": metric_title(name),
                "Stage": found.component if found else "imported",
                "Mean": number(one.mean),
                "Band": said.standing,
                "95 % interval": interval_text(one.low, one.high)
                + (" few" if one.too_few and one.n_scored else ""),
                "n": f"{one.n_scored:,} of {one.n_applicable:,}",
                "Obtained": source_text(one),
                "Baseline": number(base[name].mean) if name in base else NOT_MEASURED,
                "Change": _change(change.difference.difference, change.verdict) if change else NOT_MEASURED,
                "In words": f"{said.sentence} {said.meaning}",
            }
        )
    show_table(rows, "Every metric with mean, interval, number of questions and source")
    missing = view.scored(view.run).missing
    if missing:
        with st.expander(f"Not computable from what this run records ({len(missing)})"):
            show_table(
                [
                    {"Metric": title_of(name.replace("@k", "@5")).replace("@5", "@k"), "Why": why}
                    for name, why in missing.items()
                ],
                "Metrics that this run does not allow, and why",
            )


def _change(difference: float, verdict: str) -> str:
    return f"{signed(difference)} {VERDICT_MARKS[verdict].split(' ')[0]}"


def trend_metrics(view: View) -> list[str]:
    """List the metrics a trend can show: those of the run that have values, one cut-off each."""
    return [
        name
        for name, one in view.summary(view.run).items()
        if one.n_scored and ("@" not in name or name.endswith("@5"))
    ]


def trend_points(view: View, metric: str) -> list[Point]:
    """Give the metric for every run of the project."""
    points = []
    for run in view.sampled:
        mean, low, high, n = _level(view, run.run_id, metric)
        points.append(
            Point(
                view.labels[run.run_id],
                f"{run.created_at:%Y-%m-%d %H:%M}",
                mean,
                low,
                high,
                n,
                run == view.run,
            )
        )
    return points


def _level(view: View, run_id: str, metric: str) -> tuple[float | None, float | None, float | None, int]:
    run = next(one for one in view.runs if one.run_id == run_id)
    if metric != GOOD_SHARE:
        one = view.summary(run).get(metric)
        return (one.mean, one.low, one.high, one.n_scored) if one else (None, None, None, 0)
    diagnosis = view.diagnosis(run)
    rate = diagnosis.pass_rate
    if not rate.n_scored:
        return None, None, None, 0
    return rate.mean, rate.low, rate.high, rate.n_scored


def fix_first_section(view: View, diagnosis: Diagnosis) -> None:
    """Draw the stages by their bad cases, say what the first one rests on, and lead to the cases."""
    entries = diagnosis.fix_first
    if not entries:
        _nothing_to_fix(diagnosis)
        return
    draw(plotly_figure(fix_first_bars(entries)), "fix_first", "Failure stages by number of bad cases")
    st.markdown(_first(entries[0], diagnosis))
    doubt = inferred_words(diagnosis, entries[0], view.findings(view.run))
    if doubt:
        st.caption(f"⚠ {markdown_text(doubt)}")
    titles = {entry.key: f"{entry.title} ({entry.n_bad:,})" for entry in entries}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Failure stage", list(titles), format_func=titles.__getitem__, key="triage_stage"
        )
        if st.button("Open these cases", type="primary", key="open_stage"):
            open_cases(stage=chosen)


def _nothing_to_fix(diagnosis: Diagnosis) -> None:
    said = markdown_text(no_bad_case(diagnosis))
    if diagnosis.measured.any():
        st.success(said, title="Nothing to fix at these cut-offs")
    else:
        st.info(said, title="Nothing measured yet")


def _first(top: FixFirst, diagnosis: Diagnosis) -> str:
    owned = ownership(top, int(diagnosis.bad.bad.sum()))
    if top.key == UNEXPLAINED:
        return f"**{owned}.** Read some of them; gold documents, claims or a judge's labels would tell more."
    return (
        f"**{top.title}** {owned}. If that stage were perfect, the pass rate would be "
        f"**at most {percent(top.pass_rate_if_perfect)}** (now {percent(diagnosis.pass_rate.mean)}): "
        "an upper bound, since a repaired case may still fail later."
    )
