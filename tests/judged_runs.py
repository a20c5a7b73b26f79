"""Runs judged by the stand-in service, for several tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from judge_server import JudgeServer

from ragtriage.data.api import add_run
from ragtriage.data.judge.evaluation import EvaluationTask
from ragtriage.data.judge.job_spec import JobSpec
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.judge.run_job import JobResult, run_task
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run, Workspace

ALONG = ("--reference", "along")  # one request a sample
LASTING = {"truncated": "truncated", "refusal": "refused", "window": "context_exceeded", "schema": "invalid"}


def records(n: int) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{at}",
            "question": f"How long does turtle number {at} live?",
            "answer": f"Turtle number {at} lives eighty years. Turtle number {at} eats concrete.",
            "reference_answer": f"Turtle number {at} lives eighty years.",
            "retrieved": [
                {"id": f"a{at}", "text": f"Every turtle such as number {at} lives eighty years at least."},
                {"id": "b", "text": "Sparrows build nests from straw."},
            ],
        }
        for at in range(n)
    ]


def made(folder: Path, n: int) -> tuple[RunStore, Run]:
    run = add_run(records(n), "turtles", "zoo", str(folder))
    return RunStore(Workspace(folder)), run


def judged(
    store: RunStore, run: Run, server: JudgeServer, rows: range | None = None, **more: Any
) -> JobResult:
    """Judge a run; with the reference along, so that a sample takes one request, unless told otherwise."""
    model = read_prices().model()
    timeout = more.pop("timeout", 30.0)
    settings = ClientSettings(model, server.url, more.pop("concurrency", 8), timeout)
    task = EvaluationTask.of(model.window, reference=more.pop("reference", "along"))
    spec = JobSpec(rows or range(run.n), **more)
    return run_task(store.workspace, run, task, settings, spec)
