"""Jobs that ask a model: what they are about, how far they are, and whether they still live.

A job is a process of its own; it says so by its heartbeat. Closing the dashboard does not end it, and one
that was killed is known by a heartbeat that stopped.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from data.errors import DataError
from data.judge.requests import ModelCall
from data.store.judge_results import TaskResult
from data.store.ledger import Ledger
from data.store.workspace import utc_now

__all__ = [
    "Job",
    "JobSpec",
    "JobState",
    "Progress",
    "ask_to_stop",
    "begin_job",
    "end_job",
    "jobs_of",
    "pulse",
]

JobState = Literal["running", "done", "stopped", "failed", "died"]
STATES = get_args(JobState)
SILENT_SECONDS = 20.0  # a heartbeat older than this belongs to a job that is no more, on another machine
SLEPT_SECONDS = 600.0  # on this one a process that is there may have been held up, as by a laptop's sleep
_ROW = (
    "job_id, kind, run_id, spec, state, progress, message, host, pid, started_at, heartbeat, ended_at,"
    " stop_asked"
)
_LIST = f"SELECT {_ROW} FROM jobs WHERE ? IN ('', run_id) ORDER BY job_id DESC LIMIT 50"  # noqa: S608 -- constant
_BEGIN = (
    "INSERT INTO jobs (kind, run_id, spec, state, host, pid, started_at, heartbeat)"
    " VALUES (?, ?, ?, 'running', ?, ?, ?, ?)"
)
_PULSE = "UPDATE jobs SET heartbeat = ?, progress = ? WHERE job_id = ? RETURNING stop_asked"
_END = "UPDATE jobs SET state = ?, message = ?, progress = ?, heartbeat = ?, ended_at = ? WHERE job_id = ?"


@dataclass(frozen=True)
class Job:
    """A job as the ledger has it.

    Attributes:
        job_id: its number.
        kind: what it does, e.g. "reading".
        run_id: the run it works on.
        spec: what it was asked for.
        state: "died" where it says running and its heartbeat stopped.
        progress: what data.judge.run_job.Progress holds.
        message: why it ended, "" where nothing needs saying.
        host: machine it runs on.
        pid: its process there.
        started_at: ISO time in UTC.
        heartbeat: seconds since 1970.
        ended_at: ISO time in UTC, None while it runs.
        stop_asked: whether somebody asked it to stop.
    """

    job_id: int
    kind: str
    run_id: str
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


def begin_job(ledger: Ledger, kind: str, run_id: str, spec: Mapping[str, Any]) -> int:
    """Write down that this process begins a job; gives its number.

    Raises:
        DataError: a job of that kind lives on that run; two would ask the same questions twice.
    """
    entry = (kind, run_id, json.dumps(dict(spec)), socket.gethostname(), os.getpid())
    with ledger.open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        others = [_job(row) for row in connection.execute(_LIST, (run_id,))]
        living = next((job for job in others if job.kind == kind and job.state == "running"), None)
        if living is not None:
            raise DataError(
                f"job {living.job_id} of this kind runs on this run already (started {living.started_at}); "
                "wait for it, or stop it on the Judge page"
            )
        cursor = connection.execute(_BEGIN, (*entry, utc_now().isoformat(), time.time()))
        connection.execute("COMMIT")
        return int(cursor.lastrowid or 0)


def pulse(ledger: Ledger, job_id: int, progress: Mapping[str, Any]) -> bool:
    """Say that a job lives and how far it is; True where it was asked to stop."""
    with ledger.open() as connection:
        row = connection.execute(_PULSE, (time.time(), json.dumps(dict(progress)), job_id)).fetchone()
    return bool(row and row[0])


def end_job(ledger: Ledger, job_id: int, state: JobState, message: str, progress: Mapping[str, Any]) -> None:
    """Write down how a job ended."""
    entry = (state, message, json.dumps(dict(progress)), time.time(), utc_now().isoformat(), job_id)
    with ledger.open() as connection:
        connection.execute(_END, entry)


def ask_to_stop(ledger: Ledger, job_id: int) -> None:
    """Ask a job to stop; it ends when what is in flight has come back."""
    with ledger.open() as connection:
        connection.execute("UPDATE jobs SET stop_asked = 1 WHERE job_id = ?", (job_id,))


def jobs_of(ledger: Ledger, run_id: str = "") -> list[Job]:
    """List the jobs of a run, or of all, newest first."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return [_job(row) for row in connection.execute(_LIST, (run_id,))]


def _job(row: tuple[Any, ...]) -> Job:
    number, kind, run_id, spec, state, progress, message, host, pid, started, beat, ended, stop = row
    job = Job(
        number,
        kind,
        run_id,
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
    return replace(job, state="died") if job.state == "running" and not _lives(job) else job


def _object(text: str) -> dict[str, Any]:
    """Read a JSON object; what is none, as in a row from elsewhere, is empty."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _lives(job: Job) -> bool:
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


@dataclass(frozen=True)
class JobSpec:
    """What a job is asked to do.

    Attributes:
        rows: rows of the run, in the order of the work.
        repeats: how often each is done.
        budget_usd: limit that is not passed; None for none.
        batch: through message batches, at half the price.
        limit: the first so many samples, where the rows were chosen so.
        sample: so many drawn at random, where they were chosen so.
        prompts: folder with prompts of one's own, where one was named.
    """

    rows: Sequence[int]
    repeats: int = 1
    budget_usd: float | None = None
    batch: bool = False
    limit: int | None = None
    sample: int | None = None
    prompts: str | None = None


@dataclass
class Progress:
    """How far a job is.

    Attributes:
        total: samples and repetitions to work on.
        done: of them, those that have an outcome.
        scored: of them, those with a verdict.
        not_applicable: of them, those with nothing to judge.
        failed: of them, by what went wrong.
        cached: calls that the ledger had already.
        calls: calls that came back in this job.
        sent: requests sent for them, retries and mending included.
        input_tokens: of this job, cache tokens included.
        output_tokens: of this job.
        cost_usd: of this job; None where the model has no price.
        seconds: since the job began.
    """

    total: int
    done: int = 0
    scored: int = 0
    not_applicable: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    cached: int = 0
    calls: int = 0
    sent: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0

    @property
    def rate(self) -> float | None:
        """Calls a second; None before the first."""
        return self.calls / self.seconds if self.calls and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the present rate; None where nothing has come back yet."""
        asked = self.done * self.calls / max(self.calls + self.cached, 1)
        return self.seconds / asked * (self.total - self.done) if asked else None

    def to_dict(self) -> dict[str, Any]:
        """Give the fields with rate and time left as JSON values."""
        return {**asdict(self), "rate": self.rate, "seconds_left": self.seconds_left}

    def note(self, outcome: TaskResult) -> None:
        """Count a finished sample."""
        self.done += 1
        if outcome.status == "scored":
            self.scored += 1
        elif outcome.status == "not_applicable":
            self.not_applicable += 1
        else:
            self.failed[outcome.status] = self.failed.get(outcome.status, 0) + 1

    def pay(self, call: ModelCall) -> None:
        """Count a call that came back."""
        self.calls += 1
        self.sent += call.asked
        usage = call.usage
        self.input_tokens += usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        self.output_tokens += usage.output_tokens
        known = self.cost_usd is not None and call.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (call.cost_usd or 0.0) if known else None
