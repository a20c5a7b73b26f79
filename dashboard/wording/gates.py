"""Gate results as table rows and sentences, the same on the page, on the command line and in CI files."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.data.gates.report import GateReport
from ragtriage.metrics.gates.gates import GateResult, GateVerdict
from ragtriage.metrics.gates.wording import distance_text, judged_title, nothing_shows
from ragtriage.metrics.number_text import NOT_MEASURED, count, interval_text, number, signed

DETECTABLE = "Detectable difference (80 % power)"  # the column of the smallest effect
EXPLAINED: Mapping[GateVerdict, str] = {
    "PASS": "every blocking gate holds",
    "FAIL": "a blocking gate does not hold",
    "INCONCLUSIVE": "this sample cannot tell whether every blocking gate holds",
    "UNMEASURED": "a blocking gate could not be judged",
}


def gate_row(result: GateResult) -> dict[str, str]:
    """Return the cells of one gate by column."""
    change = result.gate.kind == "regression"
    interval = interval_text(result.low, result.high)
    if change and interval != NOT_MEASURED:
        interval = f"[{signed(result.low)}, {signed(result.high)}]"
    return {
        "Verdict": result.verdict,
        "Gate": judged_title(result),
        "Measured": _measured(result),
        "95 % interval": interval,
        "Distance": distance_text(result) or NOT_MEASURED,
        "n": f"{result.n_scored:,} of {result.n_total:,}" if result.n_total else NOT_MEASURED,
        "If it fails": consequence(result),
        DETECTABLE: "none possible" if nothing_shows(result) else number(result.smallest_effect),
        "Obtained": result.obtained or NOT_MEASURED,
    }


def _measured(result: GateResult) -> str:
    """Return what was measured: a mean, a change with both of its ends, or how many cases newly fail."""
    if result.mean is None:
        return NOT_MEASURED
    if result.gate.kind == "critical":
        return f"{round(result.mean * result.n_total):,} of {result.n_total:,} newly fail"
    if result.gate.kind != "regression":
        return number(result.mean)
    if result.before is None:
        return signed(result.mean)
    return f"{signed(result.mean)} ({number(result.before)} → {number(result.before + result.mean)})"


def rule_texts(report: GateReport) -> list[str]:
    """Return the rules by which the gates of a report pass and fail, in Markdown, each without full stop."""
    ruled = [result.gate for result in report.results if result.gate.kind != "critical"]
    texts = {
        "PASS and FAIL need the whole 95 % interval on one side of the threshold": any(
            gate.rule == "interval" for gate in ruled
        ),
        "*by the mean*: the mean, its change or the percentile alone decides, whatever its interval": any(
            gate.rule == "mean" for gate in ruled
        ),
        "a gate on one metric is tested alone; the metrics of a gate on a family together (step-down max-T), "
        "the primary one alone": any("max-T" in result.obtained for result in report.results),
    }
    return [text for text, applies in texts.items() if applies]


def consequence(result: GateResult) -> str:
    """Return whether a failing gate blocks or only warns, and why it matters."""
    effect = "blocks" if result.blocks else "warns"
    required = ", required" if result.gate.required else ""
    return f"{effect}{required}: {result.gate.reason}" if result.gate.reason else f"{effect}{required}"


def verdict_text(report: GateReport, strict: bool = False) -> str:
    """Return what the verdict means, and which gates led to it."""
    verdict = report.verdict_under(strict)
    titles = [
        judged_title(result)
        for result in report.results
        if result.blocks and result.verdict == verdict != "PASS" and (strict or not result.excused)
    ]
    return f"{EXPLAINED[verdict]}{': ' if titles else ''}{'; '.join(titles)}"


def newly_failing_text(report: GateReport) -> str:
    """Return how many questions newly fail and how many pass again; "" without a baseline."""
    if report.baseline.run is None:
        return ""
    critical = sum(case.critical for case in report.newly_failing)
    n = len(report.newly_failing)
    tagged = f" ({critical:,} critical)" if critical else ""
    return (
        f"Of {count(report.n_compared, 'question')} measured in both runs, {n:,} newly "
        f"{'fails' if n == 1 else 'fail'}{tagged} and {report.n_repaired:,} newly "
        f"{'passes' if report.n_repaired == 1 else 'pass'}."
    )
