"""Which runs of a project were released, and under what name."""

from __future__ import annotations

from dataclasses import dataclass

from data.errors import WorkspaceError
from data.store.ledger import Ledger
from data.store.workspace import utc_now

__all__ = [
    "LONGEST_RELEASE",
    "BaselineMove",
    "Release",
    "baseline_history",
    "clear_baseline",
    "mark_release",
    "releases_of",
    "unmark_release",
]

LONGEST_RELEASE = 60  # characters of a name that still fits beside a line of a chart

_NEWEST = """
    SELECT run_id, name, who, at FROM releases AS given
    WHERE project = ? AND rowid = (
        SELECT max(rowid) FROM releases AS later
        WHERE later.project = given.project AND later.run_id = given.run_id)
    ORDER BY rowid
"""


@dataclass(frozen=True)
class Release:
    """One run that was released.

    Attributes:
        run_id: the run.
        name: what the release is called.
        who: name of the person who said so, "" where nobody gave one.
        at: when they said so, ISO time in UTC.
    """

    run_id: str
    name: str
    who: str
    at: str


def mark_release(ledger: Ledger, project: str, run_id: str, name: str, who: str) -> None:
    """Mark a run as a release; a second mark renames it.

    Raises:
        WorkspaceError: the name is empty or too long.
    """
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_RELEASE:
        raise WorkspaceError(f"release name {name!r}; accepted: 1 to {LONGEST_RELEASE} characters")
    _write(ledger, project, run_id, name, who)


def unmark_release(ledger: Ledger, project: str, run_id: str, who: str) -> bool:
    """Take the mark of a run away; False where it bears none."""
    if run_id not in releases_of(ledger, project):
        return False
    _write(ledger, project, run_id, "", who)
    return True


def releases_of(ledger: Ledger, project: str) -> dict[str, Release]:
    """Give the releases of a project by run, in the order in which they were marked."""
    if not ledger.path.exists():
        return {}
    with ledger.open() as connection:
        found = [Release(*row) for row in connection.execute(_NEWEST, (project,))]
    return {one.run_id: one for one in found if one.name}


def _write(ledger: Ledger, project: str, run_id: str, name: str, who: str) -> None:
    with ledger.open() as connection:
        connection.execute(
            "INSERT INTO releases (project, run_id, name, who, at) VALUES (?, ?, ?, ?, ?)",
            (project, run_id, name, who.strip(), utc_now().isoformat()),
        )


@dataclass(frozen=True)
class BaselineMove:
    """One change of a project's baseline.

    Attributes:
        run_id: the run that became the baseline; "" where it was taken away.
        who: name of the person, "" where nobody gave one.
        at: when, ISO time in UTC.
    """

    run_id: str
    who: str
    at: str


def baseline_history(ledger: Ledger, project: str) -> list[BaselineMove]:
    """List the changes of a project's baseline, the newest first; the first one is what holds."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT run_id, who, at FROM baselines WHERE project = ? ORDER BY rowid DESC", (project,)
        )
        return [BaselineMove(*row) for row in rows]


def clear_baseline(ledger: Ledger, project: str, who: str) -> bool:
    """Take a project's baseline away; what it was stays in the history. False where there was none."""
    if not ledger.baselines().get(project):
        return False
    ledger.set_baseline(project, "", who)
    return True
