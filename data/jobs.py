"""Long-running work: its record in the ledger, its heartbeat, and a lock between processes."""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Event, Thread, current_thread, main_thread
from types import TracebackType
from typing import IO, Any, Literal, Self, get_args

from ragtriage.data.errors import DataError
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now
from ragtriage.metrics.schema.scores import MetricsError

JobState = Literal["running", "done", "stopped", "failed", "died"]
STATES = get_args(JobState)
SILENT_SECONDS = 20.0  # on another machine, a job with an older heartbeat has died
SLEPT_SECONDS = 600.0  # the same on this machine, where a process that is there may have been suspended
_COLUMNS = (
    "job_id, kind, run_id, project, spec, state, progress, message, host, pid, started_at, heartbeat,"
    " ended_at, stop_asked"
)
_LIST = (
    f"SELECT {_COLUMNS} FROM jobs"  # noqa: S608 -- constant text
    " WHERE ?1 IN ('', run_id) AND substr(kind, 1, length(?2)) = ?2 ORDER BY job_id DESC LIMIT 50"
)
_SAME_WORK = (
    f"SELECT {_COLUMNS} FROM jobs"  # noqa: S608 -- constant text
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
    """A job as the ledger has it."""

    job_id: int  # its number
    kind: str  # what it does, e.g. "reading", or "grid:" with the key of the grid.
    run_id: str  # the run it works on; "" for a job that makes runs
    project: str  # what the runs that it makes belong to; "" for a job that works on a run
    spec: Mapping[str, Any]  # what it was asked for
    state: JobState  # "died" where the record says running and the heartbeat stopped
    progress: Mapping[str, Any]  # how far it is: `done` of `total`, `seconds_left`, and more by kind
    message: str  # why it ended, "" where nothing needs saying
    host: str  # machine it runs on
    pid: int  # its process there
    started_at: str  # ISO time in UTC
    heartbeat: float  # seconds since 1970
    ended_at: str | None  # ISO time in UTC, None while it runs
    stop_asked: bool  # whether it was asked to stop


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


BEAT_SECONDS = 1.0


class Heartbeat:
    """Writes how far a job is, every second from entering to leaving; SIGTERM asks the job to stop.

    It has a thread of its own, so that neither long work nor a locked ledger holds the other up.

    Attributes:
        stop_asked: whether the job was asked to stop.
    """

    def __init__(
        self,
        ledger: Ledger,
        job_id: int,
        progress: Callable[[], Mapping[str, Any]],
        watch: Callable[[], object] | None = None,
    ) -> None:
        """Prepare the heartbeat of a job that has begun.

        Args:
            ledger: where the job is recorded.
            job_id: its number.
            progress: returns how far it is, as JSON values.
            watch: called with every beat.
        """
        self._ledger, self._job_id, self._progress, self._watch = ledger, job_id, progress, watch
        self._ended = Event()
        self._thread = Thread(target=self._beat, daemon=True)
        self._in_main_thread = False
        self._signal_before: Any = None
        self.stop_asked = False

    def __enter__(self) -> Self:
        self._in_main_thread = current_thread() is main_thread()  # signals come to no other
        if self._in_main_thread:
            self._signal_before = signal.signal(signal.SIGTERM, lambda *_: self.stop())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._in_main_thread:
            signal.signal(signal.SIGTERM, self._signal_before)

    def stop(self) -> None:
        """Ask the job to stop."""
        self.stop_asked = True

    def _beat(self) -> None:
        while True:
            with suppress(DataError):  # a locked ledger costs one beat
                if pulse(self._ledger, self._job_id, self._progress()):
                    self.stop_asked = True
            with suppress(Exception):  # a watcher that fails does not end the job
                if self._watch is not None:
                    self._watch()
            if self._ended.wait(BEAT_SECONDS):
                return


def lock_file(file: IO[bytes], wait: bool) -> bool:
    """Lock a file until it is closed.

    Args:
        file: open for writing.
        wait: whether to wait for the process that has it.

    Returns:
        True; without waiting, False where another process has it.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if wait:
            raise
        return False
    return True


@dataclass
class RecordedJob:
    """A job of this process while it is recorded; what runs it says how far it is, and that it stopped."""

    heartbeat: Heartbeat
    progress: dict[str, Any]
    state: JobState = "done"  # how it ends, unless an exception ends it
    message: str = ""

    def stopped(self, why: str) -> None:
        """Say that it ends before its work is done, by intent."""
        self.state, self.message = "stopped", why


@contextmanager
def recorded_job(
    ledger: Ledger, kind: str, spec: Mapping[str, Any], project: str, progress: dict[str, Any]
) -> Iterator[RecordedJob]:
    """Record a job from entering to leaving: its heartbeat, its progress, and how it ended.

    Raises:
        DataError: a job of that kind is running for that project already.
    """
    job_id = begin_job(ledger, kind, "", spec, project)
    job = RecordedJob(Heartbeat(ledger, job_id, progress.copy), progress)
    try:
        with job.heartbeat:
            yield job
    # also what is not an Exception: the job would else look as if it still ran
    except BaseException as error:
        if job.state != "stopped":
            plain = isinstance(error, DataError | MetricsError)
            job.state, job.message = "failed", str(error) if plain else f"{type(error).__name__}: {error}"
        raise
    finally:
        end_job(ledger, job_id, job.state, job.message, progress)
