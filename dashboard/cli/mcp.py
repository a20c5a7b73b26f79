"""The mcp command: the workspace as a Model Context Protocol server, for coding agents."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click

from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError


@click.command()
@click.option("--allow-labels", is_flag=True, help="Also offer the tool that labels cases; it writes.")
@click.option(
    "--allow-import",
    "folders",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False),
    help="Also offer the tool that imports runs, from files below this folder; may be repeated. It writes.",
)
@click.pass_obj
def mcp(workspace: str | None, allow_labels: bool, folders: tuple[str, ...]) -> None:
    """Serve the workspace to a coding agent over MCP, on standard input and output."""
    if find_spec("mcp") is None:
        raise DataError('`ragtriage mcp` needs the MCP SDK; accepted: pip install "ragtriage[mcp]"')
    from ragtriage.dashboard.mcp_server.server import (
        serve_stdio,  # here, because the base install goes without
    )

    store = open_store(workspace, create=bool(folders))
    if sys.stdin.isatty():  # a person started it, who would wait for an answer
        click.echo(
            f"MCP server over {store.workspace.root}: a coding agent starts it and speaks with it on "
            "standard input (docs/agents.md). Ctrl+C stops it.",
            err=True,
        )
    serve_stdio(store, allow_labels, [Path(folder) for folder in folders])
