"""A gate's result in the columns of a table: the same on the page, in the command and in what CI reads."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number, percent, signed
from data.gates.report import GateReport
from metrics.gates.gates import GateResult, GateVerdict
from metrics.gates.wording import gate_title

__all__ = ["EXPLAINED", "broken_words", "gate_row", "if_it_fails", "verdict_words"]

EXPLAINED: Mapping[GateVerdict, str] = {
    "PASS": "every blocking gate holds",
    "FAIL": "a blocking gate does not hold",
    "INCONCLUSIVE": "this sample cannot tell whether every blocking gate holds",
    "UNMEASURED": "a blocking gate could not be judged",
}


def gate_row(result: GateResult) -> dict[str, str]:
    """Give the cells of one gate by column."""
    change, critical = result.gate.kind == "regression", result.gate.kind == "critical"
    measured = signed(result.mean) if change else percent(result.mean) if critical else number(result.mean)
    ends = (result.low, result.high)
    interval = (
        f"[{signed(ends[0])}, {signed(ends[1])}]" if change and None not in ends else interval_text(*ends)
    )
    return {
        "Verdict": result.verdict,
        "Gate": gate_title(result.gate),
        "Measured": measured,
        "95 % interval": interval,
        "n": f"{result.n_scored:,} of {result.n_total:,}" if result.n_total else NOT_MEASURED,
        "If it fails": if_it_fails(result),
        "Could show": number(result.smallest_effect),
        "Obtained": result.obtained or NOT_MEASURED,
    }


def if_it_fails(result: GateResult) -> str:
    """Say what a gate's failing does, and why it matters."""
    word = "blocks" if result.blocks else "warns"
    required = ", required" if result.gate.required else ""
    return f"{word}{required}: {result.gate.reason}" if result.gate.reason else f"{word}{required}"


def verdict_words(report: GateReport, strict: bool = False) -> str:
    """Say what the verdict means, and which gates led to it."""
    verdict = report.verdict_under(strict)
    led = [
        gate_title(one.gate)
        for one in report.results
        if one.blocks and one.verdict == verdict != "PASS" and (strict or not one.excused)
    ]
    return f"{EXPLAINED[verdict]}{': ' if led else ''}{'; '.join(led)}"


def broken_words(report: GateReport) -> str:
    """Say how many questions newly fail; "" without a baseline."""
    if report.baseline.run is None:
        return ""
    critical = sum(one.critical for one in report.newly_failing)
    of = f" of {report.n_compared:,} measured in both"
    tagged = f", {critical:,} of them critical" if critical else ""
    return (
        f"{count(len(report.newly_failing), 'question')}{of} passed in the baseline and "
        f"{'fails' if len(report.newly_failing) == 1 else 'fail'} now{tagged}; "
        f"{report.n_repaired:,} the other way."
    )
