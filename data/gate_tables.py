"""The tables of docs/gates.md: the bundled gates, and what runs get under them."""

from __future__ import annotations

from collections.abc import Sequence

from data.gating import GateReport
from metrics.diagnosis_tables import _table
from metrics.gate_words import gate_title, subject_of
from metrics.gates import Gate, GateResult

__all__ = ["gates_table", "verdicts_table"]


def gates_table(gates: Sequence[Gate]) -> str:
    """Write gates as a Markdown table."""
    rows = [
        [gate_title(gate), "blocks" if gate.severity == "block" else "warns", gate.reason] for gate in gates
    ]
    return _table(["Gate", "If it fails", "Because"], rows)


def verdicts_table(reports: Sequence[GateReport]) -> str:
    """Write what several runs get under the same gates as a Markdown table, a row each."""
    levels = [one.gate for one in reports[0].results if one.gate.kind in ("mean", "checks")]
    head = ["Run", "Verdict", "Exit code", *map(gate_title, levels), "Against the baseline", "Newly failing"]
    return _table(head, [_row(report) for report in reports])


def _row(report: GateReport) -> list[str]:
    levels = [_cell(one) for one in report.results if one.gate.kind in ("mean", "checks")]
    changes = [one for one in report.results if one.gate.kind == "regression"]
    failed = [f"{subject_of(one.gate)} {_number(one, True)}" for one in changes if one.verdict == "FAIL"]
    counts = [
        f"{verdict} {sum(one.verdict == verdict for one in changes)}"
        for verdict in ("FAIL", "INCONCLUSIVE", "UNMEASURED", "PASS")
        if any(one.verdict == verdict for one in changes)
    ]
    said = ", ".join(counts) + (f" ({'; '.join(failed)})" if failed else "")
    code = f"{report.exit_code()}, strict {report.exit_code(strict=True)}"
    broken = f"{len(report.broken)} of {report.n_compared}"
    return [report.name, f"**{report.verdict}**", code, *levels, said, broken]


def _cell(result: GateResult) -> str:
    return f"{result.verdict} {_number(result, False)}".strip()


def _number(result: GateResult, change: bool) -> str:
    if result.mean is None or result.low is None or result.high is None:
        return ""
    form = "+.2f" if change else ".2f"
    ends = f"[{result.low:{form}}, {result.high:{form}}]"
    return f"{result.mean:{form}} {ends}, n = {result.n_scored}".replace("-", "−")
