"""Gates: thresholds for means, and a verdict that says when it cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metrics.values import MetricsError

__all__ = ["DEFAULT_GATES", "Gate", "GateResult", "GateVerdict", "judge_gate", "overall"]

GateVerdict = Literal["PASS", "FAIL", "INCONCLUSIVE", "UNMEASURED"]
Severity = Literal["block", "warn"]
FEWEST_QUESTIONS = 5  # below this a mean decides nothing


@dataclass(frozen=True)
class Gate:
    """One threshold for the mean of a metric.

    Attributes:
        metric: full name of the metric.
        threshold: the value the mean must reach, or must not exceed.
        at_most: True where the threshold is an upper limit.
        severity: "block" keeps a version from shipping, "warn" does not.
        reason: why it matters, printed with the verdict.
    """

    metric: str
    threshold: float
    at_most: bool
    severity: Severity
    reason: str


DEFAULT_GATES = (
    Gate("faithfulness", 0.85, False, "block", "hallucination risk"),
    Gate("answer_relevancy", 0.75, False, "block", "off topic"),
    Gate("context_recall", 0.80, False, "warn", "investigate the retriever"),
    Gate("context_precision", 0.70, False, "warn", "noisy retrieval"),
    Gate("ignored_top_ranked", 0.30, True, "warn", "the best-ranked document goes unused"),
)


@dataclass(frozen=True)
class GateResult:
    """What a gate says of a run.

    Attributes:
        gate: the gate.
        verdict: PASS and FAIL only where the whole 95 % interval lies on one side of the threshold.
        mean: of the run; None where not measured.
        low: lower end of its interval.
        high: upper end.
        n_scored: questions behind it.
    """

    gate: Gate
    verdict: GateVerdict
    mean: float | None
    low: float | None
    high: float | None
    n_scored: int


def judge_gate(
    gate: Gate, mean: float | None, low: float | None, high: float | None, n_scored: int
) -> GateResult:
    """Judge the mean of a metric by its interval.

    Args:
        gate: the threshold.
        mean: mean over questions; None where not measured.
        low: lower end of the 95 % interval; None where it cannot be given.
        high: upper end.
        n_scored: questions with a value; fewer than 5 decide nothing.
    """
    return GateResult(gate, _verdict(gate, mean, low, high, n_scored), mean, low, high, n_scored)


def _verdict(
    gate: Gate, mean: float | None, low: float | None, high: float | None, n_scored: int
) -> GateVerdict:
    if mean is None or n_scored < FEWEST_QUESTIONS:
        return "UNMEASURED"
    if low is None or high is None:
        return "INCONCLUSIVE"
    worst, best = (high, low) if gate.at_most else (low, high)
    sign = -1.0 if gate.at_most else 1.0
    if sign * worst >= sign * gate.threshold:
        return "PASS"
    return "FAIL" if sign * best < sign * gate.threshold else "INCONCLUSIVE"


def overall(results: Sequence[GateResult]) -> GateVerdict:
    """Give the verdict on the run: the worst among its blocking gates; warnings do not count.

    Raises:
        MetricsError: no gate blocks, so that there is nothing to judge by.
    """
    verdicts = [one.verdict for one in results if one.gate.severity == "block"]
    if not verdicts:
        raise MetricsError("no blocking gate; accepted: at least one gate with severity block")
    order: tuple[GateVerdict, ...] = ("FAIL", "INCONCLUSIVE", "UNMEASURED", "PASS")
    return next(verdict for verdict in order if verdict in verdicts)
