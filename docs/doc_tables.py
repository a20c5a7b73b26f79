"""The tables of the docs, generated from declarations: thresholds, patterns, stages, gates, formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from ragtriage.data.gates.report import GateReport
from ragtriage.data.importers.registry import GENERAL, QUESTION_FILES, TOOLS, loaded
from ragtriage.metrics.diagnosis.check_kinds import CHECK_KINDS, FORMAT, FORMAT_NAMES
from ragtriage.metrics.diagnosis.context_metric import CONTEXT_METRICS
from ragtriage.metrics.diagnosis.fix_first import REPAIRS
from ragtriage.metrics.diagnosis.patterns import PATTERNS, CaseThresholds
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.gates.gates import Gate, GateResult
from ragtriage.metrics.gates.wording import gate_title, subject_of
from ragtriage.metrics.metric_registry import metrics_table
from ragtriage.metrics.number_text import percent

__all__ = [
    "CASE_THRESHOLDS",
    "REASONS",
    "TABLES",
    "diagnosis_tables",
    "formats_table",
    "gates_table",
    "kinds_table",
    "renewed",
    "tools_row",
    "verdicts_table",
]

CASE_THRESHOLDS: Mapping[str, str] = MappingProxyType(
    {
        "context": "the context metric; below it, the context lacks what the question needs",
        "faithfulness": "the share of the answer's claims that its context supports",
        "answer_relevancy": "how well the answer addresses the question",
        "correctness": "agreement with the reference, judged, imported or by claims; one half keeps “partly "
        "right” out of the bad cases",
        "noise": "the share of wrong claims taken from retrieved documents from which on the answer follows "
        "the noise",
        "utilization": "the share of the relevant context; below it, the answer left something out",
    }
)
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "context": "the context metric is below its threshold",
        "faithfulness": "faithfulness is below its threshold",
        "answer_relevancy": "answer relevancy is below its threshold",
        "correctness": "correctness is below its threshold",
        "answered_unanswerable": "the question is labelled unanswerable, and the system answered",
        "wrongly_refused": "the system refused a question that is labelled answerable or for which gold is "
        "recorded, whether or not retrieval found it; without a label also one that has a reference answer",
        "self_contradiction": "the answer contradicts itself",
        "contradicts_context": "a document of the context contradicts a claim that none supports",
        "checks": "an expected-against-actual check failed",
        "human": "it is labelled bad",
    }
)


def diagnosis_tables() -> str:
    """Return all reasons, thresholds, context metrics, patterns and stages as Markdown."""
    return "\n\n".join([_reasons(), _thresholds(), _context_metrics(), _patterns(), _stages(), _repairs()])


_SUITE_PAGES = {"tool": "[tool calls](checks-tools.md)", "safety": "[attacks](checks-safety.md)"}


def kinds_table() -> str:
    """Return the suites with the kinds of checks that belong to them as Markdown."""
    names = {kind.key: kind.names for kind in CHECK_KINDS} | {FORMAT: FORMAT_NAMES}
    rows = [
        [f"`{key}`", ", ".join(kinds) + (f": {_SUITE_PAGES[key]}" if key in _SUITE_PAGES else "")]
        for key, kinds in names.items()
    ]
    return _table(["suite", "kinds"], rows)


def _repairs() -> str:
    rows = [
        [owner, f"{percent(repair.least)} to {percent(repair.most)}", repair.effort]
        for owner, repair in REPAIRS.items()
    ]
    head = ["Part", "Cases that a first repair fixes", "Effort"]
    return "### What a repair is expected to bring\n\n" + _table(head, rows)


def _reasons() -> str:
    rows = [[f"`{key}`", text] for key, text in REASONS.items()]
    return "### Why a case is bad\n\n" + _table(["Reason", "When"], rows)


def _thresholds() -> str:
    rows = [
        [f"`{field.name}`", f"{field.default:.2f}", CASE_THRESHOLDS[field.name]]
        for field in fields(CaseThresholds)
    ]
    return "### Case thresholds\n\n" + _table(["Threshold", "Value", "Of"], rows)


_ORIGINS = {"own": "computed, judged or human", "imported": "imported", "any": "any"}


def _context_metrics() -> str:
    rows = [
        [str(at), f"`{entry.name}`", _ORIGINS[entry.origin], entry.tells]
        for at, entry in enumerate(CONTEXT_METRICS, 1)
    ]
    return "### Context metrics, in order\n\n" + _table(["", "Metric", "Obtained", "What it tells"], rows)


def _patterns() -> str:
    rows = [
        [
            f"`{pattern.key}` {pattern.title}",
            *_levels(pattern.key, pattern.levels),
            pattern.meaning,
        ]
        for pattern in PATTERNS
    ]
    head = ["Pattern", "Context", "Faithfulness", "Answer relevancy", "Meaning"]
    return "### Metric patterns\n\n" + _table(head, rows)


def _levels(key: str, levels: Sequence[str]) -> list[str]:
    return ["–"] * len(levels) if key in ("refusal", "not_measured") else list(levels)


def _stages() -> str:
    rows = [
        [
            str(at),
            f"`{stage.key}` {stage.title}",
            stage.owner,
            " ".join((stage.rule.__doc__ or "").split()),
            stage.meaning,
            stage.advice,
        ]
        for at, stage in enumerate(STAGES, 1)
    ]
    head = ["", "Stage", "Owner", "Rule", "Meaning", "What to try"]
    return "### Failure stages, in the order they are tried\n\n" + _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def gates_table(gates: Sequence[Gate]) -> str:
    """Return gates as a Markdown table."""
    rows = [
        [gate_title(gate), "blocks" if gate.severity == "block" else "warns", gate.reason] for gate in gates
    ]
    return _table(["Gate", "If it fails", "Because"], rows)


def verdicts_table(reports: Sequence[GateReport]) -> str:
    """Return the results of several runs under the same gates as a Markdown table, one row each."""
    levels = [result.gate for result in reports[0].results if result.gate.kind in ("mean", "checks")]
    head = ["Run", "Verdict", "Exit code", *map(gate_title, levels), "Against the baseline", "Newly failing"]
    return _table(head, [_row(report) for report in reports])


def _row(report: GateReport) -> list[str]:
    levels = [_cell(result) for result in report.results if result.gate.kind in ("mean", "checks")]
    changes = [result for result in report.results if result.gate.kind == "regression"]
    failed = [
        f"{subject_of(result.gate)} {_number(result, True)}" for result in changes if result.verdict == "FAIL"
    ]
    counts = [
        f"{verdict} {sum(result.verdict == verdict for result in changes)}"
        for verdict in ("FAIL", "INCONCLUSIVE", "UNMEASURED", "PASS")
        if any(result.verdict == verdict for result in changes)
    ]
    changed = ", ".join(counts) + (f" ({'; '.join(failed)})" if failed else "")
    code = f"{report.exit_code()}, strict {report.exit_code(strict=True)}"
    newly_failing = f"{len(report.newly_failing)} of {report.n_compared}"
    return [report.name, f"**{report.verdict}**", code, *levels, changed, newly_failing]


def _cell(result: GateResult) -> str:
    return f"{result.verdict} {_number(result, False)}".strip()


def _number(result: GateResult, change: bool) -> str:
    if result.mean is None or result.low is None or result.high is None:
        return ""
    form = "+.2f" if change else ".2f"
    ends = f"[{result.low:{form}}, {result.high:{form}}]"
    return f"{result.mean:{form}} {ends}, n = {result.n_scored}".replace("-", "−")


def formats_table() -> str:
    """Return every format with what its files hold and the versions it was tested with, as Markdown."""
    by_title = partial(sorted, key=lambda importer: importer.title.casefold())
    # outside code a name in angle brackets would be read as HTML
    rows = [
        [
            f"**{importer.title}**",
            f"`{importer.key}`",
            re.sub(r"<(?=[^`]*(?:`[^`]*`[^`]*)*$)", r"\<", importer.accepts),
            importer.written_by,
        ]
        for importer in (*by_title(loaded(TOOLS)), *by_title(loaded(QUESTION_FILES)), *loaded(GENERAL))
    ]
    return _table(["Format", "`--format`", "What the file holds", "Tested with"], rows)


def tools_row() -> str:
    """Return the tools whose files are read, in one line for the README."""
    names = {importer.written_by or importer.title for importer in loaded(TOOLS)}
    plain = {" ".join(takewhile(_is_name, name.split())) for name in names}
    return ", ".join(sorted(plain, key=str.casefold))


def _is_name(word: str) -> bool:
    """Return whether a word belongs to the name of a tool, not to its version."""
    return not word[0].isdigit() and not word.startswith("(")


def renewed(text: str, name: str, content: str) -> str:
    """Return a page with the content between the marks of that name renewed.

    The marks are `<!-- name -->` and `<!-- /name -->`, or `<!-- name: begin -->` and `<!-- name: end -->`.

    Raises:
        ValueError: the page lacks them.
    """
    for first, last in (("<!-- {} -->", "<!-- /{} -->"), ("<!-- {}: begin -->", "<!-- {}: end -->")):
        head, opening, rest = text.partition(f"{first.format(name)}\n")
        _, closing, tail = rest.partition(last.format(name))
        if opening and closing:
            return f"{head}{opening}{content.strip()}\n{closing}{tail}"
    raise ValueError(f"no marks {name!r}")


# page -> the marks of its table, and what stands between them
TABLES: Mapping[str, tuple[str, Callable[[], str]]] = MappingProxyType(
    {
        "importers.md": ("formats", formats_table),
        "metrics.md": ("metrics table", metrics_table),
        "diagnosis.md": ("diagnosis tables", diagnosis_tables),
        "checks.md": ("kinds of checks", kinds_table),
    }
)


def main() -> None:
    """Renew every generated table of the docs."""
    for file, (name, content) in TABLES.items():
        page = Path(__file__).with_name(file)
        page.write_text(renewed(page.read_text("utf-8"), name, content()), encoding="utf-8")


if __name__ == "__main__":
    main()
