"""The init command: a commented gates.toml for a kind of use."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, screen_width, table
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.strategy.expected_gains import PROFILES, profile_gates, write_profile
from ragtriage.metrics.gates.wording import gate_title


@click.command()
@click.option("--profile", type=click.Choice([*PROFILES]), help="Kind of use whose gates are written.")
@click.option("--force", is_flag=True, help="Replace a gates.toml that is there.")
@click.option("--list", "listed", is_flag=True, help="List the profiles, and write nothing.")
@JSON
@click.pass_obj
def init(workspace: str | None, profile: str | None, force: bool, listed: bool, as_json: bool) -> None:
    """Write a commented gates.toml for a kind of use into the workspace."""
    if listed or profile is None:
        if not listed:
            raise click.UsageError(f"--profile is missing; accepted: {', '.join(PROFILES)}, or --list")
        _list(as_json)
        return
    path = write_profile(Workspace.find(workspace), profile, force)
    gates = profile_gates(profile).general
    if as_json:
        print_json({"profile": profile, "file": str(path), "gates": [gate_title(gate) for gate in gates]})
        return
    rows = [
        [gate_title(gate), "blocks" if gate.severity == "block" else "warns", gate.reason] for gate in gates
    ]
    click.echo(f"Wrote {plain(str(path))}: {len(gates)} gates. Change what does not fit.")
    click.echo(table(["gate", "if it fails", "because"], rows, screen_width()))


def _list(as_json: bool) -> None:
    if as_json:
        print_json({"profiles": [vars(profile) for profile in PROFILES.values()]})
    else:
        rows = [[profile.name, profile.title] for profile in PROFILES.values()]
        click.echo(table(["profile", "for"], rows, screen_width()))
