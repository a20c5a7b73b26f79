"""A process that scores batches: a task a line on standard input, its scores as Arrow on standard output.

A process pool of the standard library would import the caller's main module again in every worker: a
dashboard page, or a script without a guard.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragtriage.data.interpreter import python_module
from ragtriage.data.scoring.batch_scores import RunFacts, ScoredChunk, ScoreOptions, score_batch, score_table
from ragtriage.data.scoring.batches.wire import from_table, to_table
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.suites.citations import CitationStyle
from ragtriage.data.suites.contexts import sharing_texts

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
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
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
        os.dup2(2, 1)  # what a library prints is no answer
        for line in sys.stdin.buffer:
            table = to_table(scored(json.loads(line)))
            with pa.ipc.new_stream(answers, table.schema) as stream:
                stream.write_table(table)
            answers.flush()
