"""Scoring in several processes gives what one process gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from places import REPOSITORY

from ragtriage.data.api import add_run
from ragtriage.data.scoring import batch_scores
from ragtriage.data.scoring.batch_scores import ScoredChunk, ScoreOptions
from ragtriage.data.scoring.batches import worker
from ragtriage.data.scoring.batches.gathered import GatheredScores
from ragtriage.data.scoring.batches.worker import (
    ScoringPool,
    Task,
    Worker,
    answer,
    from_table,
    groups_task,
    scored_batches,
    start_worker,
    to_table,
)
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import summarise
from ragtriage.metrics.schema.scores import Scores, Source


@pytest.fixture
def run_id(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run with samples in several row groups, with claims, use, spans, human and imported scores."""
    records = [
        {
            "question_id": f"q{at}",
            "question": f"What is {at}?",
            "answer": f"It is the number {at}." if at % 5 else "I cannot answer that.",
            "retrieved": [{"id": "a", "text": f"The number {at}."}, {"id": "b", "text": "Something else."}],
            "relevant": ["a"] if at % 3 else ["z"],
            "claims": [{"text": "x", "in_reference": bool(at % 2), "supported_by": [1] if at % 4 else []}],
            "scores": {"faithfulness": at / 700, "bleu": None},
        }
        for at in range(700)
    ]
    run = add_run(records, "many", workspace=str(workspace.workspace.root))
    monkeypatch.setattr(batch_scores, "BATCH_ROWS", 256)
    return run.run_id


def _assert_same(left: ScoredChunk, right: ScoredChunk) -> None:
    assert left.n == right.n
    assert left.missing == right.missing
    assert left.blocks.keys() == right.blocks.keys()
    for key, scores in left.blocks.items():
        other = right.blocks[key]
        np.testing.assert_array_equal(scores.values, other.values)
        np.testing.assert_array_equal(scores.status, other.status)
        assert list(scores.reason) == list(other.reason)
        np.testing.assert_array_equal(scores.source, other.source)
    assert left.stage_features.keys() == right.stage_features.keys()
    for name, values in left.stage_features.items():
        np.testing.assert_array_equal(values, right.stage_features[name])
    assert left.tables.keys() == right.tables.keys()
    for name, table in left.tables.items():
        assert repr(table.to_pydict()) == repr(right.tables[name].to_pydict())  # nan equals nan as text


def _started(*, dies: bool) -> Callable[[], Worker | None]:
    """Return what starts a worker, or one that ends at once."""

    def start() -> Worker | None:
        worker = start_worker()
        if dies and worker is not None:
            worker.kill()
        return worker

    return start


@pytest.mark.parametrize("breaks", [False, True])
def test_workers_give_what_one_process_gives(
    workspace: RunStore, run_id: str, breaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = list(scored_batches(workspace.workspace, run_id, ScoreOptions(), 1))
    assert len(alone) == 3
    monkeypatch.setattr(worker, "start_worker", _started(dies=breaks))  # its batches are left to this process
    shared = list(scored_batches(workspace.workspace, run_id, ScoreOptions(), 2))
    for left, right in zip(alone, shared, strict=True):
        _assert_same(left, right)


def test_scores_that_are_kept_in_files_are_written_as_those_in_memory(
    workspace: RunStore, run_id: str, tmp_path: Path
) -> None:
    in_memory, in_files = GatheredScores(), GatheredScores(tmp_path)
    for chunk in scored_batches(workspace.workspace, run_id, ScoreOptions(), 1):
        without = replace(chunk, blocks=dict(list(chunk.blocks.items())[1:]))  # lacks one
        for gathered in (in_memory, in_files):
            gathered.add(chunk if gathered.rows else without)
    folders = tmp_path / "memory", tmp_path / "files"
    for gathered, folder in zip((in_memory, in_files), folders, strict=True):
        folder.mkdir()
        gathered.drop_inapplicable()
        gathered.write(folder)
    assert in_files.missing == in_memory.missing
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted(path.name for path in folders[1].iterdir())
    for name in names:
        one, other = (pq.read_table(folder / name).to_pydict() for folder in folders)
        assert repr(one) == repr(other), name


def test_means_are_the_same_where_values_are_not_held(workspace: RunStore, run_id: str) -> None:
    scored = workspace.scored(workspace.find(run_id))
    held = summarise(scored)
    assert list(summarise(scored, hold=False).items()) == list(held.items())
    assert "faithfulness" in held


def test_a_worker_does_the_work(workspace: RunStore, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> ScoredChunk:
        raise AssertionError("this process scored a batch that was a worker's")

    monkeypatch.setattr(worker, "scored", refuse)
    shared = scored_batches(workspace.workspace, run_id, ScoreOptions(), 2)
    assert [chunk.n for chunk in shared] == [256, 256, 188]


def test_a_fault_while_a_worker_is_asked_leaves_no_task_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(worker: Worker, task: Task) -> ScoredChunk | None:
        raise MemoryError

    monkeypatch.setattr(worker, "answer", fail)
    scoring = ScoringPool(1)
    try:
        with pytest.raises(MemoryError):
            scoring.submit({}).result(30)
        assert scoring.submit({}).result(30) is None
    finally:
        scoring._idle.put(None)  # so that a thread that waits all the same does not hold up the tests
        scoring.close()


PRINTING = """
import os
from ragtriage.data.scoring.batches import worker

scored = worker.scored

def printing(task):
    print("printed", flush=True)
    os.write(1, b"written")
    return scored(task)

worker.scored = printing
worker.work()
"""


def test_what_a_library_prints_in_a_worker_is_no_answer(workspace: RunStore, run_id: str) -> None:
    task = groups_task(workspace.workspace, run_id, ScoreOptions(), [0])
    with subprocess.Popen(
        [sys.executable, "-P", "-c", PRINTING],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as worker:
        try:
            chunk = answer(worker, task)
        finally:
            worker.kill()
    assert chunk is not None
    assert chunk.n == 256


def test_a_score_without_a_reason_goes_from_process_to_process() -> None:
    scores = Scores(
        np.array([0.5, 0.25]),
        np.zeros(2, dtype=np.int8),
        np.array([None, "why"], dtype=object),
        np.full(2, Source.IMPORTED, dtype=np.int8),
    )
    chunk = ScoredChunk(2, {("bleu", Source.IMPORTED): scores}, {}, {}, {})
    _assert_same(chunk, from_table(to_table(chunk)))
