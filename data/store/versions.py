"""The releases of a project, and the history of its baseline."""

from dataclasses import dataclass

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now

LONGEST_RELEASE = 60  # characters that still fit next to a line of a chart

_NEWEST = """
    SELECT run_id, name, who, at FROM releases AS given
    WHERE project = ? AND rowid = (
        SELECT max(rowid) FROM releases AS later
        WHERE later.project = given.project AND later.run_id = given.run_id)
    ORDER BY rowid
"""
_MARK_ONCE = """
    INSERT INTO releases (project, run_id, name, who, at)
    SELECT ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM releases WHERE project = ? AND run_id = ?)
"""


@dataclass(frozen=True)
class Release:
    """A run that was released."""

    run_id: str
    name: str  # name of the release
    who: str  # name of the person who marked it, or ""
    at: str  # time of the mark, ISO in UTC


def mark_release(ledger: Ledger, project: str, run_id: str, name: str, who: str) -> None:
    """Mark a run as a release; a second mark renames it.

    Raises:
        WorkspaceError: the name is empty or too long.
    """
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_RELEASE:
        raise WorkspaceError(f"release name {name!r}; accepted: 1 to {LONGEST_RELEASE} characters")
    _write(ledger, project, run_id, name, who)


def mark_release_once(ledger: Ledger, project: str, run_id: str, name: str, who: str) -> None:
    """Mark a run as a release, unless it was ever marked, renamed or unmarked; two processes mark it once."""
    with ledger.open() as connection:
        connection.execute(_MARK_ONCE, (project, run_id, name, who, utc_now().isoformat(), project, run_id))


def unmark_release(ledger: Ledger, project: str, run_id: str, who: str) -> bool:
    """Unmark a release; return False if the run is none."""
    if run_id not in releases_of(ledger, project):
        return False
    _write(ledger, project, run_id, "", who)
    return True


def releases_of(ledger: Ledger, project: str) -> dict[str, Release]:
    """Return the releases of a project by run, in the order in which they were marked."""
    if not ledger.path.exists():
        return {}
    with ledger.open() as connection:
        releases = [Release(*row) for row in connection.execute(_NEWEST, (project,))]
    return {release.run_id: release for release in releases if release.name}


def _write(ledger: Ledger, project: str, run_id: str, name: str, who: str) -> None:
    with ledger.open() as connection:
        connection.execute(
            "INSERT INTO releases (project, run_id, name, who, at) VALUES (?, ?, ?, ?, ?)",
            (project, run_id, name, who.strip(), utc_now().isoformat()),
        )


@dataclass(frozen=True)
class BaselineMove:
    """A change of a project's baseline."""

    run_id: str  # the new baseline; "" if it was cleared
    who: str  # name of the person, or ""
    at: str  # time of the change, ISO in UTC


def baseline_history(ledger: Ledger, project: str) -> list[BaselineMove]:
    """List the changes of a project's baseline, newest first: the first one is in force."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT run_id, who, at FROM baselines WHERE project = ? ORDER BY rowid DESC", (project,)
        )
        return [BaselineMove(*row) for row in rows]


def clear_baseline(ledger: Ledger, project: str, who: str) -> bool:
    """Clear a project's baseline, which stays in the history; return False if there is none."""
    if not ledger.baselines().get(project):
        return False
    ledger.set_baseline(project, "", who)
    return True
