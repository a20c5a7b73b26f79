"""The tabs of the Triage page: gates, metrics, the F1 tree, slices, the trend."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.causes import f1_bars
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.version_lines import Point, trend
from ragtriage.dashboard.pages.triage.overview import badness
from ragtriage.dashboard.shell.components import (
    bundled_example,
    clicked,
    draw,
    facts,
    metric_title,
    show_table,
)
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.user import attempt, current_user, may_write, name_box, only_reads
from ragtriage.dashboard.shell.widgets import choose, draw_folded
from ragtriage.dashboard.tables.gates import gate_table
from ragtriage.dashboard.tables.run import (
    compared_cells,
    expected_table,
    f1_table,
    metric_table,
    missing_table,
    worst_slice_table,
)
from ragtriage.dashboard.wording.comparisons import tested_text
from ragtriage.dashboard.wording.diagnosis import (
    BOUND_NOTE,
    doubted_by,
    expected_text,
    f1_part_title,
    f1_sentence,
    largest_leaf,
    left_out_text,
)
from ragtriage.dashboard.wording.escaping import capital, markdown_text
from ragtriage.dashboard.wording.gates import newly_failing_text, rule_texts
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.published_results import SCALE_TITLES, band_scale, interpretations
from ragtriage.data.comparison.trend import versions_of
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import metric_doubts
from ragtriage.data.diagnosis.f1_tree import f1_diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import Baseline
from ragtriage.data.gates.config import GateConfig, load_gates
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.data.strategy.expected_gains import expect_gain, outlook_of, undo_gain
from ragtriage.metrics.diagnosis.f1_tree import F1Tree
from ragtriage.metrics.gates.wording import GOOD_SHARE, VERDICT_WORDS
from ragtriage.metrics.number_text import count, number, signed

MOST_SLICES = 6
CHANGE_WIDTH = 140  # pixels of a change with both means, as "+0.25 (0.58 → 0.83)"
_PART, _GAIN, _MEASURE = "expected_part", "expected_gain", "expected_measure"
_f1 = kept(f1_diagnosis)


def compared_with_baseline(view: View) -> Comparison | None:
    """Compare the run with its baseline; None without one."""
    return None if view.baseline is None else view.comparison(view.baseline, view.run)


def slice_section(diagnosis: Diagnosis) -> None:
    """List the slices with the highest share of bad cases, and link to their cases."""
    findings = diagnosis.worst_slices
    if diagnosis.scored.question_weights is not None:
        st.write("Slices are not tested: the test knows no weights, and these samples have them.")
        return
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
            lambda summary: compared_cells(
                base_title,
                changes.get(summary.metric),
                _compared_over(view, summary, changes.get(summary.metric)),
            ),
        )
    )
    if comparison is not None:
        facts(markdown_text(tested_text(comparison)))
        for warning in comparison.warnings:
            st.caption(f"⚠ {markdown_text(warning)}")
    if missing := scored.missing:
        title = f"Not computable from what this run records ({len(missing)})"
        draw_folded(title, "not_computable", lambda: show_table(missing_table(missing)))


def _compared_over(view: View, summary: MetricSummary, change: MetricDifference | None) -> str:
    """Return over how many questions a metric is compared, with the mean over them; or why it is not."""
    if view.baseline is None:
        return view.found.note if view.found.itself else "no other run"
    if change is not None:
        pairs = change.difference.n_pairs
        if not pairs:
            return "no question has a value in both"
        if change.difference.unpaired is not None:
            return "unpaired: {:,} and {:,} sampled calls".format(*change.difference.unpaired)
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
        "oldest run left",
        "bars are 95 % intervals",
        f"not measured in {count(missing, 'run')}" if missing else "",
    )


def _trend_point(view: View, run: Run, metric: str) -> Point:
    created = f"{run.created_at:%Y-%m-%d %H:%M}"
    level = view.diagnosis(run).pass_rate if metric == GOOD_SHARE else view.summary(run).get(metric)
    if level is None or (metric == GOOD_SHARE and not level.n_scored):
        return Point(view.labels[run.run_id], created, None, None, None, 0, run == view.run)
    return Point(
        view.labels[run.run_id], created, level.mean, level.low, level.high, level.n_scored, run == view.run
    )


def gate_report(view: View) -> GateReport | DataError:
    """Judge the run on display as `ragtriage gate` does; the error where the gates cannot be read."""
    compared = None if view.found.run is None else view.usual_diagnosis(view.found.run)
    try:
        config = load_gates(view.store.workspace)
        return _gate_report(view.store, view.usual_diagnosis(view.run), view.found, compared, config)
    except DataError as error:
        return error


@kept
def _gate_report(
    store: RunStore, diagnosis: Diagnosis, baseline: Baseline, compared: Diagnosis | None, config: GateConfig
) -> GateReport:
    diagnoses = {side.scored.run.run_id: side for side in (diagnosis, compared) if side is not None}
    return gate_run(store, diagnosis.scored.run, baseline, config, lambda run: diagnoses[run.run_id])


def gate_section(view: View, report: GateReport | DataError) -> None:
    """Show every gate, what makes the runs hard to compare, and the questions that newly fail."""
    if isinstance(report, DataError):
        st.error(markdown_text(str(report)), title="The gates cannot be read")
        return
    usual = type(view.selection)()
    moved = view.selection.settings() != usual.settings() or view.selection.convention != usual.convention
    name = markdown_text(report.baseline_name) if report.baseline.run else "none"
    sentences = [
        f"- **{VERDICT_WORDS[result.verdict]}** {markdown_text(result.sentence)}" for result in report.results
    ]
    worst_first = gate_table(sorted(report.results, key=badness))
    show_table(
        replace(worst_first, note=newly_failing_text(report)),
        {
            "Gate": st.column_config.Column(pinned=True),
            "Measured": st.column_config.Column(width=CHANGE_WIDTH),
            "Distance": None,  # the list above has it
        },
        *map(capital, rule_texts(report)),
        "*Detectable difference*: the smallest that a sample of this size shows 4 times in 5",
        f"Baseline: {name} ({markdown_text(report.baseline.note)}); gates: "
        f"{markdown_text(Path(report.source).name)}",
        "Judged at the usual thresholds and convention, whatever is selected" if moved else "",
        "\n".join(sentences),
    )
    for warning in report.warnings:
        st.caption(f"⚠ {markdown_text(warning)}")


def f1_section(view: View) -> None:
    """Draw the tree of a run, its table, what to try, and the expected gains."""
    diagnosis = _f1(view.scored(view.run))
    st.markdown(f"**{markdown_text(f1_sentence(diagnosis))}**")
    tree = diagnosis.tree
    if tree is None:
        st.caption(f"`ragtriage judge {view.run.run_id}` has the claims of answers and references labelled.")
        bundled_example("handbook", "V1 baseline", "shows why F1 is low")
        return
    bar = clicked(plotly_figure(f1_bars(tree)), "f1_tree", "F1 that each perfect part would add, at most")
    if bar is not None and bar[0]:
        open_cases(cohort=bar[0])
    facts(
        "click a bar to open its cases",
        BOUND_NOTE,
        left_out_text(diagnosis),
        f"source: {markdown_text(diagnosis.sources)}",
    )
    _part_table(view, tree)
    _expected(view, tree)


def _part_table(view: View, tree: F1Tree) -> None:
    scale = band_scale(
        view.store.workspace, choose("Bands", "bands", list(SCALE_TITLES), SCALE_TITLES, width=320)
    )
    show_table(f1_table(tree, scale))
    parts = {branch.part.key: branch for branch in tree.branches if branch.n_cases}
    if not parts:
        return
    leaf = largest_leaf(tree)
    first = 0 if leaf is None else list(parts).index(leaf.part.key)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = st.selectbox("Part", list(parts), first, format_func=f1_part_title, key="f1_part", width=320)
        if st.button(f"Open its {parts[key].n_cases:,} cases", key="open_f1_part"):
            open_cases(cohort=f"f1:{key}")
    st.markdown("\n".join(f"- {measure}" for measure in parts[key].part.measures))


def _expected(view: View, tree: F1Tree) -> None:
    """Draw what the team expects its measures to bring: assumptions, apart from what is computed."""
    st.markdown("#### What you expect to gain")
    st.caption(
        "Assumptions of the team, not computed: entered with name and date, added up, and compared with the "
        "next run of the project."
    )
    outlook = outlook_of(view.store, view.run, tree)
    if outlook.gains:
        show_table(expected_table(outlook.gains))
        st.markdown(markdown_text(expected_text(outlook)))
    for caution in outlook.cautions:
        st.caption(f"⚠ {markdown_text(capital(caution))}.")
    if may_write():
        _expectation_form(view, tree)
    else:
        only_reads("Expected gains")


def _expectation_form(view: View, tree: F1Tree) -> None:
    keys = [branch.part.key for branch in tree.branches if branch.part.costs_f1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Measure", key=_MEASURE, max_chars=200, placeholder="What is to be done", width=300)
        st.selectbox("Works on", keys, format_func=f1_part_title, key=_PART, width=260)
        st.number_input(
            "Expected F1", min_value=0.01, max_value=1.0, step=0.01, value=0.02, key=_GAIN, width=130
        )
        name_box()
        named = bool(current_user())
        st.button("Add", key="expect_add", disabled=not named, on_click=_add, args=(view,))
        st.button(
            "Undo", key="expect_undo", disabled=not named, type="tertiary", on_click=_undo, args=(view,)
        )


def _add(view: View) -> None:
    def change() -> None:
        chosen = st.session_state
        expect_gain(
            view.store.ledger,
            view.run.run_id,
            chosen[_PART],
            float(chosen[_GAIN]),
            chosen[_MEASURE],
            current_user(),
        )

    attempt(change)


def _undo(view: View) -> None:
    def change() -> str:
        entry = undo_gain(view.store.ledger, view.run.run_id, current_user())
        if entry is None:
            return "You have no entry on this run."
        return f"Removed: {markdown_text(entry.measure or f1_part_title(entry.part))} {signed(entry.gain)}"

    attempt(change)
