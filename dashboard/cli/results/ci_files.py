"""The verdict of the gates for CI: JUnit XML for its list of tests, Markdown for its job summary."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ragtriage.dashboard.cli.terminal import plain
from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.dashboard.tables.gates import gate_table
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.dashboard.wording.gates import consequence, newly_failing_text, rule_texts, state_text
from ragtriage.dashboard.wording.next_steps import step_sentences
from ragtriage.data.gates.report import GateReport, NewlyFailingCase
from ragtriage.metrics.gates.wording import VERDICT_WORDS, gate_title
from ragtriage.metrics.result_table import text_rows

MOST_LISTED = 50  # newly failing questions that are written out
FOOTER = (
    "*Detectable difference*: the smallest distance from the threshold that a sample of this size detects "
    "with 80 % power."
)
MARKS = {"holds": "✅", "fails": "❌", "cannot tell": "⚠️", "not measured": "❔"}  # of a gate
CONCLUDED: Mapping[str, str] = {"good": "✅", "bad": "❌", "cannot tell": "⚠️", "doubted": "⚠️"}  # else ❔
_HARMLESS = re.compile(
    r"\\(?:(?<=\d\\)(\.)(?=\d)|(?:(?<=[^\W\d]\\)|(?<=[%)]\\))(\.)(?= |$)|"
    r"(?<=\w\\)(-)(?=\w)|(:)(?= )|([,;?%()])|(\+)(?=\d))"
)  # 0.85, the end of a sentence, top-ranked, "name: value", punctuation, +0.02
_NO_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")  # XML 1.0, production 2


def junit_xml(report: GateReport, strict: bool = False) -> str:
    """Write the report as JUnit XML: one test a gate.

    A gate that keeps the version from shipping is a failure. Any other that does not pass is skipped, with
    the verdict as the message: readers show it, and count it neither as passed nor as failed.
    """
    root = ET.Element("testsuites", name="ragtriage gate")
    suite = ET.SubElement(root, "testsuite", name=_xml(f"{report.run.project}: {report.name}"))
    _properties(suite, report, strict)
    failures = skipped = 0
    for result in report.results:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=_xml(f"ragtriage.{report.run.project}.{result.gate.kind}"),
            name=_xml(gate_title(result.gate)),
            time="0",
        )
        if result.verdict != "PASS":
            # whether the gate keeps the version from shipping
            blocking = result.blocks and (result.verdict == "FAIL" or result.gate.required or strict)
            failures, skipped = failures + blocking, skipped + (not blocking)
            message = _xml(f"{VERDICT_WORDS[result.verdict]} ({consequence(result)})")
            if blocking:
                failure = ET.SubElement(case, "failure", type=result.verdict, message=message)
                failure.text = _xml(result.sentence)
            else:
                ET.SubElement(case, "skipped", message=message)
        ET.SubElement(case, "system-out").text = _xml(result.sentence)
    counts = {"tests": len(report.results), "failures": failures, "errors": 0, "skipped": skipped}
    for element in (root, suite):
        element.attrib.update({name: str(value) for name, value in counts.items()} | {"time": "0"})
    suite.set("timestamp", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    suite.set("hostname", "ragtriage")
    ET.SubElement(suite, "system-out").text = _xml(_remarks(report))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "\n")
    )


def _properties(suite: ET.Element, report: GateReport, strict: bool) -> None:
    values = {
        "verdict": report.verdict_under(strict),
        "run": report.run.run_id,
        "baseline": report.baseline.run.run_id if report.baseline.run else "",
        "gates": Path(report.source).name,
        "strict": str(strict).lower(),
    }
    properties = ET.SubElement(suite, "properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=_xml(value))


def _remarks(report: GateReport) -> str:
    """Write what belongs to no single gate: the baseline, warnings, newly failing questions, next steps."""
    cases = [
        f"newly failing: {case.question_id}{' (critical)' if case.critical else ''}: {case.question}"
        for case in report.newly_failing[:MOST_LISTED]
    ]
    lines = [
        *(f"read first: {sentence}" for sentence in report.read_first),
        f"baseline: {report.baseline.note}",
        *(rule.replace("*", "") for rule in rule_texts(report)),
        *report.warnings,
        *_cautions(report),
        newly_failing_text(report),
        *cases,
        _rest(report),
        *(f"next step: {step}" for step in step_sentences(report.conclusion().next_steps)),
    ]
    return "\n".join(line for line in lines if line)


def _cautions(report: GateReport) -> list[str]:
    return [f"Caveat: {caution}" for caution in report.cautions]


def _rest(report: GateReport) -> str:
    more = len(report.newly_failing) - MOST_LISTED
    return f"and {more:,} more" if more > 0 else ""


def _xml(text: str) -> str:
    """Drop characters that XML does not allow; the writer escapes the rest."""
    return _NO_XML.sub("", text)


def markdown_summary(report: GateReport, strict: bool = False) -> str:
    """Write the report as Markdown for a job summary; names and questions are data in it, never markup."""
    headline = report_headline(report, strict)
    base = f"against {_md(report.baseline_name)}: {_md(report.baseline.note)}"
    if report.baseline.run is None:
        base = f"against nothing: {_md(report.baseline.note)}"
    lines = [
        f"## {CONCLUDED.get(headline.state, MARKS['not measured'])} {_md(headline.statement)}",
        f"**{capital(state_text(report, strict))}.** {_md(headline.detail)}.",
        *([f"⚠️ **Doubted:** {_md(headline.doubt)}."] if headline.doubt else []),
        f"Project {_md(report.run.project)}, run `{report.run.run_id}`, {base}. "
        f"Gates: {_md(Path(report.source).name)}{', strict' if strict else ''}.",
        *(f"⚠️ **Read first:** {_md(sentence)}" for sentence in report.read_first),
        _table(report),
        *([_newly_failing(report)] if report.baseline.run else []),
        *(f"- ⚠️ {_md(warning)}" for warning in [*report.warnings, *_cautions(report)]),
        *([_next_steps(report)] if report.conclusion().next_steps else []),
        " ".join([*(f"{capital(rule)}." for rule in rule_texts(report)), FOOTER]),
    ]
    return "\n\n".join(lines) + "\n"


def _next_steps(report: GateReport) -> str:
    """Return all next steps as a numbered list."""
    steps = step_sentences(report.conclusion().next_steps)
    return "\n".join(["**Next steps**", "", *(f"{at}. {_md(step)}" for at, step in enumerate(steps, 1))])


def _table(report: GateReport) -> str:
    rows = text_rows(gate_table(report.results))
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    for verdict, *cells in (map(str, row.values()) for row in rows):
        lines.append([f"{MARKS[verdict]} {verdict}", *map(_md, cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _newly_failing(report: GateReport) -> str:
    summary = newly_failing_text(report)  # numbers and words of our own, which HTML shows as they are
    if not report.newly_failing:
        return summary
    rest = _rest(report)
    lines = [*map(_item, report.newly_failing[:MOST_LISTED]), *([f"- {rest}"] if rest else [])]
    return "\n".join([f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"])


def _item(case: NewlyFailingCase) -> str:
    critical = "**critical** " if case.critical else ""
    return f"- {critical}{_md(case.question_id)}: {_md(shorten(case.question, 160))}"


def _md(text: str) -> str:
    """Escape Markdown, except characters that have no meaning where they are."""
    return _HARMLESS.sub(lambda match: match.group()[1:], markdown_text(plain(text)))
