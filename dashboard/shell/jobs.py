"""Jobs on a page: each is started as a process of its own, shown while it runs, stopped, and continued."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import streamlit as st

from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.errors import DataError
from ragtriage.data.interpreter import python_module
from ragtriage.data.jobs import Job, ask_to_stop, jobs_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import must_write
from ragtriage.metrics.number_text import count

PATIENCE_SECONDS = 30.0
GRACE_SECONDS = 5.0  # that a process has to end when asked to
EVERY = "1s"
PROBLEM = "job_problem"  # in the session: why a job did not start
STATES = {
    "running": ":blue-badge[running]",
    "done": ":green-badge[done]",
    "stopped": ":orange-badge[stopped]",
    "failed": ":red-badge[failed]",
    "died": ":red-badge[died]",
}


def start_job(store: RunStore, words: Sequence[str], folder: str | None = None) -> Job:
    """Start `ragtriage WORDS` as a process of its own and wait until its job is in the ledger.

    Args:
        store: of the workspace.
        words: command and options, without `--workspace`.
        folder: working folder of the process; that of the dashboard when left out.

    Raises:
        DataError: it ended before that, with its own message, or did not begin in time and was ended.
    """
    must_write(f"workspace {store.workspace.root}")
    earlier, host = {job.job_id for job in jobs_of(store.ledger)}, socket.gethostname()
    root = str(store.workspace.root)
    command, environment = python_module("ragtriage.dashboard.cli", "--workspace", root, *words)
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 -- this interpreter on this program
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            cwd=folder if folder and Path(folder).is_dir() else None,
            env=environment,
        )
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            new = (job for job in jobs_of(store.ledger) if job.job_id not in earlier)
            job = next((each for each in new if (each.pid, each.host) == (process.pid, host)), None)
            if job is not None:
                # Reap the process when it ends: a zombie would look like a job that still runs.
                Thread(target=process.wait, daemon=True).start()
                return job
            if process.poll() is not None:
                errors.seek(0)
                said = errors.read().decode("utf-8", "replace").strip().splitlines()
                nothing = f"`ragtriage {words[0]}` ended without a message"
                raise DataError(said[-1].removeprefix("error: ") if said else nothing)
            time.sleep(0.1)
        process.terminate()
        try:
            process.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    raise DataError(
        f"the job did not begin in time and was ended; see `ragtriage {words[0]}` on the command line"
    )


def has_key() -> bool:
    """Return whether the environment of the dashboard holds a key for the service."""
    return bool(os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("ANTHROPIC_AUTH_TOKEN"))


def job_options(chosen: Mapping[str, Any]) -> list[str]:
    """Return the options of `ragtriage judge` for these values; None, False and "" are left out."""
    options = []
    for name, value in chosen.items():
        if value is True:
            options.append(f"--{name}")
        elif value is not None and value is not False and value != "":
            options += [f"--{name}", str(value)]
    return options


def start_or_report(store: RunStore, words: Sequence[str], folder: str | None = None) -> None:
    """Start a job; where that fails, job_section shows why."""
    try:
        start_job(store, words, folder)
    except DataError as error:
        st.session_state[PROBLEM] = str(error)


@dataclass(frozen=True)
class JobPanel:
    """The words of a page about its jobs."""

    key: str  # how the keys of its buttons begin
    jobs: Callable[[], list[Job]]  # lists them, newest first
    progress: Callable[[Job], str]  # text on the bar of a job that runs
    summary: Callable[[Job], Sequence[str]]  # facts of a job in Markdown, for the line about it
    words: Callable[[Job], list[str]]  # the words after `ragtriage` that go on with a job
    in_terminal: Callable[[Job], bool]  # whether a job can go on in a terminal only
    kept: str  # what is kept of a job that died
    # the addresses and files that the record of a job names and this machine does not set itself, by what
    # they are for. Whoever can write to the workspace can write that record, so that they are confirmed
    # before a job goes on with them
    named: Callable[[Job], Mapping[str, str]]


def job_section(store: RunStore, panel: JobPanel) -> bool:
    """Show the jobs that run, else the newest, and list the others.

    Returns:
        Whether one runs.
    """
    problem = st.session_state.pop(PROBLEM, "")
    if problem:
        st.error(markdown_text(problem), title="The job did not start")
    jobs = panel.jobs()
    if not jobs:
        return False
    running = [job for job in jobs if job.state == "running"]
    if running:
        st.fragment(run_every=EVERY)(_running)(store, panel, {job.job_id for job in running})
    else:
        _ended(store, panel, jobs[0])
    others = [job for job in jobs if job not in (running or jobs[:1])]
    if others:
        with st.expander(count(len(others), "other job")):
            for job in others:
                st.markdown(_line(panel, job))
    return bool(running)


def _running(store: RunStore, panel: JobPanel, shown: set[int]) -> None:
    """Draw the jobs that run; the whole page again once these are others than at first."""
    running = [job for job in panel.jobs() if job.state == "running"]
    if {job.job_id for job in running} != shown:
        st.rerun()
    for job in running:
        total, done = int(job.progress.get("total", 0)), int(job.progress.get("done", 0))
        st.progress(done / total if total else 0.0, panel.progress(job))
        with st.container(horizontal=True, vertical_alignment="center"):
            if may_write():
                st.button(
                    "Stopping" if job.stop_asked else "Stop",
                    key=f"{panel.key}_stop_{job.job_id}",
                    disabled=job.stop_asked,
                    on_click=ask_to_stop,
                    args=(store.ledger, job.job_id),
                )
            st.caption("It continues when this page or the dashboard is closed.")


def _ended(store: RunStore, panel: JobPanel, job: Job) -> None:
    unfinished = job.state in ("died", "stopped")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(_line(panel, job))
        if unfinished and not panel.in_terminal(job) and may_write():
            named = [f"{purpose} {markdown_text(value)}" for purpose, value in panel.named(job).items()]
            confirmed = not named or st.checkbox(
                f"Resume with {', '.join(named)}", key=f"{panel.key}_confirm_{job.job_id}"
            )
            st.button(
                "Resume",
                key=f"{panel.key}_resume_{job.job_id}",
                disabled=not confirmed,
                on_click=start_or_report,
                args=(store, panel.words(job), job.spec.get("folder")),
            )
    if unfinished and panel.in_terminal(job):
        st.caption("Resume it in a terminal, with the options that it was started with:")
        st.code(shlex.join(["ragtriage", *panel.words(job)]), language="bash")
    if job.state == "died":
        st.caption(f"Its process ended without a message. {panel.kept}")


def _line(panel: JobPanel, job: Job) -> str:
    parts = [
        f"{STATES[job.state]} job {job.job_id}",
        *panel.summary(job),
        f"{markdown_text(job.started_at)} UTC",
        markdown_text(job.message),
    ]
    return " · ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """Format an estimate of time, as in "3 min" or "40 s"."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds))} s"
