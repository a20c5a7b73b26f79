"""Worker processes that score batches side by side; results come in the order in which they are asked for."""

from __future__ import annotations

import os
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue

from ragtriage.data.scoring.batch_scores import ScoredChunk, ScoreOptions, batches_of
from ragtriage.data.scoring.batches.worker import Task, Worker, answer, groups_task, scored, start_worker
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.suites.contexts import sharing_texts

MANY_SAMPLES = 5_000  # below this, starting interpreters costs more than they save
MOST_WORKERS = 8
AHEAD = 2  # batches for each worker that are scored or wait before the first is asked for


def workers_for(n: int) -> int:
    """Return how many processes should score n samples; 1 means this one."""
    if n < MANY_SAMPLES:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


class ScoringPool:
    """Worker processes, each with a thread that waits for its answers.

    Where a worker cannot be started or ends early, whoever asks for its result scores the batch.
    """

    def __init__(self, workers: int) -> None:
        self.room = AHEAD * workers
        self._workers = [start_worker() for _ in range(workers)]
        self._idle: SimpleQueue[Worker | None] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(workers, "scoring")

    def submit(self, task: Task) -> Future[ScoredChunk | None]:
        """Queue a task; its result is None where no worker did it."""
        return self._threads.submit(self._answer, task)

    def _answer(self, task: Task) -> ScoredChunk | None:
        worker, chunk = self._idle.get(), None
        try:
            chunk = None if worker is None else answer(worker, task)
        finally:  # or a thread would wait for a worker for good
            self._idle.put(worker if chunk is not None else None)
        return chunk

    def close(self) -> None:
        """End all workers, whatever they are at."""
        for worker in filter(None, self._workers):
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in filter(None, self._workers):
            worker.communicate()


def scored_batches(
    workspace: Workspace, run_id: str, options: ScoreOptions, workers: int
) -> Generator[ScoredChunk, None, None]:
    """Score a stored run batch by batch, in the order of its rows: the same for any number of workers.

    Args:
        workspace: the workspace of the run.
        run_id: the run.
        options: what the scores depend on.
        workers: number of processes that share the work; 1 does it all in this one.
    """
    tasks = [
        groups_task(workspace, run_id, options, groups)
        for groups in batches_of(workspace.samples_path(run_id))
    ]
    if min(workers, len(tasks)) < 2:
        with sharing_texts():
            yield from map(scored, tasks)
        return
    with closing(ScoringPool(min(workers, len(tasks)))) as pool:
        results: list[Future[ScoredChunk | None]] = []
        for at, task in enumerate(tasks):
            results += [pool.submit(each) for each in tasks[len(results) : at + pool.room]]
            chunk = results[at].result()
            results[at] = Future()  # the scores are not held twice
            yield scored(task) if chunk is None else chunk
