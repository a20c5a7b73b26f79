"""Gates and their results in plain words, the same on screen, on the command line and in reports."""

from __future__ import annotations

from metrics.gates.gates import FEWEST_QUESTIONS, Gate, GateResult
from metrics.metric_registry import lookup
from metrics.schema.scores import MetricsError

__all__ = ["gate_sentence", "gate_title", "subject_of"]

_FAMILIES = ("headline", "retrieval", "generation", "answer", "system", "all")


def subject_of(gate: Gate) -> str:
    """Return what a gate judges, such as "Recall@5" or "Checks of kind format"."""
    if gate.kind == "checks":
        return "Checks" if gate.metric == "all" else f"Checks of kind {gate.metric}"
    if gate.kind == "critical":
        return f"Cases tagged {gate.metric}"
    if gate.kind == "regression" and gate.metric in _FAMILIES:
        return f"Every {'' if gate.metric == 'all' else gate.metric + ' '}metric"
    title = _title(gate.metric)
    return title if title[1:2].isupper() else title[:1].upper() + title[1:]  # keep nDCG as it is


def gate_title(gate: Gate) -> str:
    """Return what a gate requires, in a few words."""
    where = f" where {gate.slice[0]} is {gate.slice[1]}" if gate.slice else ""
    subject = subject_of(gate)
    if gate.kind == "critical":
        return f"{subject}: none newly fails{where}"
    if gate.kind == "regression":
        return f"{subject}{where}: at most {gate.threshold:g} worse than the baseline"
    if gate.kind == "checks":
        share = "every one passes" if gate.every else f"at least {100 * gate.threshold:g} % pass"
        return f"{subject}{where}: {share}"
    return f"{subject}{where}: {'at most' if gate.at_most else 'at least'} {gate.threshold:.2f}"


def gate_sentence(result: GateResult) -> str:
    """Return a gate's result as a sentence: the number, its uncertainty, the reason for the verdict."""
    if result.gate.kind == "critical":
        return _critical(result)
    if result.mean is None or result.verdict == "UNMEASURED":
        return _unmeasured(result)
    if result.gate.kind == "regression":
        return _regression(result, result.mean)
    return _mean(result, result.mean)


def _mean(result: GateResult, mean: float) -> str:
    gate = result.gate
    digits = _digits(mean, gate.threshold)
    number = f"{mean:.{digits}f}{_interval(result, digits)} {_over(result)}"
    name = f"Share passed of {subject_of(gate).lower()}" if gate.kind == "checks" else subject_of(gate)
    return f"{name}: {number}; {_against(result, f'{gate.threshold:.{digits}f}')}."


def _against(result: GateResult, threshold: str) -> str:
    gate = result.gate
    side, other = ("at most", "above") if gate.at_most else ("at least", "below")
    if gate.every:
        return (
            "every value meets the threshold"
            if result.verdict == "PASS"
            else f"not every value is {side} {threshold}"
        )
    if result.verdict == "PASS":
        return f"the whole interval is {side} {threshold}"
    if result.verdict == "FAIL":
        return f"the whole interval is {other} {threshold}"
    if result.why:
        return f"counting values that {result.why} as the worst possible would move the mean past {threshold}"
    if result.low is None:
        return f"without an interval it is unclear on which side of {threshold} it lies"
    return f"the interval includes {threshold}, so there are too few questions to tell{_effect(result)}"


def _regression(result: GateResult, change: float) -> str:
    gate = result.gate
    digits = _digits(abs(change), gate.threshold)
    before = "" if result.before is None else f" from {result.before:.{digits}f}"
    moved = f"{_signed(change, digits)}{before}{_interval(result, digits, signed=True)}"
    p = "" if result.adjusted_p is None else f", corrected p {_p(result.adjusted_p)}"
    allowed = f"{gate.threshold:g}"
    conclusion = {
        "PASS": result.why or f"the whole interval rules out a drop of more than {allowed}",
        "FAIL": f"worse by more than {allowed}, and statistically significant",
    }.get(
        result.verdict,
        f"too few questions to tell whether it is worse by more than {allowed}{_effect(result)}",
    )
    return f"{subject_of(gate)}: {moved} {_over(result, shared=True)}{p}; {conclusion}."


def _critical(result: GateResult) -> str:
    name = f"cases tagged {result.gate.metric} that passed in the baseline"
    if result.excused or (result.verdict == "UNMEASURED" and not result.n_total):
        return f"{subject_of(result.gate)}: not compared; {result.why}."
    if not result.n_total and result.why:
        return f"{subject_of(result.gate)}: {result.why}, so none can newly fail."
    if not result.n_total:
        return f"No {name.replace('cases', 'case').replace('that passed', 'passed')}; none can newly fail."
    failing = round((result.mean or 0.0) * result.n_total)
    also = f"; {result.why}" if result.why else ""
    return f"Of {result.n_total:,} {name}, {failing:,} {'fails' if failing == 1 else 'fail'} now{also}."


def _unmeasured(result: GateResult) -> str:
    subject = subject_of(result.gate)
    if result.why == "too few":
        needed = f"at least {FEWEST_QUESTIONS} are needed"
        return f"{subject}: measured on {_count(result.n_scored)}, too few to decide; {needed}."
    return f"{subject}: not measured; {result.why or 'this run has no value of it'}."


def _effect(result: GateResult) -> str:
    if result.smallest_effect is None:
        return ""
    return f"; the smallest difference it would detect 4 times in 5 is {result.smallest_effect:.2f}"


def _over(result: GateResult, shared: bool = False) -> str:
    if shared:
        return f"over {_count(result.n_scored, 'shared question')}"
    of = f" of {result.n_total:,}" if result.n_total else ""
    return f"over {result.n_scored:,}{of} question{'' if (result.n_total or result.n_scored) == 1 else 's'}"


def _count(n: int, noun: str = "question") -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _interval(result: GateResult, digits: int, signed: bool = False) -> str:
    if result.low is None or result.high is None:
        return ", no interval,"
    ends = (_signed(end, digits) if signed else f"{end:.{digits}f}" for end in (result.low, result.high))
    return f" [{', '.join(ends)}]"


def _digits(value: float, threshold: float) -> int:
    """Return 2 digits, or 3 where 2 would hide on which side of the threshold a value lies."""
    return 3 if value != threshold and f"{value:.2f}" == f"{threshold:.2f}" else 2


def _signed(value: float, digits: int) -> str:
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'+' if value > 0 else '−'}{text}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _title(metric: str) -> str:
    try:
        return lookup(metric).title
    except MetricsError:
        return metric.replace("_", " ")
