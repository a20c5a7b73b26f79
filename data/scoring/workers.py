"""Scoring a large run in several processes that take its batches in turn.

Each worker is a Python interpreter that runs this module. A process pool of the standard library would
import the caller's main module again in every worker: a dashboard page, or a script without a guard. Results
are yielded in the order of the batches, so they are the same for any number of workers. Where a worker cannot
be started or ends early, this process scores its batches.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from data.scoring.batch_scores import ScoredChunk, ScoreKey, ScoreOptions, batches_of, score_batch
from data.store.workspace import Workspace
from metrics.schema.scores import Scores
from metrics.schema.source import Source

__all__ = [
    "from_table",
    "scored_batches",
    "to_table",
    "workers_for",
]

_PARTS = ("value", "status", "reason")


def to_table(batch: ScoredChunk) -> Any:
    """Return the scores of a batch as one Arrow table with a row per sample, for from_table to read."""
    columns: dict[str, Any] = {}
    for (metric, source), scores in batch.blocks.items():
        reasons = pa.array(scores.reason, pa.string()).dictionary_encode()
        for part, values in zip(_PARTS, (scores.values, scores.status, reasons), strict=True):
            columns[json.dumps(["score", metric, int(source), part])] = values
    for name, values in batch.stage_features.items():
        columns[json.dumps(["evidence", name])] = values
    for name, table in batch.tables.items():
        for column in table.column_names:
            columns[json.dumps(["table", name, column])] = table[column]
    facts = json.dumps({"n": batch.n, "missing": dict(batch.missing)})
    return pa.table(columns).replace_schema_metadata({"facts": facts})


def from_table(table: Any) -> ScoredChunk:
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
    for at in range(0, len(columns), len(_PARTS)):
        (metric, source, _), values = columns[at]
        status, reason = columns[at + 1][1], columns[at + 2][1]
        n = len(values)
        yield (
            (metric, Source(source)),
            Scores(
                values.to_numpy(),
                status.to_numpy(),
                np.array(reason.to_pylist(), dtype=object),
                np.full(n, source, dtype=np.int8),
            ),
        )


MANY_SAMPLES = 5_000  # below this, starting interpreters costs more than they save
MOST_WORKERS = 8
Worker = subprocess.Popen[bytes]


def workers_for(n: int) -> int:
    """Return how many processes should score n samples; 1 means this one."""
    if n < MANY_SAMPLES:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


def scored_batches(
    workspace: Workspace, run_id: str, options: ScoreOptions, workers: int
) -> Generator[ScoredChunk, None, None]:
    """Score a run batch by batch, in the order of its rows.

    Args:
        workspace: the workspace of the run.
        run_id: the run.
        options: what the scores depend on.
        workers: number of processes that share the work; 1 does it all in this one.
    """
    batches = batches_of(workspace.samples_path(run_id))
    shares = [batches[first::workers] for first in range(min(workers, len(batches)))]
    tasks = [_task(workspace, run_id, options, share) for share in shares] if len(shares) > 1 else []
    with _running(tasks) as running:
        for at, groups in enumerate(batches):
            chunk = _next(running[at % len(running)]) if running else None
            yield score_batch(workspace, run_id, groups, options) if chunk is None else chunk


@contextmanager
def _running(tasks: list[str]) -> Iterator[list[Worker | None]]:
    """Start a worker for each task, and end all of them on leaving, whatever happens."""
    workers: list[Worker | None] = []
    try:
        workers.extend(_start(task) for task in tasks)
        yield workers
    finally:
        for worker in filter(None, workers):
            worker.kill()
            worker.communicate()


def _task(workspace: Workspace, run_id: str, options: ScoreOptions, share: list[list[int]]) -> str:
    return json.dumps([str(workspace.root), run_id, asdict(options), share])


def _start(task: str) -> Worker | None:
    """Start a worker process; return None where the system does not allow it."""
    here = str(Path(__file__).resolve().parents[2])  # -P: a stray data/ folder is not taken for this package
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "data.scoring.workers", task]
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


def _next(worker: Worker | None) -> ScoredChunk | None:
    """Wait for a worker's next batch; return None without a worker, or where it ended early."""
    if worker is None or worker.stdout is None:
        return None
    try:
        with pa.ipc.open_stream(worker.stdout) as stream:
            return from_table(stream.read_all())
    except (pa.ArrowInvalid, OSError):
        return None


def _work(task: str) -> None:
    """Score the batches of one worker and write each to standard output as an Arrow stream."""
    root, run_id, fields, share = json.loads(task)
    judge_results = tuple((kind, digest) for kind, digest in fields["judge_results"])
    options = ScoreOptions(
        tuple(fields["ks"]), fields["convention"], fields["match"], judge_results, tuple(fields["citations"])
    )
    for groups in share:
        table = to_table(score_batch(Workspace(root), run_id, groups, options))
        with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
            stream.write_table(table)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _work(sys.argv[1])
