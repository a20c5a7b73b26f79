"""The record of jobs in the ledger: what each is about, how far it is, and whether its process is alive.

A job writes a heartbeat every second. Closing the dashboard does not end it, and one that was killed is
recognised by the heartbeat that stopped.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from ragtriage.data.errors import DataError
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now

JobState = Literal["running", "done", "stopped", "failed", "died"]
STATES = get_args(JobState)
SILENT_SECONDS = 20.0  # on another machine, a job with an older heartbeat has died
SLEPT_SECONDS = 600.0  # the same on this machine, where a process that is there may have been suspended
_COLUMNS = (
    "job_id, kind, run_id, project, spec, state, progress, message, host, pid, started_at, heartbeat,"
    " ended_at, stop_asked"
)
_LIST = (
    f"SELECT {_COLUMNS} FROM jobs"  # noqa: S608 -- constant
    " WHERE ?1 IN ('', run_id) AND substr(kind, 1, length(?2)) = ?2 ORDER BY job_id DESC LIMIT 50"
)
_SAME_WORK = (
    f"SELECT {_COLUMNS} FROM jobs"  # noqa: S608 -- constant
    " WHERE kind = ? AND run_id = ? AND project = ? AND state = 'running'"
)
_BEGIN = (
    "INSERT INTO jobs (kind, run_id, project, spec, state, host, pid, started_at, heartbeat)"
    " VALUES (?, ?, ?, ?, 'running', ?, ?, ?, ?)"
)
_PULSE = "UPDATE jobs SET heartbeat = ?, progress = ? WHERE job_id = ? RETURNING stop_asked"
_END = "UPDATE jobs SET state = ?, message = ?, progress = ?, heartbeat = ?, ended_at = ? WHERE job_id = ?"


@dataclass(frozen=True)
class Job:
    """A job as the ledger has it.

    Attributes:
        job_id: its number.
        kind: what it does, e.g. "reading", or "grid:" with the key of the grid.
        run_id: the run it works on; "" for a job that makes runs.
        project: what the runs that it makes belong to; "" for a job that works on a run.
        spec: what it was asked for.
        state: "died" where the record says running and the heartbeat stopped.
        progress: how far it is: `done` of `total`, `seconds_left`, and more by kind.
        message: why it ended, "" where nothing needs saying.
        host: machine it runs on.
        pid: its process there.
        started_at: ISO time in UTC.
        heartbeat: seconds since 1970.
        ended_at: ISO time in UTC, None while it runs.
        stop_asked: whether it was asked to stop.
    """

    job_id: int
    kind: str
    run_id: str
    project: str
    spec: Mapping[str, Any]
    state: JobState
    progress: Mapping[str, Any]
    message: str
    host: str
    pid: int
    started_at: str
    heartbeat: float
    ended_at: str | None
    stop_asked: bool


def begin_job(ledger: Ledger, kind: str, run_id: str, spec: Mapping[str, Any], project: str = "") -> int:
    """Record that this process begins a job, and return the job's number.

    Raises:
        DataError: a job of that kind is running on that run or for that project already.
    """
    entry = (kind, run_id, project, json.dumps(dict(spec)), socket.gethostname(), os.getpid())
    with ledger.open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        others = [_job(row) for row in connection.execute(_SAME_WORK, (kind, run_id, project))]
        running = next((job for job in others if job.state == "running"), None)
        if running is not None:
            raise DataError(
                f"job {running.job_id} is doing this already (started {running.started_at}); wait for it to "
                "end, or stop it on the page that shows its progress"
            )
        cursor = connection.execute(_BEGIN, (*entry, utc_now().isoformat(), time.time()))
        connection.execute("COMMIT")
        return int(cursor.lastrowid or 0)


def pulse(ledger: Ledger, job_id: int, progress: Mapping[str, Any]) -> bool:
    """Record that a job is alive and how far it is; return True where it was asked to stop."""
    with ledger.open() as connection:
        row = connection.execute(_PULSE, (time.time(), json.dumps(dict(progress)), job_id)).fetchone()
    return bool(row and row[0])


def end_job(ledger: Ledger, job_id: int, state: JobState, message: str, progress: Mapping[str, Any]) -> None:
    """Record how a job ended."""
    entry = (state, message, json.dumps(dict(progress)), time.time(), utc_now().isoformat(), job_id)
    with ledger.open() as connection:
        connection.execute(_END, entry)


def ask_to_stop(ledger: Ledger, job_id: int) -> None:
    """Ask a job to stop; it ends when the work in flight is finished."""
    with ledger.open() as connection:
        connection.execute("UPDATE jobs SET stop_asked = 1 WHERE job_id = ?", (job_id,))


def jobs_of(ledger: Ledger, run_id: str = "", kind: str = "") -> list[Job]:
    """List the newest 50 jobs of a run, or of all, newest first; `kind` is how their kinds begin."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return [_job(row) for row in connection.execute(_LIST, (run_id, kind))]


def _job(row: tuple[Any, ...]) -> Job:
    job_id, kind, run_id, project, spec, state, progress, message, host, pid, started, beat, ended, stop = row
    job = Job(
        job_id,
        kind,
        run_id,
        project,
        _object(spec),
        state if state in STATES else "died",
        _object(progress),
        message,
        host,
        pid,
        started,
        beat,
        ended,
        bool(stop),
    )
    return replace(job, state="died") if job.state == "running" and not _alive(job) else job


def _object(text: str) -> dict[str, Any]:
    """Read a JSON object; anything else, as in a row written by another program, counts as empty."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _alive(job: Job) -> bool:
    silent = time.time() - job.heartbeat
    if job.host != socket.gethostname():
        return silent <= SILENT_SECONDS
    try:
        os.kill(job.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return silent <= SILENT_SECONDS
    return silent <= SLEPT_SECONDS
