"""The commands that say what holds and tell others, as the command line takes them: gate, report."""

from __future__ import annotations

import sys
from typing import Any

import click

__all__ = ["VERDICT_COMMANDS"]

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_RUN = click.argument("run")


@click.command()
@_RUN
@click.option("--baseline", metavar="RUN", help="Run to hold it against; the project's baseline otherwise.")
@click.option("--config", metavar="FILE", help="Gates; the workspace's gates.toml, else the bundled ones.")
@click.option("--strict", is_flag=True, help="Exit with 1 on INCONCLUSIVE and UNMEASURED too.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write Markdown, fit for the summary of a CI job.")
@_JSON
@click.pass_obj
def gate(workspace: str | None, /, run: str, **given: Any) -> None:
    """Say whether a run holds: PASS, FAIL (exit code 1), INCONCLUSIVE or UNMEASURED."""
    from dashboard.cli import gate

    sys.exit(gate.run(workspace, run, **given))


@click.command()
@click.argument("run_names", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="File to write: .html, .pptx, .pdf or .zip."
)
@click.option("--baseline", metavar="RUN", help="What it is compared with; the project's baseline otherwise.")
@click.option(
    "--audience",
    type=click.Choice(["engineer", "lead", "stakeholder"]),
    default="stakeholder",
    show_default=True,
    help="Whom it is for; it decides what stands in it.",
)
@click.option("--story", type=int, help="Number of a story of the Present page, in place of a fresh one.")
@click.option("--title", default="", help="Of the report; the run's name when left out.")
@_JSON
@click.pass_obj
def report(workspace: str | None, /, run_names: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Write a report that people without the tool can read: one HTML file, slides, or PDF."""
    from dashboard.cli import report

    sys.exit(report.run(workspace, run_names, report.ReportOptions(**given), as_json))


VERDICT_COMMANDS = (gate, report)
