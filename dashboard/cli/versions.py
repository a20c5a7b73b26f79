"""The baseline and release commands: which run others are held against, and which were released."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click

from dashboard.cli.commands import open_workspace
from dashboard.cli.terminal import plain, table
from dashboard.wording.runs import moved_text, told_apart
from data.errors import DataError
from data.scoring.run_store import RunStore
from data.store.versions import baseline_history, clear_baseline, mark_release, releases_of, unmark_release

__all__ = ["baseline", "release"]

Answer = tuple[Any, Callable[[], str]]


def baseline(
    workspace: str | None, wanted: str | None, project: str | None, who: str | None, clear: bool
) -> Answer:
    """Set, clear or show the baseline of a project, with its history.

    Args:
        workspace: folder; the default one where None.
        wanted: run to make the baseline; None to show it.
        project: which; the run's, else the workspace's only one.
        who: name that stands with the change; the login name where None.
        clear: take the baseline away.
    """
    if wanted and clear:
        raise click.UsageError("a run and --clear at once; accepted: one of the two")
    store = open_workspace(workspace)
    chosen = project or store.usual_project()
    if wanted:
        found = store.find(wanted, project)
        if found.means:
            raise DataError(
                f"{found.name} ({found.run_id}) is known by its means alone, so nothing can be paired with "
                "it; accepted: a run with samples"
            )
        chosen = found.project
        store.ledger.set_baseline(chosen, found.run_id, _name(who))
    elif clear and not clear_baseline(store.ledger, chosen, _name(who)):
        raise DataError(
            f"project {chosen!r} has no baseline; accepted: a project that has one ({_projects(store)})"
        )
    return _baseline_answer(store, chosen)


def _baseline_answer(store: RunStore, project: str) -> Answer:
    moves = baseline_history(store.ledger, project)
    labels = told_apart(store.runs(project), store.names())
    current = moves[0].run_id if moves else ""
    answer = {
        "project": project,
        "baseline": {"run": current, "name": labels.get(current)} if current else None,
        "history": [{**asdict(one), "name": labels.get(one.run_id)} for one in moves],
    }

    def text() -> str:
        if not moves:
            return f"Project {plain(project)} has no baseline; `ragtriage baseline RUN` sets one."
        lines = [plain(moved_text(one, labels)) for one in moves]
        before = [f"  before: {line}" for line in lines[1:]]
        return "\n".join([f"Baseline of {plain(project)}: {lines[0]}", *before])

    return answer, text


def release(
    workspace: str | None,
    wanted: str | None,
    name: str | None,
    project: str | None,
    who: str | None,
    remove: bool,
) -> Answer:
    """Mark a run as a release, take the mark away, or list the releases of a project.

    Args:
        workspace: folder; the default one where None.
        wanted: the run; None to list.
        name: what the release is called.
        project: which; the run's, else the workspace's only one.
        who: name that stands with the change; the login name where None.
        remove: take the mark away.
    """
    store = open_workspace(workspace)
    chosen = project or store.usual_project()
    if wanted:
        if remove == bool(name):
            raise click.UsageError("accepted: RUN NAME to mark it, or RUN --remove")
        found = store.find(wanted, project)
        chosen = found.project
        if name:
            mark_release(store.ledger, chosen, found.run_id, name, _name(who))
        elif not unmark_release(store.ledger, chosen, found.run_id, _name(who)):
            raise DataError(f"{found.name} ({found.run_id}) is no release; accepted: a run that is one")
    elif remove:
        raise click.UsageError("--remove without a run; accepted: RUN --remove")
    return _release_answer(store, chosen)


def _release_answer(store: RunStore, project: str) -> Answer:
    found = list(releases_of(store.ledger, project).values())
    labels = told_apart(store.runs(project), store.names())
    answer = {
        "project": project,
        "releases": [
            {"run": one.run_id, "run_name": labels.get(one.run_id), **_without_run(asdict(one))}
            for one in found
        ],
    }

    def text() -> str:
        if not found:
            return f"Project {plain(project)} has no release; `ragtriage release RUN NAME` marks one."
        rows = [
            [one.name, labels.get(one.run_id, "not there any more"), one.run_id, one.who or "–", one.at]
            for one in found
        ]
        return table(["release", "run", "id", "by", "marked (UTC)"], rows)

    return answer, text


def _without_run(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "run_id"}


def _projects(store: RunStore) -> str:
    return ", ".join(sorted(store.ledger.baselines())) or "none has"


def _name(who: str | None) -> str:
    """Give the name that stands with a change; "" where none is given and the system knows none."""
    if who is not None:
        return " ".join(who.split())
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
