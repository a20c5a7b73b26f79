"""Gates on what changed since the baseline: one paired test a metric, corrected over all that are held."""

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
from metrics.statistics.intervals import question_means
from metrics.statistics.paired import PairedDifference, holm, paired

__all__ = ["judge_regressions"]

WITH_PASS_RATE = ("headline", "all")  # families that the pass rate belongs to


@dataclass(frozen=True)
class _Held:
    """One metric that a gate holds against the baseline.

    Attributes:
        gate: the gate, with the metric in place of its family.
        made_by: the gate as it is written.
        change: paired difference; None where nothing could be compared.
        before: the baseline's mean over the shared questions.
        why: what is lacking where nothing could be compared.
    """

    gate: Gate
    made_by: Gate
    change: PairedDifference | None
    before: float
    why: str = ""


def judge_regressions(
    run: Diagnosis, base: Diagnosis | None, gates: Sequence[Gate]
) -> Mapping[Gate, list[GateResult]]:
    """Judge every regression gate; p values are corrected over all metrics that they hold together.

    Args:
        run: this run.
        base: the baseline, if any.
        gates: those of kind regression.
    """
    found: dict[Gate, list[GateResult]] = {gate: [] for gate in gates}
    if base is None:
        return {gate: [unmeasured(gate, "there is no baseline", excused=True)] for gate in gates}
    named = {(gate.metric, gate.slice) for gate in gates}
    held = [_held(gate, made_by, run, base) for made_by in gates for gate in _expand(made_by, named, base)]
    adjusted = holm([one.change.p if one.change else np.nan for one in held])
    for one, p in zip(held, adjusted, strict=True):
        found[one.made_by].append(_judged(one, float(p)))
    for gate, results in found.items():
        if not results:
            results.append(unmeasured(gate, "the baseline has no value of any of them"))
    return found


def _expand(gate: Gate, named: set[tuple[str, tuple[str, str] | None]], base: Diagnosis) -> list[Gate]:
    """Give a gate for each metric of a family that the baseline has, but for those named by themselves."""
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
    """Say whether a family holds a metric: a share with a direction, one rank cut-off for all."""
    found = declared(metric)
    directed = found is not None and found.higher_is_better is not None and is_share(metric)
    return directed and in_family(metric, family) and ("@" not in metric or metric.endswith(f"@{SHOWN_K}"))


def _held(gate: Gate, made_by: Gate, run: Diagnosis, base: Diagnosis) -> _Held:
    """Compare one metric with the baseline."""
    nothing = _Held(gate, made_by, None, np.nan)
    if gate.metric != GOOD_SHARE and _direction(gate.metric) is None:
        return replace(nothing, why=f"nobody declared which end of {gate.metric} is better")
    if gate.slice is not None and slice_mask(run.scored, gate.slice) is None:
        return replace(nothing, why=slice_lacking(run.scored, gate.slice))
    now, then = _values(run, gate.metric), _values(base, gate.metric)
    for values, which in ((then, "the baseline"), (now, "this run")):
        if not np.isfinite(values).any():
            return replace(nothing, why=f"{which} has no value of it")
    shared = match_questions(base.scored, run.scored)
    left = _by_question(base, then, gate.slice)[shared.base]
    right = _by_question(run, now, gate.slice)[shared.other]
    clusters = base.scored.clusters[shared.base]
    bounds = (0.0, 1.0) if gate.metric == GOOD_SHARE else bounds_of(gate.metric)
    change = paired(left, right, clusters, 0, _direction(gate.metric), bounds)
    both = np.isfinite(left) & np.isfinite(right)
    return _Held(gate, made_by, change, float(left[both].mean()) if both.any() else np.nan)


def _judged(one: _Held, adjusted_p: float) -> GateResult:
    if one.change is None:
        return unmeasured(one.gate, one.why)
    before = one.before if np.isfinite(one.before) else None
    higher = _direction(one.gate.metric) is not False
    return judge_regression(one.gate, one.change, adjusted_p, higher, before)


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
    found = declared(metric)
    return None if found is None else found.higher_is_better
