"""The run at a glance: tiles of the pass rate and the gated metrics, and the picture of the pipeline."""

from collections.abc import Mapping, Sequence
from math import isfinite

import streamlit as st

from ragtriage.dashboard.charts.river import river_alt, river_of
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.headlines.triage import river_statement
from ragtriage.dashboard.present.page_html.blocks import Strip, Tile, section_title
from ragtriage.dashboard.shell.components import clicked, current_theme
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.wording.diagnosis import (
    doubted_by,
    not_measured_in,
    rate_basis,
    rate_labels,
    rate_title,
)
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.dashboard.wording.formatting import source_text
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.compared_metrics import in_family
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import doubted_losses, metric_doubts, pass_rate_doubts
from ragtriage.data.diagnosis.pipeline import pipeline_of
from ragtriage.data.gates.gate_kinds import BY_WORDS
from ragtriage.data.gates.report import GateReport
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.gates.gates import GateResult, GateVerdict
from ragtriage.metrics.gates.wording import GOOD_SHARE, VERDICT_WORDS
from ragtriage.metrics.metric_registry import declared, is_share, title_of
from ragtriage.metrics.number_text import NOT_MEASURED, number, percent, points, signed
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.statistics.intervals import Interval

STATES: Mapping[GateVerdict, State] = {
    "PASS": "good",
    "FAIL": "bad",
    "INCONCLUSIVE": "cannot tell",
    "UNMEASURED": "not measured",
}
METRIC_TILES = 3
LONGEST_BASE = 16
NEAREST: tuple[GateVerdict, ...] = ("FAIL", "INCONCLUSIVE", "PASS", "UNMEASURED")
FIXED = {"displayModeBar": False, "showSendToCloud": False, "displaylogo": False}
_picture, _pipeline = kept(river_of), kept(pipeline_of)


def triage_tiles(
    diagnosis: Diagnosis,
    summaries: Mapping[str, MetricSummary],
    findings: Sequence[Finding],
    report: GateReport | None,
    comparison: Comparison | None,
    base_name: str,
) -> list[Tile]:
    """Return the tiles.

    Args:
        diagnosis: of the run.
        summaries: of its metrics.
        findings: of its sanity checks.
        report: of its gates; None where they cannot be read.
        comparison: with what it is compared with; None for nothing.
        base_name: what that is called.
    """
    changes = {change.metric: change for change in comparison.differences} if comparison else {}
    results = [] if report is None else _nearest(report.results, summaries)
    gated = {result.gate.metric: result for result in results}
    others = [
        name
        for name, summary in summaries.items()
        if name not in gated and summary.n_scored and in_family(name, "headline") and is_share(name)
        if "@" not in name or name.endswith("@5")
    ]
    judged = set() if report is None else {result.gate.metric for result in report.results}
    measured = [name for name, result in gated.items() if _is_measured(result, summaries)]
    names = [*measured, *others, *(name for name in gated if name not in measured)][:METRIC_TILES]
    base = shorten(base_name, LONGEST_BASE)
    return [
        _rate_tile(diagnosis, findings, report, changes.get(GOOD_SHARE), base),
        *(
            _metric_tile(
                diagnosis,
                findings,
                name,
                summaries.get(name),
                gated.get(name),
                "no threshold" if name in judged else "no gate",
                changes.get(name),
                base,
            )
            for name in names
        ),
    ]


def badness(result: GateResult) -> tuple[int, bool, float]:
    """Return the place of a gate among others: those that fail first, then those nearest to it."""
    margin = result.margin if result.margin is not None else 0.0
    return NEAREST.index(result.verdict), not result.blocks, margin


def _is_measured(result: GateResult, summaries: Mapping[str, MetricSummary]) -> bool:
    """Return whether a gate has values that could decide it; an estimate from words cannot."""
    summary = summaries.get(result.gate.metric)
    return summary is not None and summary.n_scored > 0 and result.why != BY_WORDS


def _nearest(results: Sequence[GateResult], summaries: Mapping[str, MetricSummary]) -> list[GateResult]:
    """Return the gates on means of metrics, those that fail or are nearest to it first."""
    means = [
        result
        for result in results
        if result.gate.kind == "mean"
        and not result.gate.slice
        and (result.mean is None or result.gate.metric in summaries)  # the pass rate has a tile of its own
    ]
    return sorted(
        means, key=lambda result: (not _is_measured(result, summaries), not result.blocks, badness(result))
    )


def _rate_tile(
    diagnosis: Diagnosis,
    findings: Sequence[Finding],
    report: GateReport | None,
    change: MetricDifference | None,
    base: str,
) -> Tile:
    rate = diagnosis.pass_rate
    gate = None if report is None else _rate_gate(report)
    state: State = "not measured" if gate is None else STATES[gate.verdict]
    word = "no gate" if gate is None else _word(gate)
    doubts = doubted_by(pass_rate_doubts(diagnosis, findings))
    doubt = "; ".join(filter(None, [rate_basis(diagnosis), doubts]))
    compared = change is not None and _comparable(change)
    return Tile(
        rate_title(diagnosis),
        percent(rate.mean),
        state if rate.n_scored and diagnosis.answers.enough else "not measured",
        (word if diagnosis.answers.enough else "not checked") if rate.n_scored else "not measured",
        f"{points(change.difference.difference)} vs {base}" if change and compared else "",
        _foot(
            rate,
            percent,
            " · ".join(
                filter(
                    None,
                    [
                        "" if gate is None else f"gate: {rate_need(gate)}",
                        _both_ways(report),
                        rate_labels(diagnosis),
                        not_measured_in(diagnosis),
                    ],
                )
            ),
        ),
        Strip(
            rate.mean if rate.n_scored else None,
            rate.low,
            rate.high,
            base=change.base if change and compared else None,
            state=state,
            label=f"{rate_title(diagnosis)} {percent(rate.mean)}",
        ),
        "Share of measured cases that fall below no threshold, fail no check, do not refuse what has an "
        f"answer, and were not labelled bad; repeats are averaged first. {capital(doubt)} "
        f"{'' if gate is None else gate.sentence}".rstrip(),
    )


def _both_ways(report: GateReport | None) -> str:
    """Return the pass rate with missing questions as failed, and how many are; "" where none is."""
    asked = None if report is None else report.asked
    if asked is None or asked.answered >= asked.of or not isfinite(asked.with_missing):
        return ""
    missing = f"{asked.of - asked.answered:,} missing as failed"
    return f"of those answered; {percent(asked.with_missing)} with {missing}"


def _comparable(change: MetricDifference) -> bool:
    """Return whether a change is a number: of values near the largest that can be written it is none."""
    return change.difference.n_pairs > 0 and isfinite(change.other - change.base)


def _rate_gate(report: GateReport) -> GateResult | None:
    gates = [result for result in report.results if result.gate.metric == GOOD_SHARE]
    measured = [result for result in gates if result.mean is not None]
    return measured[0] if measured else None


def rate_need(result: GateResult) -> str:
    """Return what the gate on the pass rate demands: a mean, or a change such as "drop < 5 points"."""
    allowed = f"drop < {100 * result.gate.threshold:g} points"
    return allowed if result.gate.kind == "regression" else gate_need(result)


def _metric_tile(
    diagnosis: Diagnosis,
    findings: Sequence[Finding],
    name: str,
    summary: MetricSummary | None,
    gate: GateResult | None,
    ungated: str,
    change: MetricDifference | None,
    base: str,
) -> Tile:
    """Return the tile of a metric; `ungated` is its word where no gate holds its mean against a threshold."""
    title = capital(title_of(name))
    need = "" if gate is None else f"gate: {gate_need(gate)}"
    if summary is None or not summary.n_scored:
        why = "" if gate is None else gate.sentence
        foot = " · ".join(filter(None, ["no value in this run", need]))
        return Tile(title, NOT_MEASURED, "not measured", "not measured", "", foot, Strip(None), why)
    state: State = "not measured" if gate is None else STATES[gate.verdict]
    word = ungated if gate is None else _word(gate)
    if gate is not None and gate.verdict == "UNMEASURED":
        by_words = gate.why == BY_WORDS
        state = "not measured" if by_words else "cannot tell"
        word = "estimated" if by_words else "too few"
    doubts = doubted_by(metric_doubts(diagnosis.scored, findings, name))
    metric = declared(name)
    compared = change is not None and _comparable(change)
    return Tile(
        title,
        number(summary.mean),
        state,
        word,
        f"{signed(change.difference.difference)} vs {base}" if change and compared else "",
        _foot(summary, number, " · ".join(filter(None, [need, _by_labels(summary)]))),
        Strip(
            summary.mean,
            summary.low,
            summary.high,
            gate=None if gate is None else gate.gate.threshold,
            base=change.base if change and compared else None,
            state=state,
            label=f"{title} {number(summary.mean)}, {need or ungated}",
            higher_is_better=None if metric is None else metric.higher_is_better,
        ),
        f"Mean over questions, {source_text(summary)}. {capital(doubts)}",
    )


def _by_labels(summary: MetricSummary) -> str:
    """Return what the mean was before labels corrected it; "" where none did."""
    if summary.raw is None:
        return ""
    return f"corrected by {summary.n_labels:,} labels, raw {number(summary.raw)}"


def _word(gate: GateResult) -> str:
    """Return the verdict on a tile in two words."""
    if gate.verdict == "FAIL":
        return (
            "worse" if gate.gate.kind == "regression" else "above gate" if gate.gate.at_most else "below gate"
        )
    return VERDICT_WORDS[gate.verdict]


def gate_need(result: GateResult) -> str:
    """Return what a gate asks of a mean, such as "≥ 0.85"."""
    return f"{'≤' if result.gate.at_most else '≥'} {number(result.gate.threshold)}"


def _foot(value: Interval | MetricSummary, text: object, need: str) -> str:
    """Return interval, n and gate of a tile."""
    written = percent if text is percent else number
    low, high = value.low, value.high
    known = low is not None and high is not None and isfinite(low) and isfinite(high)
    interval = f"95 % CI {written(low).removesuffix(' %')} to {written(high)}" if known else "no interval"
    effective = value.n_effective if isinstance(value, Interval) else value.effective_n
    weighted = "" if effective is None else f" (effective {effective:,.0f})"
    return " · ".join(filter(None, [interval, f"n = {value.n_scored:,}{weighted}", need]))


def pipeline_section(view: View, diagnosis: Diagnosis, base_name: str) -> None:
    """Draw how many cases survive each step of the pipeline, beside what the run is compared with."""
    doubted = doubted_losses(diagnosis, view.findings(view.run))
    n, lost = sum(doubted.values()), int(diagnosis.bad.bad.sum())
    chip = f"{n:,} of {lost:,} losses rest on doubted numbers" if n else ""
    st.html(section_title(river_statement(diagnosis), chip))
    base = None if view.baseline is None else view.diagnosis(view.baseline)
    figure = _picture(diagnosis, doubted, THEMES[current_theme()], base, base_name)
    loss = clicked(figure, "pipeline", river_alt(_pipeline(diagnosis)), theme=None, config=FIXED)
    if loss is not None:
        open_cases(stage=str(loss[0]))
