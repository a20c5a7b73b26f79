"""Gates on what changed since the baseline: one metric is tested alone, those of a family together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ragtriage.data.comparison.compare import QuestionMatch, Side, family_tests, match_questions, paired_side
from ragtriage.data.comparison.metric_families import FAMILIES, SHOWN_K, in_family
from ragtriage.data.comparison.newly_failing import slice_mask
from ragtriage.data.declarations import HOW_TO_DECLARE
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.gates.thresholds import slice_lacking
from ragtriage.metrics.gates.gates import Gate, GateResult, judge_regression, unmeasured
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import declared, is_share, ordered
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.max_t import FamilyTest
from ragtriage.metrics.statistics.question_means import question_means

WITH_PASS_RATE = ("headline", "all")  # families that the pass rate belongs to


def judge_regressions(
    run: Diagnosis, base: Diagnosis | None, gates: Sequence[Gate], primary: str = GOOD_SHARE
) -> Mapping[Gate, list[GateResult]]:
    """Judge every regression gate, with the intervals that a comparison of the two runs shows.

    A gate on one metric is tested alone. In a gate on a family the primary metric is tested alone, the others
    together by step-down max-T.

    Args:
        run: this run.
        base: the baseline, if any.
        gates: those of kind regression.
        primary: name of the project's primary metric.
    """
    if base is None:
        return {gate: [unmeasured(gate, "there is no baseline", excused=True)] for gate in gates}
    named = {(gate.metric, gate.slice) for gate in gates}
    shared = match_questions(base.scored, run.scored)
    results: dict[Gate, list[GateResult]] = {}
    for written in gates:
        family = _expand(written, named, base)
        reasons = {gate: _lacking(gate, run, base) for gate in family}
        compared = [gate for gate in family if not reasons[gate]]
        sides = [_side(gate, run, base, shared) for gate in compared]
        alone = primary if len(family) > 1 else written.metric
        judged = {
            gate: _judged(gate, side, test, _together(sides, alone, gate))
            for gate, side, test in zip(compared, sides, family_tests(sides, alone), strict=True)
        }
        results[written] = [judged.get(gate) or unmeasured(gate, reasons[gate]) for gate in family]
        if not family:
            results[written] = [unmeasured(written, "the baseline has no value of any of them")]
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


def _lacking(gate: Gate, run: Diagnosis, base: Diagnosis) -> str:
    """Return why a metric cannot be compared with the baseline; "" where it can."""
    if gate.metric != GOOD_SHARE and _direction(gate.metric) is None:
        return f"no direction is declared for {gate.metric}; {HOW_TO_DECLARE}"
    if gate.slice is not None and slice_mask(run.scored, gate.slice) is None:
        return slice_lacking(run.scored, gate.slice)
    for diagnosis, side in ((base, "the baseline"), (run, "this run")):
        if not np.isfinite(_values(diagnosis, gate.metric)).any():
            return f"{side} has no value of it"
    return ""


def _side(gate: Gate, run: Diagnosis, base: Diagnosis, shared: QuestionMatch) -> Side:
    """Compare one metric with the baseline, over the questions of the gate's slice."""
    then = _by_question(base, _values(base, gate.metric), gate.slice)
    now = _by_question(run, _values(run, gate.metric), gate.slice)
    return paired_side(gate.metric, then, now, base.scored, shared)


def _together(sides: Sequence[Side], alone: str, gate: Gate) -> int:
    """Return how many metrics one is tested with, itself among them."""
    return 1 if gate.metric == alone else sum(side.metric != alone for side in sides)


def _judged(gate: Gate, side: Side, test: FamilyTest, n_together: int) -> GateResult:
    how = f"corrected over {n_together} metrics (step-down max-T)" if n_together > 1 else "tested alone"
    return judge_regression(
        gate,
        side.difference,
        test.low,
        test.high,
        test.p,
        _direction(gate.metric) is not False,
        side.base if np.isfinite(side.base) else None,
        f"paired, sign flips, {how}",
    )


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
