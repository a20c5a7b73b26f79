"""The check command: sanity checks on the numbers of a run."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON, RUN
from ragtriage.dashboard.cli.terminal import plain, print_json, wrapped
from ragtriage.data.api import open_store
from ragtriage.data.diagnosis.run_checks import check_run


@click.command()
@RUN
@JSON
@click.pass_obj
def check(workspace: str | None, run_name: str, as_json: bool) -> None:
    """Run the sanity checks on the numbers of a run."""
    store = open_store(workspace)
    findings = check_run(store.scored(store.find(run_name)))
    if as_json:
        print_json([finding.to_dict() for finding in findings])
        return
    for finding in findings:
        click.echo(wrapped(f"{finding.severity}: {plain(finding.title)}: {plain(finding.message)}", "  "))
    if not findings:
        click.echo("Nothing found.")
