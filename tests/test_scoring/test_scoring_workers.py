"""Scoring in several processes gives what one process gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from data.api import add_run
from data.scoring import batch_scores
from data.scoring.batch_scores import ScoredChunk, ScoreOptions
from data.scoring.batches import pool
from data.scoring.batches.pool import scored_batches
from data.scoring.batches.worker import Worker, start_worker
from data.scoring.run_store import RunStore


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


def _same(left: ScoredChunk, right: ScoredChunk) -> None:
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
    monkeypatch.setattr(pool, "start_worker", _started(dies=breaks))  # its batches are left to this process
    shared = list(scored_batches(workspace.workspace, run_id, ScoreOptions(), 2))
    for left, right in zip(alone, shared, strict=True):
        _same(left, right)


def test_a_worker_does_the_work(workspace: RunStore, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> ScoredChunk:
        raise AssertionError("this process scored a batch that was a worker's")

    monkeypatch.setattr(pool, "scored", refuse)
    shared = scored_batches(workspace.workspace, run_id, ScoreOptions(), 2)
    assert [chunk.n for chunk in shared] == [256, 256, 188]
