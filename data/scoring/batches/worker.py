"""Processes that score batches, a task a line: what one does and sends, and a pool that answers in order.

A process pool of the standard library would import the caller's main module again in every worker: a
dashboard page, or a script without a guard. The scores of a batch travel as one Arrow table.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.interpreter import python_module
from ragtriage.data.scoring.batch_scores import (
    RunFacts,
    ScoredChunk,
    ScoreKey,
    ScoreOptions,
    batches_of,
    score_batch,
    score_table,
)
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.suites.citations import CitationStyle
from ragtriage.data.suites.contexts import sharing_texts
from ragtriage.metrics.schema.scores import Scores, Source

PARTS = ("value", "status", "reason")  # of the scores of a metric


def to_table(batch: ScoredChunk) -> pa.Table:
    """Return the scores of a batch as one Arrow table with a row per sample, for from_table to read."""
    columns: dict[str, Any] = {}
    for (metric, source), scores in batch.blocks.items():
        reasons = pa.array(scores.reason, pa.string()).dictionary_encode()
        for part, values in zip(PARTS, (scores.values, scores.status, reasons), strict=True):
            columns[score_column((metric, source), part)] = values
    for name, values in batch.stage_features.items():
        columns[json.dumps(["evidence", name])] = values
    for name, table in batch.tables.items():
        for column in table.column_names:
            columns[json.dumps(["table", name, column])] = table[column]
    facts = json.dumps({"n": batch.n, "missing": dict(batch.missing)})
    return pa.table(columns).replace_schema_metadata({"facts": facts})


def score_column(key: ScoreKey, part: str) -> str:
    """Return the name of the column with one of the PARTS of a metric's scores."""
    return json.dumps(["score", key[0], int(key[1]), part])


def from_table(table: pa.Table) -> ScoredChunk:
    """Return the scores of a batch from the table that to_table made."""
    facts = json.loads(table.schema.metadata[b"facts"])
    kinds: dict[str, list[tuple[list[Any], Any]]] = {"score": [], "evidence": [], "table": []}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind, *path = json.loads(name)
        kinds[kind].append((path, column))
    tables: dict[str, dict[str, Any]] = {}
    for (name, part), column in kinds["table"]:
        tables.setdefault(name, {})[part] = column
    return ScoredChunk(
        n=facts["n"],
        blocks=dict(_blocks(kinds["score"])),
        stage_features={name: column.to_numpy() for (name,), column in kinds["evidence"]},
        missing=facts["missing"],
        tables={name: pa.table(columns) for name, columns in tables.items()},
    )


def _blocks(columns: list[tuple[list[Any], Any]]) -> Iterator[tuple[ScoreKey, Scores]]:
    for at in range(0, len(columns), len(PARTS)):
        (metric, source, _), values = columns[at]
        status, reason = columns[at + 1][1], columns[at + 2][1]
        n = len(values)
        yield (
            (metric, Source(source)),
            Scores(values.to_numpy(), status.to_numpy(), _texts(reason), np.full(n, source, dtype=np.int8)),
        )


def _texts(reasons: Any) -> NDArray[np.object_]:
    """Return the texts of a dictionary column; equal ones share an object."""
    encoded = reasons.combine_chunks()
    words = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    texts: NDArray[np.object_] = words[pc.fill_null(encoded.indices, -1).to_numpy()]  # the last is None
    return texts


class BatchFile:
    """A file with the scores of one batch, as ragtriage.data.scoring.batches.worker has them."""

    def __init__(self, path: Path, batch: ScoredChunk) -> None:
        """Write the scores to `path`."""
        table = to_table(batch)
        self._path = path
        self._columns = [json.loads(name) for name in table.column_names]
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)

    def read(self, wanted: Callable[[list[Any]], bool]) -> Any:
        """Return the columns whose name, a list of its parts, is wanted; the file is mapped, not read."""
        places = [place for place, parts in enumerate(self._columns) if wanted(parts)]
        with pa.memory_map(str(self._path)) as file:
            return pa.ipc.open_file(file).read_all().select(places)


Task = Mapping[str, Any]
Worker = subprocess.Popen[bytes]


def groups_task(workspace: Workspace, run_id: str, options: ScoreOptions, groups: list[int]) -> Task:
    """Return the task to score some row groups of a run that is stored."""
    return {"root": str(workspace.root), "run_id": run_id, "options": asdict(options), "groups": groups}


def table_task(path: Path, facts: RunFacts, options: ScoreOptions) -> Task:
    """Return the task to score the samples of an Arrow file."""
    return {"table": str(path), "facts": asdict(facts), "options": asdict(options)}


def scored(task: Task) -> ScoredChunk:
    """Do a task in this process."""
    fields = task["options"]
    judged = tuple((kind, digest) for kind, digest in fields["judge_results"])
    options = ScoreOptions(
        tuple(fields["ks"]),
        fields["convention"],
        fields["match"],
        judged,
        tuple(fields["citations"]),
        tuple(fields["refusals"]),
    )
    if "groups" in task:
        return score_batch(Workspace(task["root"]), task["run_id"], task["groups"], options)
    style = task["facts"]["style"]
    citations = None if style is None else CitationStyle(tuple(style["templates"]), style["from_zero"])
    with pa.memory_map(task["table"]) as file:
        samples = pa.ipc.open_stream(file).read_all()
        return score_table(samples, RunFacts(task["facts"]["ids_match"], citations), options, {})


def start_worker() -> Worker | None:
    """Start a worker process; return None where the system does not allow it."""
    command, environment = python_module("ragtriage.data.scoring.batches.start")
    try:
        return subprocess.Popen(  # noqa: S603 -- this interpreter on a module of this program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        return None


def answer(worker: Worker, task: Task) -> ScoredChunk | None:
    """Have a worker do a task; return None where it ended early."""
    if worker.stdin is None or worker.stdout is None:
        return None
    try:
        worker.stdin.write(json.dumps(task).encode() + b"\n")
        worker.stdin.flush()
        with pa.ipc.open_stream(worker.stdout) as stream:
            return from_table(stream.read_all())
    except (pa.ArrowInvalid, OSError, ValueError):  # ValueError: its pipes were closed
        return None


def work() -> None:
    """Do each task of standard input until it ends."""
    with os.fdopen(os.dup(1), "wb") as answers, sharing_texts():
        os.dup2(2, 1)  # what a library prints is not an answer
        for line in sys.stdin.buffer:
            table = to_table(scored(json.loads(line)))
            with pa.ipc.new_stream(answers, table.schema) as stream:
                stream.write_table(table)
            answers.flush()


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
