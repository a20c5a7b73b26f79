"""The forget command: remove what the workspace has of one user."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, result_text, wrapped
from ragtriage.data.api import open_store
from ragtriage.data.live.forgetting.deletion import Forgotten, Found
from ragtriage.data.live.forgetting.deletion import forget as forget_user
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import Count, ResultTable

OUTSIDE = (
    "Not reached: reports, exports and backups outside of the workspace, files that were imported, and the "
    "systems that sent the traces."
)
LEFT = 1


@click.command()
@click.argument("user_id")
@click.option("--project", help="Project to search; all of the workspace when left out.")
@click.option("--yes", is_flag=True, help="Remove what is found; without it nothing is changed.")
@JSON
@click.pass_obj
def forget(workspace: str | None, user_id: str, project: str | None, yes: bool, as_json: bool) -> None:
    """Remove what the workspace has of one user; without --yes, only say what that is.

    USER_ID is the id that the traces and the feedback have. Calls, feedback, records of the journal, samples
    of runs with their labels and judge results, and cached calls of a judge are removed and overwritten; what
    is said of other samples is kept. Then every file is searched: exit code 1 says that something is left.
    """
    result = forget_user(open_store(workspace), user_id, project, dry=not yes)
    if as_json:
        print_json({**asdict(result), "n": result.n, "not_reached": OUTSIDE})
    else:
        click.echo(wrapped(plain(_said(result))))
        for title, found in (("Found" if not yes else "Removed", result.found), ("Left", result.remains)):
            if found:
                click.echo(f"\n{result_text(_table(title, found))}")
        click.echo("\n" + wrapped(OUTSIDE))
    sys.exit(LEFT if result.remains or result.unreadable else 0)


def _said(result: Forgotten) -> str:
    unreadable = "".join(f" Not searched: {fault}." for fault in result.unreadable)
    if not result.n and not result.remains:
        return f"Nothing of this user is in the workspace.{unreadable}"
    if not result.removed:
        return f"Would remove {count(result.n, 'item')}. Run again with --yes.{unreadable}"
    left = sum(found.n for found in result.remains)
    rest = f"{count(left, 'mention')} left, see below." if left else "Nothing of this user is left."
    if not result.searched:
        rest += " An id this short stands in anything: files were searched for the traces alone."
    return f"{count(result.n, 'item')} of this user removed. {rest}{unreadable}"


def _table(title: str, found: tuple[Found, ...]) -> ResultTable:
    return ResultTable(title, tuple({"Where": it.place, "What": it.what, "n": Count(it.n)} for it in found))
