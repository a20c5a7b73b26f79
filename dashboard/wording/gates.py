"""Gate results as table rows and sentences, the same on the page, on the command line and in CI files."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number, percent, signed
from data.gates.report import GateReport
from metrics.gates.gates import GateResult, GateVerdict
from metrics.gates.wording import gate_title

__all__ = ["EXPLAINED", "consequence", "gate_row", "newly_failing_text", "verdict_text"]

EXPLAINED: Mapping[GateVerdict, str] = {
    "PASS": "every blocking gate holds",
    "FAIL": "a blocking gate does not hold",
    "INCONCLUSIVE": "this sample cannot tell whether every blocking gate holds",
    "UNMEASURED": "a blocking gate could not be judged",
}


def gate_row(result: GateResult) -> dict[str, str]:
    """Return the cells of one gate by column."""
    change, critical = result.gate.kind == "regression", result.gate.kind == "critical"
    measured = signed(result.mean) if change else percent(result.mean) if critical else number(result.mean)
    interval = interval_text(result.low, result.high)
    if change and interval != NOT_MEASURED:
        interval = f"[{signed(result.low)}, {signed(result.high)}]"
    return {
        "Verdict": result.verdict,
        "Gate": gate_title(result.gate),
        "Measured": measured,
        "95 % interval": interval,
        "n": f"{result.n_scored:,} of {result.n_total:,}" if result.n_total else NOT_MEASURED,
        "If it fails": consequence(result),
        "Could show": number(result.smallest_effect),
        "Obtained": result.obtained or NOT_MEASURED,
    }


def consequence(result: GateResult) -> str:
    """Return whether a failing gate blocks or only warns, and why it matters."""
    effect = "blocks" if result.blocks else "warns"
    required = ", required" if result.gate.required else ""
    return f"{effect}{required}: {result.gate.reason}" if result.gate.reason else f"{effect}{required}"


def verdict_text(report: GateReport, strict: bool = False) -> str:
    """Return what the verdict means, and which gates led to it."""
    verdict = report.verdict_under(strict)
    titles = [
        gate_title(result.gate)
        for result in report.results
        if result.blocks and result.verdict == verdict != "PASS" and (strict or not result.excused)
    ]
    return f"{EXPLAINED[verdict]}{': ' if titles else ''}{'; '.join(titles)}"


def newly_failing_text(report: GateReport) -> str:
    """Return how many questions newly fail and how many pass again; "" without a baseline."""
    if report.baseline.run is None:
        return ""
    critical = sum(case.critical for case in report.newly_failing)
    of = f" of {report.n_compared:,} measured in both"
    tagged = f", {critical:,} of them critical" if critical else ""
    return (
        f"{count(len(report.newly_failing), 'question')}{of} passed in the baseline and "
        f"{'fails' if len(report.newly_failing) == 1 else 'fail'} now{tagged}; "
        f"{report.n_repaired:,} the other way."
    )
