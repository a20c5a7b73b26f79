"""Gates on a run alone: means of metrics, and shares of checks passed."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import numpy as np

from ragtriage.data.comparison.newly_failing import slice_mask
from ragtriage.data.diagnosis.diagnosis import Diagnosis, pass_rate
from ragtriage.data.scoring.grouping import NOT_GIVEN
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary, summarise
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.summary import passed_shares
from ragtriage.metrics.gates.gates import Gate, GateResult, judge_gate, unmeasured
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.schema.scores import BoolArray, FloatArray
from ragtriage.metrics.statistics.intervals import Interval, interval


def judge_mean_gate(
    gate: Gate, run: Diagnosis, summary: Mapping[str, MetricSummary] | None = None
) -> GateResult:
    """Judge the mean of a metric over all questions or those of a slice.

    Args:
        gate: of kind mean.
        run: the run.
        summary: its metric summaries over all questions, where a caller has them.
    """
    scored = run.scored
    keep = None if gate.slice is None else slice_mask(scored, gate.slice)
    if gate.slice is not None and keep is None:
        return unmeasured(gate, slice_lacking(scored, gate.slice))
    if gate.metric == GOOD_SHARE:
        return _of_interval(gate, pass_rate(run, keep), "diagnosed")
    summaries = summarise(scored, [gate.metric], keep) if keep is not None or summary is None else summary
    metric_summary = summaries.get(gate.metric)
    if metric_summary is None:
        return unmeasured(gate, metric_lacking(scored, gate.metric), n_total=len(scored.question_ids))
    reason = "" if metric_summary.n_scored else _unscored(len(scored.question_ids))
    if reason:
        return unmeasured(gate, reason, n_total=metric_summary.n_applicable)
    return judge_gate(
        gate,
        metric_summary.mean,
        metric_summary.low,
        metric_summary.high,
        metric_summary.n_scored,
        metric_summary.n_applicable,
        metric_summary.best if gate.at_most else metric_summary.worst,  # if all values that failed were so
        f"{metric_summary.source}, {metric_summary.method}",
    )


def metric_lacking(scored: ScoredRun, metric: str) -> str:
    """Return why a run has no column of a metric, with near names where it may be misspelt."""
    reason = scored.missing.get(metric) or scored.missing.get(f"{metric.partition('@')[0]}@k")
    if reason:
        return f"it {reason}"
    near = get_close_matches(metric, scored.metrics, n=3, cutoff=0.8)
    hint = f" (near names: {', '.join(near)})" if near else ""
    return f"this run has no value of {metric}{hint}"


def _unscored(n: int) -> str:
    return "its one question has no value" if n == 1 else f"none of {n:,} questions has a value"


def slice_lacking(scored: ScoredRun, wanted: tuple[str, str]) -> str:
    """Write that a run has no such slice, and which values it has."""
    name, value = wanted
    labels = next((group.labels for group in scored.groups if group.name == name), ())
    values = [label for label in labels if label != NOT_GIVEN]
    there = f"its values of {name} are {', '.join(values[:6])}" if values else f"nothing in it records {name}"
    return f"no question of this run has {name} = {value}; {there}"


def judge_checks(gate: Gate, run: Diagnosis, base: Diagnosis | None) -> GateResult:
    """Judge the share of checks of a suite or a kind that passed, repeats of a question averaged.

    Checks that were not measured count as neither; the questions that have only such ones are told.
    """
    scored = run.scored
    keep = None if gate.slice is None else slice_mask(scored, gate.slice)
    if gate.slice is not None and keep is None:
        return unmeasured(gate, slice_lacking(scored, gate.slice))
    shares, n_total = _shares(scored, gate.metric, keep)
    n_scored = int(np.isfinite(shares).sum())
    if not n_total:
        before = 0 if base is None else int(np.isfinite(_shares(base.scored, gate.metric, None)[0]).sum())
        kind = "" if gate.metric == "all" else f" of kind {gate.metric}"
        reason = f"this run records no check{kind}"
        if before:
            return unmeasured(gate, f"{reason}, and the baseline does for {before:,} questions")
        return unmeasured(gate, reason, excused=True)
    if not n_scored:
        return unmeasured(gate, f"none of its checks on {n_total:,} questions has a verdict", 0, n_total)
    binary = bool(np.isin(shares[np.isfinite(shares)], (0.0, 1.0)).all())
    return _of_interval(gate, interval(shares, scored.clusters, n_total, binary), "computed")


def _shares(scored: ScoredRun, name: str, keep: BoolArray | None) -> tuple[FloatArray, int]:
    """Return (q,) the share of the checks of a suite or kind that a question passed, and how many have any.

    NaN where a question has no check with a verdict.
    """
    checks = check_table(scored)
    if checks is None:
        return np.full(len(scored.question_ids), np.nan), 0
    mine = checks.of(name)
    if name != "all":
        mine = mine | checks.kind.equal(name)
    if keep is not None:
        mine = mine & keep[checks.sample]
    asked = len(np.unique(scored.question[checks.sample[mine]]))
    return passed_shares(scored, checks, mine), asked


def _of_interval(gate: Gate, measured: Interval, source: str) -> GateResult:
    mean = measured.mean if measured.n_scored else None
    low, high = (end if np.isfinite(end) else None for end in (measured.low, measured.high))
    n, total = measured.n_scored, measured.n_applicable
    return judge_gate(gate, mean, low, high, n, total, obtained=f"{source}, {measured.method}")
