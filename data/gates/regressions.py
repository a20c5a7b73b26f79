"""Gates on what changed since the baseline: one paired test a metric, corrected over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from data.comparison.compare import GOOD_SHARE, match_questions
from data.comparison.metric_families import FAMILIES, SHOWN_K, in_family
from data.comparison.newly_failing import slice_mask
from data.diagnosis.diagnosis import Diagnosis, passing_of
from data.gates.thresholds import slice_lacking
from metrics.gates.gates import Gate, GateResult, judge_regression, unmeasured
from metrics.metric_registry import bounds_of, declared, is_share, ordered
from metrics.schema.scores import FloatArray
from metrics.statistics.paired import PairedDifference, holm, paired
from metrics.statistics.question_means import question_means

__all__ = ["judge_regressions"]

WITH_PASS_RATE = ("headline", "all")  # families that the pass rate belongs to


@dataclass(frozen=True)
class _Comparison:
    """One metric of a gate, compared with the baseline.

    Attributes:
        gate: the gate, with the metric in place of its family.
        written: the gate as the file has it, with the family.
        change: paired difference; None where nothing could be compared.
        before: the baseline's mean over the shared questions.
        reason: what is lacking where nothing could be compared.
    """

    gate: Gate
    written: Gate
    change: PairedDifference | None
    before: float
    reason: str = ""


def judge_regressions(
    run: Diagnosis, base: Diagnosis | None, gates: Sequence[Gate]
) -> Mapping[Gate, list[GateResult]]:
    """Judge every regression gate; p values are corrected over all metrics of all these gates.

    Args:
        run: this run.
        base: the baseline, if any.
        gates: those of kind regression.
    """
    if base is None:
        return {gate: [unmeasured(gate, "there is no baseline", excused=True)] for gate in gates}
    named = {(gate.metric, gate.slice) for gate in gates}
    comparisons = [
        _compared(gate, written, run, base) for written in gates for gate in _expand(written, named, base)
    ]
    adjusted = holm([comparison.change.p if comparison.change else np.nan for comparison in comparisons])
    results: dict[Gate, list[GateResult]] = {gate: [] for gate in gates}
    for comparison, p in zip(comparisons, adjusted, strict=True):
        results[comparison.written].append(_judged(comparison, float(p)))
    for gate, of_gate in results.items():
        if not of_gate:
            of_gate.append(unmeasured(gate, "the baseline has no value of any of them"))
    return results


def _expand(gate: Gate, named: set[tuple[str, tuple[str, str] | None]], base: Diagnosis) -> list[Gate]:
    """Return a gate for each metric of a family that the baseline has and no other gate names."""
    if gate.metric not in FAMILIES:
        return [gate]
    names = [GOOD_SHARE] if gate.metric in WITH_PASS_RATE else []
    names += [name for name in ordered(base.scored.metrics) if _belongs(name, gate.metric)]
    return [
        replace(gate, metric=name)
        for name in names
        if (name, gate.slice) not in named and np.isfinite(_values(base, name)).any()
    ]


def _belongs(metric: str, family: str) -> bool:
    """Whether a family has a metric: a share with a direction, at one rank k for all."""
    directed = _direction(metric) is not None and is_share(metric)
    return directed and in_family(metric, family) and ("@" not in metric or metric.endswith(f"@{SHOWN_K}"))


def _compared(gate: Gate, written: Gate, run: Diagnosis, base: Diagnosis) -> _Comparison:
    """Compare one metric with the baseline."""
    nothing = _Comparison(gate, written, None, np.nan)
    if gate.metric != GOOD_SHARE and _direction(gate.metric) is None:
        return replace(nothing, reason=f"no direction is declared for {gate.metric}")
    if gate.slice is not None and slice_mask(run.scored, gate.slice) is None:
        return replace(nothing, reason=slice_lacking(run.scored, gate.slice))
    now, then = _values(run, gate.metric), _values(base, gate.metric)
    for values, side in ((then, "the baseline"), (now, "this run")):
        if not np.isfinite(values).any():
            return replace(nothing, reason=f"{side} has no value of it")
    shared = match_questions(base.scored, run.scored)
    left = _by_question(base, then, gate.slice)[shared.base]
    right = _by_question(run, now, gate.slice)[shared.other]
    clusters = base.scored.clusters[shared.base]
    bounds = (0.0, 1.0) if gate.metric == GOOD_SHARE else bounds_of(gate.metric)
    change = paired(left, right, clusters, 0, _direction(gate.metric), bounds)
    both = np.isfinite(left) & np.isfinite(right)
    return _Comparison(gate, written, change, float(left[both].mean()) if both.any() else np.nan)


def _judged(comparison: _Comparison, adjusted_p: float) -> GateResult:
    if comparison.change is None:
        return unmeasured(comparison.gate, comparison.reason)
    before = comparison.before if np.isfinite(comparison.before) else None
    higher = _direction(comparison.gate.metric) is not False
    return judge_regression(comparison.gate, comparison.change, adjusted_p, higher, before)


def _values(diagnosis: Diagnosis, metric: str) -> FloatArray:
    return passing_of(diagnosis) if metric == GOOD_SHARE else diagnosis.scored.values(metric)


def _by_question(diagnosis: Diagnosis, values: FloatArray, wanted: tuple[str, str] | None) -> FloatArray:
    scored = diagnosis.scored
    if wanted is not None:
        keep = slice_mask(scored, wanted)
        values = np.full(scored.n, np.nan) if keep is None else np.where(keep, values, np.nan)
    return question_means(values, scored.question)[0]


def _direction(metric: str) -> bool | None:
    if metric == GOOD_SHARE:
        return True
    metric_declared = declared(metric)
    return None if metric_declared is None else metric_declared.higher_is_better
