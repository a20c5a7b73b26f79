"""The gate command: the verdict on a run as text, as JSON, and in the files that CI reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection

import click

from ragtriage.dashboard.cli.options import GATES_FILE, JSON, RUN
from ragtriage.dashboard.cli.results.ci_files import junit_xml, markdown_summary
from ragtriage.dashboard.cli.terminal import plain, print_json, row_table, step_list, wrapped
from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.dashboard.tables.gates import DETECTABLE, gate_table
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.gates import newly_failing_text, rule_texts, state_text
from ragtriage.data import api
from ragtriage.data.errors import DataError
from ragtriage.data.gates.conclusion import failing_states
from ragtriage.data.gates.report import GateReport
from ragtriage.data.store.stored_file import write_file
from ragtriage.metrics.gates.wording import VERDICT_WORDS

MOST_LISTED = 20  # newly failing questions that are written out


def _states(_context: click.Context, _option: click.Parameter, text: str | None) -> Collection[str] | None:
    """Return the states that `--fail-on` names."""
    try:
        return failing_states(text)
    except DataError as error:
        raise click.BadParameter(str(error).removeprefix("fail-on ")) from error


@click.command()
@RUN
@click.option("--baseline", metavar="RUN", help="Run to compare with; by default the project's baseline.")
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
