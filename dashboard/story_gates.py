"""The verdict of the gates as a point of a story: the same code as the gate command and the Triage page."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.rounding import count, interval_text, number
from dashboard.story import Made
from dashboard.story_view import StoryView
from data.gate_baseline import Baseline
from data.gate_config import load_gates
from data.gating import GateReport, gate_run
from metrics.gate_words import gate_title

__all__ = ["gate_piece", "story_gates"]

TOLD = 3  # gates that the sentence names


def story_gates(view: StoryView) -> GateReport:
    """Judge the run of a story by the gates of its project."""
    held = Baseline(view.baseline, "chosen for this story" if view.baseline else "the story has no baseline")
    return gate_run(view.catalogue, view.run, held, load_gates(view.catalogue.workspace))


def gate_piece(view: StoryView, _chosen: Mapping[str, str]) -> Made:
    """Give the verdict with a row for each gate."""
    report = story_gates(view)
    blocking = [one for one in report.results if one.gate.severity == "block" and not one.excused]
    failing = [one for one in blocking if one.verdict == "FAIL"]
    unsure = [one for one in blocking if one.verdict in ("INCONCLUSIVE", "UNMEASURED")]
    told = failing or unsure
    more = f" And {len(told) - TOLD} more, below." if len(told) > TOLD else ""
    said = " ".join(one.sentence for one in told[:TOLD]) + more
    base = f"against {report.baseline_name}" if report.baseline_name else "without a baseline"
    return Made(
        "verdict",
        f"Verdict: {report.verdict}",
        said or "Every blocking gate passes.",
        rows=[
            {
                "Gate": gate_title(one.gate),
                "Verdict": one.verdict,
                "Value": number(one.mean),
                "95 % interval": interval_text(one.low, one.high),
                "n": one.n_scored,
                "If it fails": f"{'blocks' if one.gate.severity == 'block' else 'warns'}: {one.gate.reason}",
            }
            for one in report.results
        ],
        facts=[
            base,
            f"{count(len(report.broken), 'question')} newly failing of {report.n_compared:,} compared"
            if report.n_compared
            else "",
            "PASS and FAIL only where the whole 95 % interval lies on one side of the threshold",
            *report.warnings,
        ],
    )
