"""The commands on versions over time, as the command line takes them: baseline, release, watch."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click

__all__ = ["VERSION_COMMANDS"]

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_PROJECT = click.option("--project", help="Project; the run's, else the workspace's only one.")
_WHO = click.option("--who", metavar="NAME", help="Who makes the change; your login name when left out.")


@click.command()
@click.argument("run", required=False)
@_PROJECT
@_WHO
@click.option("--clear", is_flag=True, help="Take the baseline away.")
@_JSON
@click.pass_obj
def baseline(workspace: str | None, /, run: str | None, as_json: bool, **given: Any) -> None:
    """Make RUN the baseline of its project; without RUN, show it and who moved it when."""
    from dashboard.cli import versions

    _print(versions.baseline(workspace, run, **given), as_json)


@click.command()
@click.argument("run", required=False)
@click.argument("name", required=False)
@_PROJECT
@_WHO
@click.option("--remove", is_flag=True, help="RUN is no release any more.")
@_JSON
@click.pass_obj
def release(workspace: str | None, /, run: str | None, name: str | None, as_json: bool, **given: Any) -> None:
    """Mark RUN as the release NAME, a line in the Trend page; without RUN, list the releases."""
    from dashboard.cli import versions

    _print(versions.release(workspace, run, name, **given), as_json)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--project", help="Project of the runs; the workspace's only one, else `default`.")
@click.option(
    "--every", type=click.FloatRange(0.05, 86400), default=5.0, show_default=True, metavar="SECONDS",
    help="Between two looks; a file is taken when it has not moved in between.",
)  # fmt: skip
@click.option("--once", is_flag=True, help="Look twice, deal with what stands still, and end.")
@click.option("--config", metavar="FILE", help="Gates; the workspace's gates.toml, else the bundled ones.")
@click.option("--baseline", metavar="RUN", help="Run to hold them against; the project's baseline otherwise.")
@click.option(
    "--on-fail", metavar="COMMAND", help="Run it, without a shell, when a run fails (docs/watch.md)."
)
@click.option("--strict", is_flag=True, help="INCONCLUSIVE and UNMEASURED of a blocking gate fail too.")
@_JSON
@click.pass_obj
def watch(workspace: str | None, /, folder: str, as_json: bool, **given: Any) -> None:
    """Import, score and gate result files as they appear in FOLDER; one line a run."""
    from dashboard.cli import watch

    sys.exit(watch.run(workspace, folder, watch.WatchSettings(**given), as_json))


def _print(answer: tuple[Any, Callable[[], str]], as_json: bool) -> None:
    values, as_text = answer
    click.echo(json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) if as_json else as_text())


VERSION_COMMANDS = (baseline, release, watch)
