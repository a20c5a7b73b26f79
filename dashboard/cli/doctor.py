"""The doctor command: what of an installation works, and what to attach to a bug report.

It shares no options or tables with other commands: these load libraries that may be what is broken.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from importlib import metadata

import click

from ragtriage import __version__
from ragtriage.dashboard.cli.installation import Finding, counted, findings_of

LIBRARIES = (
    *("duckdb", "mcp", "numpy", "orjson", "pandas", "plotly", "pyarrow", "pydantic", "starlette"),
    "streamlit",
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--report", "as_report", is_flag=True, help="Print what a bug report needs, without paths and texts."
)
@click.pass_obj
def doctor(workspace: str | None, as_json: bool, as_report: bool) -> None:
    """Check this installation and the workspace; exit code 1 where there is a problem."""
    findings = findings_of(workspace)
    problems = sum(finding.state == "problem" for finding in findings)
    if as_json:
        checks = [
            {"state": finding.state, "subject": finding.subject, "text": finding.text} for finding in findings
        ]
        answer = {"checks": checks, "problems": problems, "report": _report(findings)}
        click.echo(json.dumps(answer, ensure_ascii=True, indent=1))
    elif as_report:
        click.echo(_report(findings))
    else:
        for finding in findings:
            click.echo(f"{finding.state:<9}{finding.subject:<13}{_plain(finding.text)}")
        click.echo(f"\n{_conclusion(findings)}\n")
        click.echo("For a bug report, without paths and texts: ragtriage doctor --report")
    sys.exit(1 if problems else 0)


def _conclusion(findings: Sequence[Finding]) -> str:
    states: list[str] = [finding.state for finding in findings]
    problems, warnings = (counted(states.count(state), state) for state in ("problem", "warning"))
    if problems.startswith("0 "):
        return f"No problem, {warnings}."
    return f"{problems}, {warnings}: settle the problems first."


def _report(findings: Sequence[Finding]) -> str:
    """Return what to attach to a bug report: no path, no value of the environment, no text of a run."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    versions = ", ".join(f"{name} {version}" for name in LIBRARIES if (version := _version(name)))
    lines = [
        f"ragtriage {__version__}, Python {platform.python_version()}, {system}",
        f"libraries: {versions}",
        *(f"{finding.state}: {finding.subject}: {_plain(finding.for_report)}" for finding in findings),
    ]
    return "\n".join(lines)


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
