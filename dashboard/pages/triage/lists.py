"""The three lists of the Triage page: what to fix first, the worst gates, what changed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from urllib.parse import urlencode

import streamlit as st

from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.pages.triage.overview import STATES, badness, gate_need, rate_need
from ragtriage.dashboard.present.page_html.blocks import (
    ChangeRow,
    FixRow,
    GateRow,
    Strip,
    change_rows,
    fix_row,
    gate_rows,
    section_title,
)
from ragtriage.dashboard.shell.components import current_theme, metric_title
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, go_to_page, open_cases
from ragtriage.dashboard.tables.project import shown_text
from ragtriage.dashboard.wording.comparisons import (
    OUTCOME_MARKS,
    correction_text,
    not_compared_text,
    outcome_text,
)
from ragtriage.dashboard.wording.diagnosis import inference_caveat, no_bad_case, stage_advice
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.dashboard.wording.next_steps import step_words
from ragtriage.data.cases.comparison_cohorts import newly_failing_cohort_key
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.compared_metrics import in_family
from ragtriage.data.comparison.guardrails import GUARDRAILS, WRONG_REFUSALS
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.gates.next_steps import NextStep, next_steps
from ragtriage.data.gates.report import GateReport
from ragtriage.data.strategy.holdings import MOST_RUNS, sample_size
from ragtriage.data.strategy.plan import is_version
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED, FixFirst
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.gates.gates import SHARES, GateResult, allowed_loss
from ragtriage.metrics.gates.wording import (
    GOOD_SHARE,
    change_interval,
    change_text,
    guardrail_value,
    level_text,
    subject_of,
)
from ragtriage.metrics.metric_registry import bounds_of, declared
from ragtriage.metrics.number_text import MINUS, count, number, percent
from ragtriage.metrics.sanity.rule import Finding

MOST_GATES, MOST_CHANGES, MOST_STEPS = 7, 6, 3
LARGEST_WRITTEN = 100_000  # values from there on are written as 1e5
LEAST_SCALE = 0.2  # of the strips of changes, to both sides
LONGEST_NAME, LONGEST_WARNING = 24, 100


def fix_list(view: View, diagnosis: Diagnosis, report: GateReport | None) -> None:
    """List the next steps, what must be settled before any stage on top; a stage opens its cases."""
    findings = view.findings(view.run)
    steps = next_steps(diagnosis, () if report is None else report.results, findings)
    settled = steps[:1] if steps and steps[0].kind in ("finding", "scores", "labels") else ()
    words = [step_words(step) for step in settled]
    notice, advice = (f"First: {in_sentence(words[0].what)}", words[0].why) if words else ("", "")
    st.html(section_title("Fix first", notice=notice, advice=advice))
    if not diagnosis.fix_first:
        st.caption(no_bad_case(diagnosis, findings))
    entries = {entry.key: entry for entry in diagnosis.fix_first}
    for at, step in enumerate(steps[len(settled) : MOST_STEPS]):
        with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
            if step.kind != "stage":
                st.html(fix_row(_step_row(step)))
                continue
            st.html(fix_row(_fix_row(diagnosis, entries[step.key], findings, step)))
            key = "open_stage" if at == 0 else f"open_stage_{at}"
            if st.button(
                "Open", icon=":material/arrow_forward:", icon_position="right", type="tertiary", key=key
            ):
                open_cases(stage=step.key)


def _step_row(step: NextStep) -> FixRow:
    """Return a step that repairs no stage: what to do and why, without a bar."""
    words = step_words(step)
    return FixRow(
        words.what, words.outlook, 0.0, 0.0, THEMES[current_theme()].stages["unexplained"], words.why
    )


def _fix_row(diagnosis: Diagnosis, entry: FixFirst, findings: Sequence[Finding], step: NextStep) -> FixRow:
    stage, unexplained = STAGES[stage_code(entry.key)], entry.key == UNEXPLAINED
    words = step_words(step)
    most = f"{entry.bound} {percent(entry.pass_rate_if_perfect)}"
    takes = f" Takes {step.effort}." if step.effort else ""
    bound = f"{capital(f'{words.likely} ({most})' if words.likely else f'{most} pass')}.{takes}"
    explained = (
        f"If this stage were perfect, {entry.bound} {percent(entry.pass_rate_if_perfect)} would pass (now "
        f"{percent(entry.pass_rate_now)}): an upper bound, since a repaired case may fail at a later stage."
    )
    caveat, advice = inference_caveat(diagnosis, entry), stage_advice(diagnosis, entry.key, findings)
    return FixRow(
        words.what,
        "" if unexplained else bound,
        entry.pass_rate_now,
        entry.pass_rate_if_perfect - entry.pass_rate_now,
        THEMES[current_theme()].stages[entry.owner],
        stage.advice,
        bool(entry.n_inferred),
        " ".join(filter(None, [f"{stage.title}.", words.outlook, explained, caveat, advice])),
    )


def gate_list(view: View, report: GateReport | None) -> None:
    """List the worst gates, each with its place on a strip and a link to its cases, the worst first."""
    if report is None:
        st.html(gate_rows("Gates", [], "The gates cannot be read; see All gates below."))
        return
    shown = sorted(report.results, key=badness)[:MOST_GATES]
    shown = [result for result in shown if result.verdict != "UNMEASURED"] or shown
    unmeasured = sum(result.verdict == "UNMEASURED" for result in report.results)
    changes = [result for result in shown if result.gate.kind == "regression"]
    ends = [
        abs(end) for result in changes for end in (result.mean, result.low, result.high) if end is not None
    ]
    scale = max([LEAST_SCALE, *ends])
    foot = f"{_holding(report)} · {unmeasured:,} not measured · all {len(report.results):,} below"
    rows = [replace(_gate_row(result, scale), href=gate_link(view, result)) for result in shown]
    st.html(gate_rows(f"Gates: {gate_counts(report)}", rows, foot))


def gate_link(view: View, result: GateResult) -> str:
    """Return the address of the cases that a gate counts: bad or newly failing ones, or all, worst first."""
    gate, selection = (
        result.gate,
        view.selection.unfiltered().with_(project=view.project, run=view.run.run_id),
    )
    if gate.kind == "critical" and view.found.run is not None:
        selection = selection.with_(cohort=newly_failing_cohort_key(view.found.run.run_id))
    elif gate.kind == "guardrail" and GUARDRAILS[gate.metric]:
        selection = selection.with_(sort=GUARDRAILS[gate.metric], descending=True)
    elif gate.kind == "guardrail" and gate.metric == WRONG_REFUSALS:
        selection = selection.with_(bad="yes", refused="yes")
    elif gate.kind in ("mean", "percentile", "regression") and gate.metric != GOOD_SHARE:
        metric = declared(gate.metric)
        lower_is_better = gate.at_most or (metric is not None and metric.higher_is_better is False)
        selection = selection.with_(sort=gate.metric, descending=lower_is_better)
    else:
        selection = selection.with_(bad="yes")
    if gate.slice:
        selection = selection.with_(slices=dict([gate.slice]))
    return f"cases?{urlencode(selection.to_params())}"


def gate_counts(report: GateReport) -> str:
    """Return how many gates fail and cannot be told; where none does, how many hold."""
    verdicts = Counter((result.verdict, result.blocks) for result in report.results)
    failing, warned = verdicts["FAIL", True], verdicts["FAIL", False]
    undecided = verdicts["INCONCLUSIVE", True] + verdicts["INCONCLUSIVE", False]
    texts = [
        f"{failing:,} {'fails' if failing == 1 else 'fail'}" if failing else "",
        f"{warned:,} {'fails' if warned == 1 else 'fail'} (warning only)" if warned else "",
        f"{undecided:,} cannot tell" if undecided else "",
    ]
    held = any(result.verdict == "PASS" for result in report.results)
    return ", ".join(filter(None, texts)) or (_holding(report) if held else "none measured")


def _holding(report: GateReport) -> str:
    """Return how many gates hold, the blocking ones apart, as the headline counts them."""
    blocking, warning = (
        sum(result.verdict == "PASS" and result.blocks is blocks for result in report.results)
        for blocks in (True, False)
    )
    if not warning:
        return f"{blocking:,} blocking {'holds' if blocking == 1 else 'hold'}"
    return f"{blocking:,} blocking and {warning:,} warning {'gate holds' if warning == 1 else 'gates hold'}"


def _gate_row(result: GateResult, scale: float) -> GateRow:
    gate, state = result.gate, STATES[result.verdict]
    need = {
        "mean": gate_need(result),
        "percentile": gate_need(result),
        "regression": rate_need(result) if gate.metric == GOOD_SHARE else f"drop < {gate.threshold:g}",
        "checks": "every one passes" if gate.every else f"≥ {percent(gate.threshold)} pass",
        "critical": "none newly fails",
        "questions": f"≥ {percent(gate.threshold)} in the run",
        "guardrail": "vs baseline",
        "secrets": "none",
    }[gate.kind]
    where = f"{gate.slice[0]} {gate.slice[1]}" if gate.slice else ""
    notes = " · ".join(filter(None, [where, "" if gate.severity == "block" else "warns"]))
    change = gate.kind == "regression"
    higher = None if gate.metric == GOOD_SHARE else getattr(declared(gate.metric), "higher_is_better", None)
    higher = True if higher is None else higher
    start, end = (-scale, scale) if change else _ends(gate.metric)
    value = result.mean
    threshold = (-gate.threshold if higher else gate.threshold) if change else gate.threshold
    low, high = result.low, result.high
    if gate.kind == "guardrail" and value is not None:  # as shares of the baseline's
        start, end = -1.0, 1.0
        if gate.metric in SHARES:  # in points, as their limit is
            start, end = -LEAST_SCALE, LEAST_SCALE
            before = result.before or 0.0
            value, threshold = value - before, allowed_loss(gate.metric, before)
        else:
            value = _share_of(value - (result.before or 0.0), result.before)
            low, high = (None if at is None else _share_of(at, result.before) for at in (low, high))
            threshold = gate.threshold if gate.at_most else -gate.threshold
    return GateRow(
        state,
        subject_of(gate),
        f"{need}{f' · {notes}' if notes else ''}",
        gate_value(result),
        Strip(
            value,
            low,
            high,
            gate=threshold if gate.kind != "critical" else None,
            state=state,
            label=result.sentence,
            start=start,
            end=end,
            higher_is_better=higher if change else not gate.at_most,
        ),
        result.sentence,
        bool(result.doubt),
    )


def _share_of(change: float, before: float | None) -> float:
    """Return a change as a share of what was there before, as far as the strip reaches."""
    return max(-1.0, min(1.0, change / before)) if before else 1.0 if change > 0 else 0.0


def gate_value(result: GateResult) -> str:
    """Return the mean or change of a gate, short enough for its column: 12,346 or 1e308."""
    value = result.mean
    if result.gate.kind == "guardrail":
        return guardrail_value(result.gate.metric, value)
    if value is not None and isfinite(value) and abs(value) >= LARGEST_WRITTEN:
        return f"{value:.0e}".replace("e+", "e").replace("-", MINUS)
    if result.gate.kind == "regression":
        return change_text(result.gate.metric, value)
    return number(value)


def _ends(metric: str) -> tuple[float, float]:
    low, high = bounds_of(metric)
    return (low, high) if high - low < 1000 else (0.0, 1.0)


def question_link(view: View) -> None:
    """Say what change the questions of the run can show, with a link to what is in them."""
    runs = [run for run in view.sampled if is_version(run)][-MOST_RUNS:]  # no more of them are looked at
    versions = tuple(map(view.usual_diagnosis, runs))
    text = _shown(versions, view.run.n_questions)
    if text:
        st.page_link(
            "datasets/datasets.py", label=f":small[{text}]", icon=":material/quiz:",
            help="Datasets: which questions tell versions apart, which pages have none, who has read them",
        )  # fmt: skip


@kept
def _shown(versions: tuple[Diagnosis, ...], questions: int) -> str:
    by_run = {each.scored.run.run_id: each for each in versions}
    size = sample_size([each.scored.run for each in versions], lambda run: by_run[run.run_id])
    return shown_text(size, questions).rstrip(".")


def change_list(view: View, comparison: Comparison | None, report: GateReport | None, base_name: str) -> None:
    """List the metrics that moved beyond chance, then the pass rate and headline metrics that did not."""
    if comparison is None:
        itself = "This run is the baseline; Compare shows how the others differ from it."
        none = "There is no other run in this project to compare with."
        st.html(change_rows("Changed", [], itself if view.found.itself else none))
        return
    since = "the run before, " if view.found.run is None and view.previous else ""
    title = f"Changed since {since}{shorten(base_name, LONGEST_NAME)}"
    nothing = not_compared_text(comparison)
    rows = [] if nothing else [_change_row(comparison, change) for change in _worth_showing(comparison)]
    foot = f"{capital(nothing)}." if nothing else _change_foot(comparison, report)
    st.html(change_rows(title, rows, foot, _unequal(comparison)))
    with st.container(horizontal=True, gap="small"):
        if report is not None and report.baseline.run is not None and report.newly_failing:
            number = count(len(report.newly_failing), "question")
            broke = f"{number} newly {'fails' if len(report.newly_failing) == 1 else 'fail'}"
            if st.button(broke, icon=":material/trending_down:", key="open_broken", type="tertiary"):
                open_cases(cohort=newly_failing_cohort_key(report.baseline.run.run_id))
        if st.button("Compare in full", icon=":material/compare_arrows:", key="to_compare", type="tertiary"):
            go_to_page("compare", since="baseline")


def _worth_showing(comparison: Comparison) -> list[MetricDifference]:
    """Return what moved, then what did not; the pass rate and headline metrics before the others."""

    def rank(change: MetricDifference) -> tuple[bool, bool, bool]:
        headline = change.metric == GOOD_SHARE or in_family(change.metric, "headline")
        return change.verdict not in ("better", "worse"), not headline, change.verdict == "better"

    shown = ("better", "worse", "cannot tell", "no worse", "equal")
    compared = [row for row in comparison.differences if row.difference.n_pairs and row.verdict in shown]
    return sorted(compared, key=rank)[:MOST_CHANGES]


def _change_row(comparison: Comparison, change: MetricDifference) -> ChangeRow:
    states: dict[str, State] = {"better": "good", "worse": "bad", "cannot tell": "cannot tell"}
    state, mark = states.get(change.verdict, "good"), OUTCOME_MARKS[change.verdict]
    difference = change.difference
    return ChangeRow(
        state,
        mark,
        outcome_text(change),
        metric_title(change.metric),
        level_text(change.metric, change.base),
        level_text(change.metric, change.other),
        f"{change_text(change.metric, difference.difference)}, "
        f"{change_interval(change.metric, change.low, change.high)}, "
        f"{correction_text(comparison, change)}, n = {count(difference.n_pairs, 'pair')}",
    )


def _change_foot(comparison: Comparison, report: GateReport | None) -> str:
    """Return how many metrics did not move beyond chance, and how many questions pass again."""
    compared = [change for change in comparison.differences if change.difference.n_pairs]
    moved = sum(change.verdict in ("better", "worse") for change in compared)
    n = {change.difference.n_pairs for change in compared}
    foot = [f"{moved:,} of {count(len(compared), 'metric')} changed beyond chance (corrected)"]
    same_n = len(n) == 1 and not comparison.matched.sampled
    foot += [f"n = {count(next(iter(n)), 'question')}"] if same_n else []
    how = "unpaired, weighted" if comparison.matched.sampled else "means over the pairs that both runs scored"
    foot += [how] if compared else []
    paired = report is not None and report.baseline.run is not None and not comparison.matched.sampled
    if report is not None and paired:
        foot.append(
            f"{count(report.n_repaired, 'question')} newly {'passes' if report.n_repaired == 1 else 'pass'}"
        )
    foot += ["▲ better, ≥ no worse, ▼ worse, · cannot tell"] if compared else []
    return " · ".join(foot)


def _unequal(comparison: Comparison) -> str:
    """Return what makes the runs unequal, or where it stands if that is long; "" where nothing does."""
    if not comparison.warnings:
        return ""
    first, n = comparison.warnings[0].split(". ")[0], len(comparison.warnings)
    if len(first) > LONGEST_WARNING:
        return f"! {count(n, 'note')} on this comparison: see All metrics"
    return f"! {first}{f' (+{n - 1} more)' if n > 1 else ''}"
