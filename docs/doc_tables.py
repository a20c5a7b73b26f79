"""The tables of docs/diagnosis.md, from the declarations: cut-offs, bad cases, patterns and stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType

from data.gates.report import GateReport
from metrics.diagnosis.patterns import CONTEXT_METRICS, PATTERNS, CaseThresholds
from metrics.diagnosis.stages import STAGES
from metrics.gates.gates import Gate, GateResult
from metrics.gates.wording import gate_title, subject_of

__all__ = [
    "CUTOFFS",
    "REASONS",
    "diagnosis_tables",
    "gates_table",
    "verdicts_table",
]

CUTOFFS: Mapping[str, str] = MappingProxyType(
    {
        "context": "the context signal, below which the context lacks what the question needs",
        "faithfulness": "the share of the answer's claims that its context supports",
        "answer_relevancy": "how well the answer meets the question",
        "correctness": "agreement with the reference; one half keeps “partly right” out of the bad cases",
        "noise": "the share of wrong claims that stem from a retrieved document, from which on the answer "
        "follows the noise",
        "utilization": "the share of what the context held, below which the answer leaves it out",
    }
)
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "context": "the context signal is below its cut-off",
        "faithfulness": "faithfulness is below its cut-off",
        "answer_relevancy": "answer relevancy is below its cut-off",
        "correctness": "correctness is below its cut-off",
        "answered_unanswerable": "the question is labelled unanswerable, and the system answered",
        "wrongly_refused": "the system refused a question that is labelled answerable or for which gold is "
        "recorded, whether or not retrieval found it",
        "checks": "an expected-against-actual check failed",
        "human": "a person marked it bad",
    }
)


def diagnosis_tables() -> str:
    """Write every declared cut-off, reason, signal, pattern and stage as Markdown, in its order."""
    return "\n\n".join([_reasons(), _cutoffs(), _signals(), _patterns(), _stages()])


def _reasons() -> str:
    rows = [[f"`{key}`", text] for key, text in REASONS.items()]
    return "### Why a case is bad\n\n" + _table(["Reason", "When"], rows)


def _cutoffs() -> str:
    rows = [[f"`{one.name}`", f"{one.default:.2f}", CUTOFFS[one.name]] for one in fields(CaseThresholds)]
    return "### Cut-offs, for single cases\n\n" + _table(["Cut-off", "Value", "Of"], rows)


def _signals() -> str:
    rows = [[str(at), f"`{name}`"] for at, name in enumerate(CONTEXT_METRICS, 1)]
    return "### Context signals, in order\n\n" + _table(["", "Metric"], rows)


def _patterns() -> str:
    rows = [
        [f"`{one.key}` {one.title}", *_levels(one.key, one.levels), one.meaning, one.advice]
        for one in PATTERNS
    ]
    head = ["Pattern", "Context", "Faithfulness", "Answer relevancy", "Meaning", "What to try"]
    return "### Metric patterns\n\n" + _table(head, rows)


def _levels(key: str, levels: Sequence[str]) -> list[str]:
    return ["–"] * len(levels) if key in ("refusal", "not_measured") else list(levels)


def _stages() -> str:
    rows = [
        [str(at), f"`{one.key}` {one.title}", one.owner, _rule(one.rule.__doc__), one.meaning, one.advice]
        for at, one in enumerate(STAGES, 1)
    ]
    head = ["", "Stage", "Owner", "Rule", "Meaning", "What to try"]
    return "### Failure stages, in the order they are tried\n\n" + _table(head, rows)


def _rule(text: str | None) -> str:
    return " ".join((text or "").split())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


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
    broken = f"{len(report.newly_failing)} of {report.n_compared}"
    return [report.name, f"**{report.verdict}**", code, *levels, said, broken]


def _cell(result: GateResult) -> str:
    return f"{result.verdict} {_number(result, False)}".strip()


def _number(result: GateResult, change: bool) -> str:
    if result.mean is None or result.low is None or result.high is None:
        return ""
    form = "+.2f" if change else ".2f"
    ends = f"[{result.low:{form}}, {result.high:{form}}]"
    return f"{result.mean:{form}} {ends}, n = {result.n_scored}".replace("-", "−")
