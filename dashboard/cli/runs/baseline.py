"""The baseline command: which run of a project the others are compared with."""

from __future__ import annotations

import getpass
from dataclasses import asdict

import click

from ragtriage.dashboard.cli.options import JSON, PROJECT, WHO
from ragtriage.dashboard.cli.terminal import plain, print_json
from ragtriage.dashboard.wording.runs import baseline_move_text
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore, distinct_labels
from ragtriage.data.store.versions import baseline_history, clear_baseline


@click.command()
@click.argument("run_name", required=False, metavar="[RUN]")
@PROJECT
@WHO
@click.option("--clear", is_flag=True, help="Leave the project without a baseline.")
@JSON
@click.pass_obj
def baseline(
    workspace: str | None,
    run_name: str | None,
    project: str | None,
    who: str | None,
    clear: bool,
    as_json: bool,
) -> None:
    """Make RUN the baseline of its project; without RUN, show it and its history."""
    if run_name and clear:
        raise click.UsageError("a run and --clear at once; accepted: one of the two")
    store = open_store(workspace)
    project_name = project or store.usual_project()
    if run_name:
        run = store.find(run_name, project)
        if run.means:
            raise DataError(
                f"{run.name} ({run.run_id}) has summary scores only, so nothing can be paired with "
                "it; accepted: a run with samples"
            )
        project_name = run.project
        store.ledger.set_baseline(project_name, run.run_id, user_name(who))
    elif clear and not clear_baseline(store.ledger, project_name, user_name(who)):
        projects = ", ".join(sorted(store.ledger.baselines())) or "none has"
        raise DataError(
            f"project {project_name!r} has no baseline; accepted: a project that has one ({projects})"
        )
    _show(store, project_name, as_json)


def _show(store: RunStore, project: str, as_json: bool) -> None:
    changes = baseline_history(store.ledger, project)
    labels = distinct_labels(store.runs(project), store.names())
    current = changes[0].run_id if changes else ""
    if as_json:
        print_json(
            {
                "project": project,
                "baseline": {"run": current, "name": labels.get(current)} if current else None,
                "history": [{**asdict(change), "name": labels.get(change.run_id)} for change in changes],
            }
        )
    elif changes:
        latest, *earlier = [plain(baseline_move_text(change, labels)) for change in changes]
        lines = [f"Baseline of {plain(project)}: {latest}", *(f"  before: {line}" for line in earlier)]
        click.echo("\n".join(lines))
    else:
        click.echo(f"Project {plain(project)} has no baseline; `ragtriage baseline RUN` sets one.")


def user_name(who: str | None) -> str:
    """Return the name to record with a change: the given one, else the login name, else ""."""
    if who is not None:
        return " ".join(who.split())
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
