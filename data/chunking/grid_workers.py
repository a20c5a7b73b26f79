"""A large grid in several processes that take its configurations in turn.

Each worker is a Python interpreter that runs ragtriage.data.chunking.grid_worker. It reads the plan once,
then a line
for each configuration, and answers with a line. A worker that is told nothing more ends, also when this
process is killed; what it has begun appears in the workspace wholly or not at all.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import groupby
from queue import SimpleQueue
from threading import Thread

from ragtriage.data.chunking.grid_plan import GridPlan
from ragtriage.data.chunking.retrievers import WORDS
from ragtriage.data.interpreter import python_module
from ragtriage.data.store.workspace import Workspace

WORTH_PROCESSES = 20_000_000  # characters: some ten seconds of work, which starting processes is worth
QUESTION = 3_000  # characters of a corpus that cost as much as one question
MOST_CHARACTERS = 100_000_000  # of the corpora that all processes hold together, at some 20 bytes each
MOST_PROCESSES = 8
PATIENCE = 5  # seconds that a worker may take to end
Worker = subprocess.Popen[str]
Result = tuple[int, str]  # place in the plan, run id; "" where it was not run
Results = SimpleQueue[Result | None]


def processes_for(plan: GridPlan, missing: int) -> int:
    """Return how many processes should share the missing configurations of a plan; 1 means this one."""
    characters = max(plan.corpus.characters, 1)
    work = missing * (characters + QUESTION * len(plan.questions.records))
    if plan.retriever != WORDS or work < WORTH_PROCESSES:  # a model uses all processors by itself
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_PROCESSES, missing, MOST_CHARACTERS // characters))


def in_processes(
    workspace: Workspace,
    dated: Callable[[int], GridPlan],
    places: Sequence[int],
    project: str,
    processes: int,
) -> Generator[Result, None, None]:
    """Run configurations of a plan in processes of their own, and yield their runs as they are done.

    Args:
        workspace: where the runs are stored.
        dated: place -> the plan with the time of that configuration.
        places: of the configurations in the plan.
        project: what the runs belong to.
        processes: how many.

    Yields:
        The place and the run id of each, "" where the worker failed or ended early.
    """
    waiting, results = deque(_together(dated(places[0]), places)), Results()
    task = json.dumps([str(workspace.root), project, dated(places[0]).to_json()])
    with _running(min(processes, len(waiting))) as workers:
        for worker in workers:
            Thread(target=_serve, args=(worker, task, dated, waiting, results), daemon=True).start()
        working = len(workers)
        while working:
            result = results.get()
            if result is None:
                working -= 1
            else:
                yield result
    yield from ((at, "") for group in waiting for at in group)


def _together(plan: GridPlan, places: Sequence[int]) -> list[list[int]]:
    """Group neighbours that index the same chunks: they are cut once."""
    same = groupby(places, lambda at: replace(plan.chunkings[at], headings=False))
    return [list(group) for _, group in same]


def _serve(
    worker: Worker,
    task: str,
    dated: Callable[[int], GridPlan],
    waiting: deque[list[int]],
    results: Results,
) -> None:
    """Give a worker configurations for as long as there are any and it answers; close with None."""
    group: list[int] = []
    with suppress(OSError, ValueError):  # it ended, or was ended
        _tell(worker, task)
        while waiting:
            with suppress(IndexError):  # another worker was first
                group = waiting.popleft()
            while group:
                moment = dated(group[0]).created_at
                _tell(worker, json.dumps([group[0], moment.isoformat() if moment else None]))
                answer = worker.stdout.readline() if worker.stdout else ""
                results.put((group[0], str(json.loads(answer))))
                group.pop(0)
    for at in group:
        results.put((at, ""))
    results.put(None)


def _tell(worker: Worker, line: str) -> None:
    if worker.stdin is not None:
        worker.stdin.write(f"{line}\n")
        worker.stdin.flush()


@contextmanager
def _running(number: int) -> Iterator[list[Worker]]:
    """Start workers, as many as the system allows, and end all of them on leaving, whatever happens."""
    workers: list[Worker] = []
    try:
        with suppress(OSError):
            workers.extend(_start() for _ in range(number))
        yield workers
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            try:
                worker.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


def _start() -> Worker:
    command, environment = python_module("ragtriage.data.chunking.grid_worker")
    return subprocess.Popen(  # noqa: S603 -- this interpreter on a module of this program
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        env=environment,
    )
