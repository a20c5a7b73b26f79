"""The delete command: runs out of the workspace."""

from __future__ import annotations

import sys

import click

from ragtriage.dashboard.cli.options import JSON, RUNS
from ragtriage.dashboard.cli.terminal import print_json
from ragtriage.data.api import open_store


@click.command()
@RUNS
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@JSON
@click.pass_obj
def delete(workspace: str | None, run_names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete runs; their human labels are kept."""
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("delete asks for confirmation, and this is not a terminal; accepted: --yes")
    if not yes and not click.confirm(f"Delete {', '.join(run_names)}?", err=True):
        return
    store = open_store(workspace)
    unreadable = store.unreadable()
    run_ids = [name if name in unreadable else store.find(name).run_id for name in run_names]
    for run_id in run_ids:
        store.workspace.delete_run(run_id)
    if as_json:
        print_json({"deleted": run_ids})
    else:
        click.echo(f"Deleted {', '.join(run_ids)}.")
