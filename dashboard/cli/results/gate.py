"""The commands gate, advise and init: the verdict on a run, its files for CI, and what to plan next."""

import os
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from ragtriage.dashboard.cli.options import BASELINE, GATES_FILE, JSON, RUN
from ragtriage.dashboard.cli.terminal import plain, print_answer, print_json, row_table, step_list, wrapped
from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.dashboard.tables.gates import DETECTABLE, gate_table
from ragtriage.dashboard.tables.project import deciding_table, held_text, plan_sentence, size_text, step_table
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.dashboard.wording.gates import consequence, newly_failing_text, rule_texts, state_text
from ragtriage.dashboard.wording.next_steps import step_sentences
from ragtriage.data import api
from ragtriage.data.api import diagnosis_of, open_store
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.errors import DataError
from ragtriage.data.gates.conclusion import failing_states
from ragtriage.data.gates.report import GateReport, NewlyFailingCase
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stored_file import write_file
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.strategy.expected_gains import PROFILES, profile_gates, write_profile
from ragtriage.data.strategy.plan import USE_CASES, Plan, plan_answer, plan_of
from ragtriage.metrics.gates.wording import VERDICT_WORDS, gate_title
from ragtriage.metrics.result_table import text_rows

MOST_IN_FILES = 50  # newly failing questions that are written out
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
MOST_LISTED = 20  # newly failing questions that are written out


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
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


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
        for case in report.newly_failing[:MOST_IN_FILES]
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
    more = len(report.newly_failing) - MOST_IN_FILES
    return f"and {more:,} more" if more > 0 else ""


def _xml(text: str) -> str:
    """Drop characters that XML does not allow; the writer escapes the rest."""
    return _NO_XML.sub("", text)


def markdown_summary(report: GateReport, strict: bool = False) -> str:
    """Write the report as Markdown for a job summary; names and questions are data in it, never markup."""
    headline = report_headline(report, strict)
    base_name = _md(report.baseline_name) if report.baseline.run else "nothing"
    base = f"against {base_name}: {_md(report.baseline.note)}"
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
    lines = [*map(_item, report.newly_failing[:MOST_IN_FILES]), *([f"- {rest}"] if rest else [])]
    return "\n".join([f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"])


def _item(case: NewlyFailingCase) -> str:
    critical = "**critical** " if case.critical else ""
    return f"- {critical}{_md(case.question_id)}: {_md(shorten(case.question, 160))}"


def _md(text: str) -> str:
    """Escape Markdown, except characters that have no meaning where they are."""
    return _HARMLESS.sub(lambda match: match.group()[1:], markdown_text(plain(text)))


@click.command()
@click.argument("project", required=False)
@click.option(
    "--for",
    "use_case",
    type=click.Choice([*USE_CASES]),
    default="production",
    show_default=True,
    help="Use case.",
)
@JSON
@click.pass_obj
def advise(workspace: str | None, project: str | None, use_case: str, as_json: bool) -> None:
    """Plan an evaluation: metrics, number of questions, gates, labels, and the command of each step."""
    store = open_store(workspace)
    plan = plan_of(
        store, _project(store, project), use_case, lambda run: diagnosis_of(store, run, DiagnosisSettings())
    )
    run = plan.holdings.run
    steps = () if run is None else api.gate(run.run_id, workspace=workspace).conclusion().next_steps
    if as_json:
        print_answer(plan_answer(plan) | {"next_steps": [step.to_dict() for step in steps]})
    else:
        print_answer("\n\n".join(filter(None, [_plan_text(plan), step_list(steps)])))


def _project(store: RunStore, wanted: str | None) -> str:
    """Return the project that is meant: the one named, the only one, or `default` where there is none."""
    projects = store.projects()
    accepted = ", ".join(f"“{project}”" for project in projects)  # a name may hold a comma
    if wanted is None and len(projects) > 1:
        raise DataError(f"several projects; accepted: {accepted}")
    if wanted is not None and projects and wanted not in projects:
        raise DataError(f"project {wanted[:60]!r}; accepted: {accepted}")
    return wanted or (projects[0] if projects else "default")


def _plan_text(plan: Plan) -> str:
    sections = [
        wrapped(plain(plan_sentence(plan))),
        wrapped(f"{held_text(plan)} {size_text(plan)}"),
        row_table(deciding_table(plan).rows),
        row_table(step_table(plan).only("Step", "Done", "What", "Why").rows),
        "\n".join(f"{at:>2}  {plain(step.command)}" for at, step in enumerate(plan.steps, 1)),
    ]
    return "\n\n".join(sections)


@click.command()
@click.option("--profile", type=click.Choice([*PROFILES]), help="Kind of use whose gates are written.")
@click.option("--force", is_flag=True, help="Replace a gates.toml that is there.")
@click.option("--list", "listed", is_flag=True, help="List the profiles, and write nothing.")
@JSON
@click.pass_obj
def init(workspace: str | None, profile: str | None, force: bool, listed: bool, as_json: bool) -> None:
    """Write a commented gates.toml for a kind of use into the workspace."""
    if listed:
        titles = [{"profile": known.name, "for": known.title} for known in PROFILES.values()]
        profiles = {"profiles": [vars(known) for known in PROFILES.values()]}
        print_answer(profiles if as_json else row_table(titles))
        return
    if profile is None:
        raise click.UsageError(f"--profile is missing; accepted: {', '.join(PROFILES)}, or --list")
    path = write_profile(Workspace.find(workspace), profile, force)
    gates = profile_gates(profile).general
    rows = [
        {
            "gate": gate_title(gate),
            "if it fails": "blocks" if gate.severity == "block" else "warns",
            "because": gate.reason,
        }
        for gate in gates
    ]
    if as_json:
        print_json({"profile": profile, "file": str(path), "gates": [row["gate"] for row in rows]})
    else:
        click.echo(f"Wrote {plain(str(path))}: {len(gates)} gates. Change what does not fit.")
        click.echo(row_table(rows))


def _states(_context: click.Context, _option: click.Parameter, text: str | None) -> Collection[str] | None:
    """Return the states that `--fail-on` names."""
    try:
        return failing_states(text)
    except DataError as error:
        raise click.BadParameter(str(error).removeprefix("fail-on ")) from error


@click.command()
@RUN
@BASELINE
@GATES_FILE
@click.option(
    "--fail-on",
    metavar="STATES",
    callback=_states,
    help="Conclusions that end with their exit code and not 0, joined by commas: do_not_ship, cannot_tell, "
    "not_checked. By default do_not_ship, and not_checked where no gate measured quality.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Fail on all three, also where a gate had nothing to judge by, such as a baseline.",
)
@click.option("--junit", metavar="FILE", help="Write JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write Markdown for the summary of a CI job.")
@JSON
@click.pass_obj
def gate(
    workspace: str | None,
    run_name: str,
    baseline: str | None,
    config: str | None,
    fail_on: Collection[str] | None,
    strict: bool,
    junit: str | None,
    markdown: str | None,
    as_json: bool,
) -> None:
    """Judge a run by its gates: ship, do not ship, cannot tell or not checked.

    Exit code 0: ship, 1: do not ship, 2: bad usage or input, 3: cannot tell or not checked. The last is 0
    unless --fail-on or --strict says otherwise, or no gate measured quality.
    """
    if baseline is not None and not baseline.strip():  # as an unset variable of a script leaves it
        raise click.BadParameter("names no run; accepted: the id or name of a run", param_hint="--baseline")
    report = api.gate(run_name, baseline or "", config, workspace)
    if junit:
        write_file(junit, junit_xml(report, strict).encode("utf-8"))
    if markdown:
        is_job_summary = markdown == os.environ.get("GITHUB_STEP_SUMMARY")
        write_file(markdown, markdown_summary(report, strict).encode("utf-8"), append=is_job_summary)
    if as_json:
        print_json(report.to_dict(strict, fail_on))
    else:
        click.echo(report_text(report, strict, report.exit_code(strict, fail_on)))
    sys.exit(report.exit_code(strict, fail_on))


def report_text(report: GateReport, strict: bool, code: int) -> str:
    """Return the report as the command prints it."""
    headline = plain(report_headline(report, strict).text)
    table = gate_table(report.results)
    gates = table.only(*(name for name in table.rows[0] if name != DETECTABLE))  # the sentences have it
    sentences = [
        result.sentence
        if result.verdict == "UNMEASURED"
        else f"{VERDICT_WORDS[result.verdict]}: {result.sentence}"
        for result in report.results
        if result.verdict != "PASS"
    ]
    compared = f"Compared with {report.baseline_name}: " if report.baseline.run else ""
    notes = [f"{capital(f'{compared}{report.baseline.note}')}. Gates: {report.source}."]
    notes += [f"{capital(rule.replace('*', ''))}." for rule in rule_texts(report)]
    notes += [f"warning: {warning}" for warning in report.warnings]
    notes += [f"Caveat: {caution} (`ragtriage check`)" for caution in report.cautions]
    lines = [newly_failing_text(report)]
    lines += [
        f"  {case.question_id}{' (critical)' if case.critical else ''}: {case.question}"
        for case in report.newly_failing[:MOST_LISTED]
    ]
    more = len(report.newly_failing) - MOST_LISTED
    if more > 0:
        lines.append(f"  and {more:,} more; --json has them all")
    sections = [
        wrapped(headline),
        *(wrapped(plain(f"Read first: {sentence}")) for sentence in report.read_first),
        row_table(gates.rows),
        "\n".join(wrapped(plain(line), "  ") for line in sentences),
        "\n".join(wrapped(plain(line), "  ") for line in notes),
        "\n".join(wrapped(plain(line), "    ") for line in lines if line),
        step_list(report.conclusion().next_steps),
        f"Conclusion: {state_text(report, strict)}. Exit code {code}{' (strict)' if strict else ''}.",
    ]
    return "\n\n".join(section for section in sections if section)
