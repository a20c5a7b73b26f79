"""The release command: which runs of a project were released, and under which name."""

from __future__ import annotations

from dataclasses import asdict

import click

from ragtriage.dashboard.cli.options import JSON, PROJECT, WHO
from ragtriage.dashboard.cli.runs.baseline import user_name
from ragtriage.dashboard.cli.terminal import plain, print_json, table
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore, distinct_labels
from ragtriage.data.store.versions import mark_release, releases_of, unmark_release


@click.command()
@click.argument("run_name", required=False, metavar="[RUN]")
@click.argument("name", required=False)
@PROJECT
@WHO
@click.option("--remove", is_flag=True, help="RUN is no longer a release.")
@JSON
@click.pass_obj
def release(
    workspace: str | None,
    run_name: str | None,
    name: str | None,
    project: str | None,
    who: str | None,
    remove: bool,
    as_json: bool,
) -> None:
    """Mark RUN as the release NAME; without RUN, list the releases.

    The Trend page draws a line at each release.
    """
    store = open_store(workspace)
    project_name = project or store.usual_project()
    if run_name:
        if remove == bool(name):
            raise click.UsageError("accepted: RUN NAME to mark it, or RUN --remove")
        run = store.find(run_name, project)
        project_name = run.project
        if name:
            mark_release(store.ledger, project_name, run.run_id, name, user_name(who))
        elif not unmark_release(store.ledger, project_name, run.run_id, user_name(who)):
            raise DataError(f"{run.name} ({run.run_id}) is not a release; accepted: a run that is one")
    elif remove:
        raise click.UsageError("--remove without a run; accepted: RUN --remove")
    _show(store, project_name, as_json)


def _show(store: RunStore, project: str, as_json: bool) -> None:
    releases = list(releases_of(store.ledger, project).values())
    labels = distinct_labels(store.runs(project), store.names())
    if as_json:
        entries = []
        for released in releases:
            fields = asdict(released)
            run_id = fields.pop("run_id")
            entries.append({"run": run_id, "run_name": labels.get(run_id), **fields})
        print_json({"project": project, "releases": entries})
    elif releases:
        rows = [
            [
                released.name,
                labels.get(released.run_id, "no longer there"),
                released.run_id,
                released.who or "–",
                released.at,
            ]
            for released in releases
        ]
        click.echo(table(["release", "run", "id", "by", "marked (UTC)"], rows))
    else:
        click.echo(f"Project {plain(project)} has no release; `ragtriage release RUN NAME` marks one.")
