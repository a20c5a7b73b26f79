"""The gates of a run."""

from collections.abc import Sequence

from ragtriage.dashboard.wording.gates import consequence
from ragtriage.metrics.gates.gates import GateResult
from ragtriage.metrics.gates.wording import (
    VERDICT_WORDS,
    change_interval,
    change_text,
    distance_text,
    guardrail_change,
    guardrail_interval,
    judged_title,
    level_text,
    nothing_shows,
)
from ragtriage.metrics.number_text import NOT_MEASURED, number
from ragtriage.metrics.result_table import Cell, Change, Number, Of, ResultTable, Row, ends_of

DETECTABLE = "Detectable difference (80 % power)"  # the column of the smallest effect


def gate_table(results: Sequence[GateResult]) -> ResultTable:
    """Return what each gate measured, in the order of the results."""
    rows: list[Row] = [
        {
            "Verdict": VERDICT_WORDS[result.verdict],
            "Gate": judged_title(result),
            "Measured": _measured(result),
            "95 % interval": _interval(result),
            "Distance": distance_text(result) or NOT_MEASURED,
            "n": _counted(result),
            "If it fails": consequence(result),
            DETECTABLE: "none possible" if nothing_shows(result) else Number(result.smallest_effect, 2),
            "Obtained": result.obtained or NOT_MEASURED,
        }
        for result in results
    ]
    return ResultTable("Gates with verdict, measured value, interval and number of questions", tuple(rows))


def _counted(result: GateResult) -> Cell:
    """Return how many questions were measured, and that they are too few where they decide nothing."""
    if not result.n_total:
        return None
    if result.why == "too few" and result.gate.kind in ("mean", "percentile"):
        return f"{result.n_scored:,} of {result.n_total:,}, too few"
    return Of(result.n_scored, result.n_total)


def _interval(result: GateResult) -> Cell:
    if result.gate.kind == "guardrail":
        return guardrail_interval(result).strip() or NOT_MEASURED
    ends = ends_of(result, 2)
    if result.gate.kind != "regression" or str(ends) == NOT_MEASURED:
        return ends
    interval = change_interval(result.gate.metric, result.low, result.high)
    loss = result.largest_loss
    if result.gate.rule == "mean" or result.verdict == "FAIL" or loss is None:
        return interval
    # tested alone, a one-sided bound decides, which is not an end of the interval
    one_sided = loss not in (result.high, -(result.low or 0.0))
    return f"{interval}, loss ≤ {number(max(loss, 0.0))}" if one_sided else interval


def _measured(result: GateResult) -> Cell:
    """Return what was measured: a mean, a change with both of its ends, or how many cases newly fail."""
    if result.gate.kind == "guardrail":
        return guardrail_change(result)
    if result.mean is None or result.gate.kind not in ("critical", "regression"):
        return Number(result.mean, 2)
    if result.gate.kind == "critical":
        return f"{round(result.mean * result.n_total):,} of {result.n_total:,} newly fail"
    if result.before is None:
        return Change(result.mean, 2)
    before, after = (
        level_text(result.gate.metric, at) for at in (result.before, result.before + result.mean)
    )
    return f"{change_text(result.gate.metric, result.mean)} ({before} → {after})"
