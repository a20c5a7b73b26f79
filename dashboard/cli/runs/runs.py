"""The runs command: a list of the runs of a workspace."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, table
from ragtriage.data.api import open_store, runs_answer
from ragtriage.metrics.number_text import NOT_MEASURED


@click.command()
@JSON
@click.pass_obj
def runs(workspace: str | None, as_json: bool) -> None:
    """List the runs."""
    store = open_store(workspace)
    answer = runs_answer(store)
    unreadable = store.unreadable()
    for problem in unreadable.values():
        click.echo(f"warning: {plain(problem)}", err=True)
    if as_json:
        print_json(answer)
        return
    if not answer and unreadable:
        click.echo(f"No run in {store.workspace.root} can be read.")
        return
    if not answer:
        click.echo(
            f"No runs yet in {store.workspace.root}; load some with `ragtriage import FILE` or "
            "`ragtriage demo`, or name another workspace with --workspace."
        )
        return
    aggregate_only = {run.run_id for run in store.runs() if run.means}
    rows = [
        [
            run["run_id"],
            run["project"],
            run["name"],
            NOT_MEASURED if run["run_id"] in aggregate_only else f"{run['n']:,}",
            run["created_at"],
        ]
        for run in answer
    ]
    click.echo(table(["run", "project", "name", "samples", "created"], rows))
