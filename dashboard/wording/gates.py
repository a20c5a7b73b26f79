"""Gate results in sentences, the same on the page, on the command line and in CI files."""

from collections.abc import Mapping

from ragtriage.dashboard.wording.escaping import in_sentence
from ragtriage.dashboard.wording.formatting import sampling_text
from ragtriage.data.gates.report import GateReport
from ragtriage.metrics.gates.gates import GateResult, GateVerdict
from ragtriage.metrics.gates.wording import judged_title
from ragtriage.metrics.number_text import count

RULED = ("mean", "percentile", "checks", "regression")  # kinds that an interval or the mean decides
RECORDED = {
    "latency": "end-to-end latency",
    "cost": "cost",
    "throughput": "throughput",
}  # guardrails that a run may lack
EXPLAINED: Mapping[GateVerdict, str] = {
    "PASS": "every blocking gate holds",
    "FAIL": "a blocking gate does not hold",
    "INCONCLUSIVE": "this sample cannot tell whether every blocking gate holds",
    "UNMEASURED": "a blocking gate could not be judged",
}


def state_text(report: GateReport, strict: bool = False) -> str:
    """Return the conclusion on a run: ship, do not ship, cannot tell or not checked."""
    return report.conclusion(strict).state.replace("_", " ")


def rule_texts(report: GateReport) -> list[str]:
    """Return the rules by which the gates of a report pass and fail, in Markdown, each without full stop."""
    ruled = [result.gate for result in report.results if result.gate.kind in RULED]
    test = "test" if any(result.unpaired for result in report.results) else "exact test"
    by_interval = {gate.kind for gate in ruled if gate.rule == "interval"}
    texts = {
        "a gate holds or fails where the whole 95 % interval is on one side of the threshold": bool(
            by_interval - {"regression"}
        ),
        f"a change fails where the drop reaches the allowed loss and a one-sided {test} says worse; it "
        "passes where the loss stays within that with 95 % confidence": "regression" in by_interval,
        "*by the mean*: the mean, its change or the percentile alone decides, whatever its interval": any(
            gate.rule == "mean" for gate in ruled
        ),
        "a gate on one metric is tested alone; the metrics of a gate on a family together (step-down max-T), "
        "the primary one alone": any("max-T" in result.obtained for result in report.results),
    }
    sampled = "" if report.diagnosis is None else sampling_text(report.diagnosis.scored)
    beside = filter(None, [in_sentence(sampled), not_compared(report)])
    return [*(text for text, applies in texts.items() if applies), *beside]


def not_compared(report: GateReport) -> str:
    """Return which guardrails one of the two runs does not record; "" where both record all."""
    if report.baseline.run is None:
        return ""
    compared = {result.gate.metric for result in report.results if result.gate.kind == "guardrail"}
    if report.mixed is not None and report.mixed.sampled:
        compared |= {"throughput"}  # that of kept calls is not that of all
    missing = [title for name, title in RECORDED.items() if name not in compared]
    return f"not compared, as one of the runs does not record it: {', '.join(missing)}" if missing else ""


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
    unchecked = "; answers not checked" if report.conclusion(strict).unchecked else ""
    return f"{EXPLAINED[verdict]}{': ' if titles else ''}{'; '.join(titles)}{unchecked}"


def newly_failing_text(report: GateReport) -> str:
    """Return how many questions newly fail and how many pass again; "" without a baseline."""
    if report.baseline.run is None or (report.mixed is not None and report.mixed.sampled):
        return ""
    critical = sum(case.critical for case in report.newly_failing)
    n = len(report.newly_failing)
    tagged = f" ({critical:,} critical)" if critical else ""
    return (
        f"Of {count(report.n_compared, 'question')} measured in both runs, {n:,} newly "
        f"{'fails' if n == 1 else 'fail'}{tagged} and {report.n_repaired:,} newly "
        f"{'passes' if report.n_repaired == 1 else 'pass'}."
    )
