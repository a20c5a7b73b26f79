"""Scoring a large run in several processes that take its batches in turn.

The workers are plain interpreters started on this module. Python's own process pools would run the caller's
main module again in each of them: a dashboard page, or a script without a guard. What they give comes in the
order of the batches, so the result is the same for any number of workers; where one cannot be started or
ends early, this process scores what is left.
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
from metrics.schema.scores import Scores, Source

__all__ = [
    "from_table",
    "scored_batches",
    "to_table",
    "workers_for",
]

_PARTS = ("value", "status", "reason")


def to_table(batch: ScoredChunk) -> Any:
    """Lay a batch out with one row a sample; the columns are named by what they belong to."""
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
    """Read what to_table wrote."""
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
    """Say how many processes should score n samples; 1 means this one."""
    if n < MANY_SAMPLES:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


def scored_batches(samples: Path, options: ScoreOptions, workers: int) -> Generator[ScoredChunk, None, None]:
    """Score a run batch by batch, in the order of its rows.

    Args:
        samples: samples.parquet of the run.
        options: cut-offs and conventions.
        workers: processes to share the work; 1 does it all in this one.
    """
    batches = batches_of(samples)
    with _started(
        samples, options, [batches[at::workers] for at in range(min(workers, len(batches)))]
    ) as started:
        for at, groups in enumerate(batches):
            found = _next(started[at % len(started)]) if started else None
            yield score_batch(samples, groups, options) if found is None else found


@contextmanager
def _started(
    samples: Path, options: ScoreOptions, shares: list[list[list[int]]]
) -> Iterator[list[Worker | None]]:
    """Start a worker for each share of the batches and end them whatever happens.

    With one share there is no worker: this process does the work alone.
    """
    started: list[Worker | None] = []
    try:
        if len(shares) > 1:
            started.extend(_start(_task(samples, options, share)) for share in shares)
        yield started
    finally:
        for worker in filter(None, started):
            worker.kill()
            worker.communicate()


def _task(samples: Path, options: ScoreOptions, share: list[list[int]]) -> str:
    return json.dumps([str(samples), asdict(options), share])


def _start(task: str) -> Worker | None:
    """Start one worker; None where the system does not let us."""
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
    """Wait for a worker's next batch; None where there is no worker, or it ended before its time."""
    if worker is None or worker.stdout is None:
        return None
    try:
        with pa.ipc.open_stream(worker.stdout) as stream:
            return from_table(stream.read_all())
    except (pa.ArrowInvalid, OSError):
        return None


def _work(task: str) -> None:
    """Score the batches of one worker and write each as an Arrow stream to standard output."""
    samples, options, share = json.loads(task)
    judgements = tuple((kind, digest) for kind, digest in options["judge_results"])
    chosen = ScoreOptions(tuple(options["ks"]), options["convention"], options["match"], judgements)
    for groups in share:
        _send(to_table(score_batch(Path(samples), groups, chosen)))


def _send(table: Any) -> None:
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    _work(sys.argv[1])
