"""The experiment command: its kinds, and what was tried so far."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.asking.asking import print_summary
from ragtriage.dashboard.cli.asking.kinds import arms, noise, position
from ragtriage.dashboard.cli.asking.measured import languages, parsing, tables
from ragtriage.dashboard.cli.asking.robustness import flips, injection, poisoned, stability
from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, table
from ragtriage.data.api import open_store
from ragtriage.data.experiments.record import delete_experiment, experiments, find_experiment
from ragtriage.data.experiments.registry import KINDS
from ragtriage.data.experiments.summary import experiment_summary


class WholeHelp(click.Group):
    """A group whose list of commands shows the first sentence of each, not its first 45 characters."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(limit=200)) for name, command in commands if command]
            )


@click.group(cls=WholeHelp)
def experiment() -> None:
    """Ask a system the same questions under changed conditions, and test what the change did.

    A system is a command (one JSON object in, one out), an http address, or the built-in pipeline. Each
    experiment makes paired runs; the same command continues one that was stopped, and asks nothing twice.
    """


@experiment.command(name="list")
@JSON
@click.pass_obj
def list_experiments(workspace: str | None, as_json: bool) -> None:
    """List the experiments of the workspace, the newest first."""
    listed = experiments(open_store(workspace).workspace)
    if as_json:
        print_json([{**entry.to_dict(), "state": entry.state} for entry in listed])
        return
    if not listed:
        click.echo("No experiment yet. `ragtriage experiment position --help` says how one is begun.")
        return
    rows = [
        (
            entry.experiment_id,
            KINDS[entry.kind].title if entry.kind in KINDS else entry.kind,
            plain(entry.questions),
            f"{entry.n_questions:,}",
            f"{len(entry.run_ids)} / {len(entry.arms)}",
            plain(entry.system),
        )
        for entry in listed
    ]
    click.echo(table(["experiment", "kind", "questions", "n", "arms done", "system"], rows))


@experiment.command()
@click.argument("identifier", metavar="ID")
@click.option("--quality", default="", metavar="METRIC", help="Measure the arms by this metric.")
@JSON
@click.pass_obj
def show(workspace: str | None, identifier: str, quality: str, as_json: bool) -> None:
    """Show what an experiment found: each arm, the effect, and its test."""
    store = open_store(workspace)
    summary = experiment_summary(store, find_experiment(store.workspace, identifier), quality)
    print_summary(summary, as_json)


@experiment.command()
@click.argument("identifier", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.pass_obj
def delete(workspace: str | None, identifier: str, yes: bool) -> None:
    """Delete an experiment's record and its replies; its runs stay."""
    store = open_store(workspace)
    if not yes:
        click.confirm(f"Delete experiment {plain(identifier)}?", abort=True)
    delete_experiment(store.workspace, identifier)
    click.echo(f"deleted {plain(identifier)}")


for command in (arms, flips, injection, languages, noise, parsing, poisoned, position, stability, tables):
    experiment.add_command(command)
