"""Scoring a large run in several processes that take its batches in turn.

The workers are plain interpreters started on this module. Python's own process pools would run the caller's
main module again in each of them: a dashboard page, or a script without a guard. What they give comes in the
order of the batches, so the result is the same for any number of workers; where one cannot be started or
ends early, this process scores what is left.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from data.batch_scores import BatchScores, ScoreOptions, batches_of, score_batch

__all__ = ["scored_batches", "workers_for"]

MANY_SAMPLES = 5_000  # below this, starting interpreters costs more than they save
MOST_WORKERS = 8
Worker = subprocess.Popen[bytes]


def workers_for(n: int) -> int:
    """Say how many processes should score n samples; 1 means this one."""
    if n < MANY_SAMPLES:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


def scored_batches(samples: Path, options: ScoreOptions, workers: int) -> Generator[BatchScores, None, None]:
    """Score a run batch by batch, in the order of its rows.

    Args:
        samples: samples.parquet of the run.
        options: cut-offs and conventions.
        workers: processes to share the work; 1 does it all in this one.
    """
    batches = batches_of(samples)
    with _started(samples, options, min(workers, len(batches))) as started:
        for at, groups in enumerate(batches):
            found = _next(started[at % len(started)]) if started else None
            yield score_batch(samples, groups, options) if found is None else found


@contextmanager
def _started(samples: Path, options: ScoreOptions, workers: int) -> Iterator[list[Worker | None]]:
    """Start the workers, none where this process does the work alone, and end them whatever happens."""
    started: list[Worker | None] = []
    try:
        if workers > 1:
            started.extend(_start(pickle.dumps((samples, options, at, workers))) for at in range(workers))
        yield started
    finally:
        for worker in filter(None, started):
            worker.kill()
            worker.communicate()


def _start(task: bytes) -> Worker | None:
    """Start one worker; None where the system does not let us."""
    here = str(
        Path(__file__).resolve().parent.parent
    )  # -P: a stray data/ folder is not taken for this package
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "data.scoring_workers", task.hex()]
    try:
        return subprocess.Popen(  # noqa: S603 -- this interpreter on this module
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
    except OSError:
        return None


def _next(worker: Worker | None) -> BatchScores | None:
    """Wait for a worker's next batch; None where there is no worker, or it ended before its time."""
    if worker is None or worker.stdout is None:
        return None
    try:
        found = pickle.load(worker.stdout)  # noqa: S301 -- written by our own process
    except (EOFError, pickle.UnpicklingError, OSError):
        return None
    return found if isinstance(found, BatchScores) else None


def _work(task: str) -> None:
    """Score the batches of one worker and write the results to standard output."""
    samples, options, first, workers = pickle.loads(bytes.fromhex(task))  # noqa: S301 -- from our own process
    for groups in batches_of(samples)[first::workers]:
        pickle.dump(score_batch(samples, groups, options), sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _work(sys.argv[1])
