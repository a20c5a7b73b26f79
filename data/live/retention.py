"""Old traffic goes: after so many days, and the oldest first where it takes more room than allowed."""

from contextlib import suppress

from ragtriage.data.live.calls import Calls
from ragtriage.data.live.policy import DAY, Policy
from ragtriage.data.live.windows import drop_run
from ragtriage.data.scoring.run_store import RunStore

_EMPTY = (
    "NOT EXISTS (SELECT 1 FROM calls WHERE time >= first AND time < last"
    " AND windows.release IN ('', calls.release))"
)
PART = 0.9  # of the room that is taken up again, so that not every round has something to delete


def retain(store: RunStore, calls: Calls, project: str, policy: Policy, now: float) -> None:
    """Delete calls, feedback and runs of windows that are too old, or too many for the room.

    What came in long after it was asked, as from a file, counts from when it came. Runs that a person
    labelled, named, tagged or compares with stay.
    """
    _delete(store, calls, project, "came < ?", now - policy.retention.days * DAY)
    allowed = policy.retention.bytes
    taken = bytes_taken(store, calls)
    span = calls.span_of_time()
    if taken > allowed and span is not None:
        share = 1 - PART * allowed / taken
        _delete(store, calls, project, "time < ?", calls.time_at_share(share))
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


def _delete(store: RunStore, calls: Calls, project: str, gone: str, moment: float) -> None:
    """Delete the calls that a condition names, and the windows that have none left."""
    with calls.open() as connection:
        query = f"SELECT EXISTS (SELECT 1 FROM calls WHERE {gone})"  # noqa: S608 -- constant text
        (old,) = connection.execute(query, (moment,)).fetchone()
    if not old:
        return
    with calls.changing() as connection:
        connection.execute(f"DELETE FROM calls WHERE {gone}", (moment,))  # noqa: S608 -- constant text
        connection.execute(f"DELETE FROM feedback WHERE {gone}", (moment,))  # noqa: S608 -- constant text
        empty = connection.execute(f"DELETE FROM windows WHERE {_EMPTY} RETURNING run_id").fetchall()  # noqa: S608
    for (run_id,) in empty:
        drop_run(store, project, run_id)
