"""Old traffic goes: after so many days, and the oldest first where it takes more room than allowed."""

from contextlib import suppress

from ragtriage.data.live.calls import Calls, Window
from ragtriage.data.live.policy import Policy
from ragtriage.data.live.windows import drop_run
from ragtriage.data.scoring.run_store import RunStore

DAY = 86_400
PART = 0.9  # of the room that is taken up again, so that not every round has something to delete


def retain(store: RunStore, calls: Calls, project: str, policy: Policy, now: float) -> None:
    """Delete calls, feedback and runs of windows that are too old, or too many for the room.

    Runs that a person labelled, named, tagged or compares with stay.
    """
    _delete_before(store, calls, project, now - policy.retention.days * DAY)
    allowed = policy.retention.megabytes * 1_000_000
    taken = bytes_taken(store, calls)
    span = calls.span_of_time()
    if taken > allowed and span is not None:
        share = 1 - PART * allowed / taken
        _delete_before(store, calls, project, calls.time_at_share(share))
        with calls.open() as connection:
            connection.execute("VACUUM")


def bytes_taken(store: RunStore, calls: Calls) -> int:
    """Return the bytes of a project's live traffic: database, journal, runs of windows and their scores."""
    folders = [calls.path.parent]
    for window in calls.windows():
        folders += (it / window.run_id for it in (store.workspace.runs_folder, store.workspace.scores_folder))
    total = 0
    for path in (path for folder in folders for path in folder.rglob("*")):
        with suppress(OSError):  # gone meanwhile
            total += path.stat().st_size
    return total


def _delete_before(store: RunStore, calls: Calls, project: str, moment: float) -> None:
    gone: list[Window] = [window for window in calls.windows() if window.last <= moment]
    with calls.open() as connection:
        (old,) = connection.execute(
            "SELECT EXISTS (SELECT 1 FROM calls WHERE time < ?)", (moment,)
        ).fetchone()
    if not (gone or old):
        return
    for window in gone:
        drop_run(store, project, window.run_id)
    with calls.changing() as connection:
        connection.execute("DELETE FROM calls WHERE time < ?", (moment,))
        connection.execute("DELETE FROM feedback WHERE time < ?", (moment,))
        connection.execute("DELETE FROM windows WHERE last <= ?", (moment,))
