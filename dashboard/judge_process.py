"""Starting a judging job as a process of its own, which outlives the page and the dashboard."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.catalogue import Catalogue
from data.errors import DataError
from data.jobs import Job, jobs_of
from data.reading_only import must_write

__all__ = ["has_key", "job_options", "start_job"]

PATIENCE_SECONDS = 15.0
GRACE_SECONDS = 5.0  # that a process has to end when asked to


def has_key() -> bool:
    """Whether the environment of the dashboard holds a key for the service."""
    return bool(os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("ANTHROPIC_AUTH_TOKEN"))


def job_options(chosen: Mapping[str, Any]) -> list[str]:
    """Give the options of `ragtriage judge` for what was chosen; what is None or False is left out."""
    options = []
    for name, value in chosen.items():
        if value is True:
            options.append(f"--{name}")
        elif value not in (None, False, ""):
            options += [f"--{name}", str(value)]
    return options


def start_job(catalogue: Catalogue, run_id: str, options: Sequence[str]) -> Job:
    """Start `ragtriage judge` and wait until its job stands in the ledger.

    Raises:
        DataError: it ended before that, with its own message, or did not begin in time and was ended.
    """
    must_write(f"workspace {catalogue.workspace.root}")
    known = {job.job_id for job in jobs_of(catalogue.ledger, run_id)}
    line = ["--workspace", str(catalogue.workspace.root), "judge", run_id, "--yes", *options]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603 -- this interpreter on this program
            [sys.executable, "-P", "-m", "dashboard.cli", *line],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": _path()},
        )
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            fresh = [job for job in jobs_of(catalogue.ledger, run_id) if job.job_id not in known]
            if fresh:
                return fresh[0]
            if process.poll() is not None:
                said.seek(0)
                raise DataError(_last_line(said.read().decode("utf-8", "replace")))
            time.sleep(0.1)
        _end(process)
    raise DataError(
        "the judging job did not begin in time and was ended; see `ragtriage judge` on the command line"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _path() -> str:
    here = str(Path(__file__).resolve().parent.parent)
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("error: ") if lines else "the judging job ended without a word"
